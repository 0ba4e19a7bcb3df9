"""Errors about folders that the pipeline cannot use.

This module must not know Spark.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

from metalog.errors import InvalidSource, InvalidTarget
from metalog_spark.store.commit_log import CommittedState

FOLLOWED: Final = "followed"
"""The name under which ``Tables.facts`` stores the input of ``metalog pipeline follow``."""


def no_folder(path: str | Path) -> InvalidSource:
    return InvalidSource(f"{path}: not a pipeline's folder; metalog pipeline build makes one")


def occupied(path: str | Path, *, is_file: bool) -> InvalidTarget:
    """``path`` is a file, or a folder with other files."""
    there = "is a file" if is_file else "holds files that are not a pipeline's"
    return InvalidTarget(
        f"{path}: {there}; name a new or empty folder, or one that metalog pipeline build made"
    )


def lacks_table(path: str | Path, name: str) -> InvalidSource:
    return InvalidSource(
        f"{path}: its table {name} is gone; restore the whole folder from a backup, or build it"
        " again"
    )


def check_is_not_followed(path: str | Path, contents: CommittedState) -> None:
    """Raise ``InvalidTarget`` if ``metalog pipeline follow`` fills the folder."""
    if FOLLOWED in contents.facts:
        raise InvalidTarget(f"{path}: metalog pipeline follow fills it; build into another folder")
