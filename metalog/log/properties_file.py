"""Reads a .properties file: a client's settings, or a server's configuration.

No error contains a value, because a value can be a password. This module must not know any key.
"""

from __future__ import annotations

from pathlib import Path

from metalog.config.located_properties import LocatedProperties
from metalog.config.properties import parse_properties
from metalog.disk.files import LOCAL_FILES, Files, read_whole
from metalog.errors import InvalidSource
from metalog.log.folder.location import unreadable


def read_properties(path: str | Path, *, files: Files = LOCAL_FILES) -> dict[str, str]:
    """Each key of a .properties file with its value. As in Java, a key's last value counts.

    Raises ``InvalidSource`` if the file cannot be read, or is not a .properties file.
    """
    return located_properties(path, files=files).properties


def located_properties(path: str | Path, *, files: Files = LOCAL_FILES) -> LocatedProperties:
    """As ``read_properties``, with the line of each key."""
    try:
        return LocatedProperties(parse_properties(read_whole(files, Path(path))), str(path))
    except IsADirectoryError:
        raise InvalidSource(f"{path}: a folder, not a .properties file") from None
    except OSError as error:
        raise unreadable(Path(path), error) from None
    except ValueError as error:
        raise InvalidSource(f"{path}: {error}") from None
