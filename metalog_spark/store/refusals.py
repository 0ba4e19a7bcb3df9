"""What to say where a folder is not what it should be.

This module must not know Spark.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

from metalog.errors import InvalidSource, InvalidTarget
from metalog_spark.store.commit_log import CommittedState

FOLLOWED: Final = "followed"
"""The fact that says what ``metalog pipeline follow`` reads into a folder."""


def no_folder(path: str | Path) -> InvalidSource:
    """What to say where no pipeline's folder is."""
    return InvalidSource(f"{path}: not a pipeline's folder; metalog pipeline build makes one")


def lacks_table(path: str | Path, name: str) -> InvalidSource:
    """What to say where a table was written and is gone."""
    return InvalidSource(
        f"{path}: its table {name} is gone; take the folder back whole from a copy, or make another"
    )


def check_is_built(path: str | Path, contents: CommittedState) -> None:
    """``InvalidTarget`` where ``metalog pipeline follow`` fills the folder."""
    if FOLLOWED in contents.facts:
        raise InvalidTarget(
            f"{path}: metalog pipeline follow fills it; build into a folder of its own"
        )
