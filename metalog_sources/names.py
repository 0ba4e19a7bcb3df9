"""Named sources: ``@NAME`` in ``metalog.toml``, and ``@`` for the SOURCE in ``$METALOG_SOURCE``.

A look-up reads ``metalog.toml`` of the working folder, then of each parent folder, then of the
user's configuration folder (``metalog`` under ``$XDG_CONFIG_HOME`` or ``~/.config``). The first
file that has the name counts:

    [sources.prod]
    url = "/var/lib/kafka/metadata"
    config = "server.properties"
    command-config = "client.properties"
    kafka.version = "4.4"

``@demo`` is a log in the package, unless a file defines this name. Paths in a file are relative to
the file's folder. A file of a parent folder is used only if the user, root or sudo's caller owns
the file, because another owner could redirect a password. This module must not open a source.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Final, NamedTuple

from metalog.disk.files import Files, read_whole
from metalog.errors import InvalidRequest, InvalidSource
from metalog.log.folder.location import unreadable

SOURCE_VARIABLE: Final = "METALOG_SOURCE"
NAMES_FILE: Final = "metalog.toml"

_MOST_PARTS: Final = 32
_DEEP_KEY: Final = re.compile(
    rf"""(?<![\w-])(?:(?:[\w-]++|"[^"\n]*+"|'[^'\n]*+')[ \t]*+\.[ \t]*+){{{_MOST_PARTS}}}"""
)
"""Refused, because Python's TOML reader stores every prefix of a key."""

_DEMO: Final = "demo"
_PACKAGED: Final = Path(__file__).parent
_PACKAGED_DEMO: Final = {
    "url": "metalog_sources/demo/log-dir",
    "config": "metalog_sources/demo/server.properties",
}
_USER_FOLDER: Final = "metalog"
KEYS: Final = ("url", "config", "command-config", "kafka.version")


class NamedSource(NamedTuple):
    """The source that a name stands for.

    A relative ``url`` is relative to ``base``. Decisions follow the rules of ``kafka_version``.
    ``notes`` name the skipped files.
    """

    url: str
    base: Path
    config: Path | None = None
    command_config: Path | None = None
    kafka_version: str | None = None
    notes: tuple[str, ...] = ()


def look_up(text: str, environ: Mapping[str, str], cwd: Path, files: Files) -> NamedSource:
    """The source for ``text``, which begins with ``@``."""
    if text == "@":
        text = environ.get(SOURCE_VARIABLE, "")
        if not text or text == "@":
            raise InvalidSource(f"@ is ${SOURCE_VARIABLE}, which has no SOURCE; set it to one")
    if not text.startswith("@"):
        return NamedSource(text, cwd)
    return _in_files(text[1:], environ, cwd, files)


def folder_to_write(text: str) -> Path:
    """The folder ``text``; ``InvalidRequest`` if ``text`` begins with ``@``."""
    if text.startswith("@"):
        raise InvalidRequest(
            f"{text} is a SOURCE, not a folder; give a folder, or ./{text} for one of this name"
        )
    return Path(text)


def is_packaged(path: Path) -> bool:
    """Whether ``path`` lies in this package, which must not change."""
    return path.resolve().is_relative_to(_PACKAGED.resolve())


def known_names(environ: Mapping[str, str], cwd: Path, files: Files) -> list[str]:
    """The names in all readable files that a look-up reads, and ``demo``."""
    names: dict[str, None] = {}
    trusted = _trusted(environ)
    for path in _places(environ, cwd):
        with suppress(OSError, InvalidSource):
            if files.is_file(path) and not _untrusted(path, cwd, trusted, files):
                names.update(dict.fromkeys(_sources(path, files)))
    return [*names, *({_DEMO} - names.keys())]


def _in_files(name: str, environ: Mapping[str, str], cwd: Path, files: Files) -> NamedSource:
    names: list[str] = []
    read: list[str] = []
    skipped: list[str] = []
    trusted = _trusted(environ)
    for path in _places(environ, cwd):
        if not files.is_file(path):
            continue
        owners = _untrusted(path, cwd, trusted, files)
        if owners:
            whose = ", ".join(map(str, sorted(owners)))
            skipped.append(f"{path} is skipped: it belongs to user {whose}, not to you or root")
            continue
        sources = _sources(path, files)
        if name in sources:
            return _named(sources[name], name, path)._replace(notes=tuple(skipped))
        names.extend(sources)
        read.append(str(path))
    if name == _DEMO:
        return _named(_PACKAGED_DEMO, name, _PACKAGED)._replace(notes=tuple(skipped))
    if skipped:
        raise InvalidSource(f"no usable {NAMES_FILE} defines @{name}: {'; '.join(skipped)}")
    if "+" in name:
        raise InvalidSource(f"@{name}: + joins the paths of folders, not names; give the paths")
    near = get_close_matches(name, (*names, _DEMO), 1)
    if not read and near:
        raise InvalidSource(f"no {NAMES_FILE} defines @{name}; did you mean @{near[0]}?")
    if not read:
        places = list(_places(environ, cwd))
        home = f" and no {places[-1]}" if places[-1].parent.name == _USER_FOLDER else ""
        raise InvalidSource(
            f"@{name}: there is no {NAMES_FILE} in {cwd.absolute()} or above it{home}; "
            f"write one, with [sources.{_toml_key(name)}] and a url"
        )
    has = f"; known are {', '.join(f'@{other}' for other in names)}" if names else ""
    write = f"; write [sources.{_toml_key(name)}] with a url"
    hint = f"; did you mean @{near[0]}?" if near else has or write
    raise InvalidSource(f"@{name} is not in {', '.join(read)}{hint}")


