"""Reads the YAML files and folders that a verb's arguments name.

This module must not know what is written in the files.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from metalog.disk.files import LOCAL_FILES, read_whole
from metalog.errors import InvalidSource
from metalog_sources.store import yaml_files


def yaml_texts(path: Path) -> Iterator[tuple[str, str]]:
    """The text of the file, or of each YAML file of the folder, with the file's name."""
    for file in list(yaml_files(path, LOCAL_FILES)) if path.is_dir() else [path]:
        data = read_whole(LOCAL_FILES, file)
        try:
            yield data.decode("utf-8-sig"), str(file)
        except UnicodeDecodeError:
            raise InvalidSource(f"{file}: not UTF-8; save it as UTF-8") from None