def _toml_key(name: str) -> str:
    return name if re.fullmatch("[A-Za-z0-9_-]+", name) else json.dumps(name, ensure_ascii=False)


def _places(environ: Mapping[str, str], cwd: Path) -> Iterator[Path]:
    working = cwd.absolute()
    for folder in (working, *working.parents):
        yield folder / NAMES_FILE
    if configured := environ.get("XDG_CONFIG_HOME"):
        yield Path(configured) / _USER_FOLDER / NAMES_FILE
    elif home := environ.get("HOME"):
        yield Path(home) / ".config" / _USER_FOLDER / NAMES_FILE


def _untrusted(path: Path, cwd: Path, trusted: frozenset[int], files: Files) -> frozenset[int]:
    """The owners of ``path`` that are not ``trusted``; empty if ``path`` is not above ``cwd``."""
    is_above = path.parent in cwd.absolute().parents
    return files.owners(path) - trusted if is_above else frozenset()


def _trusted(environ: Mapping[str, str]) -> frozenset[int]:
    user = os.geteuid()
    caller = environ.get("SUDO_UID", "")
    by_sudo = [int(caller)] if user == 0 and caller.isascii() and caller.isdigit() else []
    return frozenset((0, user, *by_sudo))


def _sources(path: Path, files: Files) -> dict[str, Any]:
    try:
        return sources_in(read_whole(files, path), path)
    except OSError as error:
        raise unreadable(path, error) from None


def sources_in(data: bytes, path: Path) -> dict[str, Any]:
    """The tables under ``sources`` in ``data``, the content of ``path``, by name.

    ``InvalidSource`` if ``data`` is not valid.
    """
    import tomllib

    try:
        text = data.decode()
        if _DEEP_KEY.search(text):
            raise ValueError(f"a key of more than {_MOST_PARTS} parts")
        document = tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise InvalidSource(f"{path}: not TOML ({' '.join(str(error).split())})") from None
    sources = document.get("sources", {})
    if not isinstance(sources, dict):
        raise InvalidSource(f"{path}: 'sources' is not a table; write [sources.NAME]")
    return sources


def _named(entry: Any, name: str, path: Path) -> NamedSource:
    place = f"{path}: sources.{name}"
    entry = _with_dotted_keys(entry)
    if not isinstance(entry, dict):
        raise InvalidSource(f'{place} is not a table; write [sources.{name}] and url = "…"')
    if unknown := sorted(entry.keys() - set(KEYS)):
        near = get_close_matches(unknown[0], KEYS, 1)
        hint = f"; did you mean {near[0]}?" if near else f"; its keys are {', '.join(sorted(KEYS))}"
        raise InvalidSource(f"{place} has an unknown key {unknown[0]!r}{hint}")
    for key, text in entry.items():
        if not isinstance(text, str):
            raise InvalidSource(f'{place}: {key} is not a text; write {key} = "…", with the quotes')
    url = entry.get("url", "")
    if not url or url.startswith("@"):
        raise InvalidSource(f"{place} needs a url that does not begin with @")

    def file(key: str) -> Path | None:
        return path.parent / entry[key] if key in entry else None

    version = _supported_kafka(entry.get("kafka.version"), place)
    return NamedSource(url, path.parent, file("config"), file("command-config"), version)


def _supported_kafka(version: str | None, place: str) -> str | None:
    if version is None:
        return None
    from authorizer.config import read_kafka_version

    try:
        read_kafka_version(version, f"{place}: kafka.version=")
    except InvalidRequest as fault:
        raise InvalidSource(str(fault)) from None
    return version


def _with_dotted_keys(entry: Any) -> Any:
    """``entry`` with the key ``kafka.version``. TOML's reader makes a table of this key."""
    if not isinstance(entry, dict) or not isinstance(entry.get("kafka"), dict):
        return entry
    others = {key: value for key, value in entry.items() if key != "kafka"}
    return others | {f"kafka.{key}": value for key, value in entry["kafka"].items()}
