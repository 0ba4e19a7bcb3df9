"""The features of a new cluster, and the levels that its operator may choose.

``FEATURES`` repeats the production features of Kafka 4.4.0, without kraft.version and
metadata.version. This module must not know how a folder is formatted.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

from metalog.errors import InvalidRequest
from metalog.image.state.features import (
    DEFAULT_METADATA_VERSION,
    KRAFT_VERSION,
    LATEST_METADATA_VERSION,
    METADATA_VERSION,
    METADATA_VERSIONS,
    OLDEST_METADATA_VERSION,
)

ELR: Final = "eligible.leader.replicas.version"


class Level(NamedTuple):
    """A level of a feature. ``since`` is the metadata.version from which a new cluster has at least
    this level by default. An operator may choose the level if metadata.version is ``needs`` or
    newer."""

    level: int
    since: int
    needs: int = OLDEST_METADATA_VERSION


FEATURES: Final[Mapping[str, tuple[Level, ...]]] = {
    ELR: (Level(0, 7), Level(1, 26, needs=23)),
    "group.version": (Level(0, 7), Level(1, 22)),
    "share.version": (Level(0, 7), Level(1, 28), Level(2, 31, needs=31)),
    "streams.version": (Level(0, 7), Level(1, 29)),
    "transaction.version": (Level(0, 7), Level(1, 24), Level(2, 24)),
}


def supported_levels(metadata_version: int) -> dict[str, tuple[int, int]]:
    """Each feature's lowest and highest level in a Kafka up to ``metadata_version``."""
    others = {
        name: (0, max(each.level for each in levels if each.since <= metadata_version))
        for name, levels in FEATURES.items()
    }
    metadata = {METADATA_VERSION: (OLDEST_METADATA_VERSION, metadata_version)}
    return {**metadata, KRAFT_VERSION: (0, 1), **others}


def metadata_version_of(release: str, *, allows_unstable: bool = False) -> int:
    """The level of metadata.version for ``release``, such as ``4.4``, ``4.4.0`` or ``4.4-IV2``.

    With ``allows_unstable``, ``release`` can also be the full name of an unreleased level.
    """
    newest = newest_level(allows_unstable=allows_unstable)
    parts = release.split(".")
    prefix = ".".join(parts[:2])
    matching = [
        level
        for level, name in METADATA_VERSIONS.items()
        if release == name or ("-" not in release and name.startswith(f"{prefix}-"))
    ]
    most = newest if release in METADATA_VERSIONS.values() else LATEST_METADATA_VERSION
    usable = [level for level in matching if level <= most]
    if not usable or usable[-1] < OLDEST_METADATA_VERSION:
        raise InvalidRequest(
            f"unknown release version {release!r}; use {METADATA_VERSIONS[7]} to"
            f" {METADATA_VERSIONS[newest]}"
        )
    return usable[-1]


def newest_level(*, allows_unstable: bool) -> int:
    """The newest metadata.version of Kafka 4.4; an unreleased level only if ``allows_unstable``."""
    return max(METADATA_VERSIONS) if allows_unstable else LATEST_METADATA_VERSION


def check_kraft_version(chosen: Mapping[str, int], *, voters_are_in_log: bool) -> None:
    """Raise ``InvalidRequest`` if ``chosen`` has the wrong kraft.version. 1 is right if the log
    names the voters, 0 if controller.quorum.voters names the voters."""
    required = int(voters_are_in_log)
    if chosen.get(KRAFT_VERSION, required) != required:
        place = "the new log" if voters_are_in_log else "controller.quorum.voters, not the new log,"
        raise InvalidRequest(
            f"{KRAFT_VERSION}={chosen[KRAFT_VERSION]}: it must be {required}, because {place} names"
            f" the voters; leave out --feature {KRAFT_VERSION}"
        )


def initial_features(
    release: str | None, chosen: Mapping[str, int], *, allows_unstable: bool = False
) -> dict[str, int]:
    """Each feature's level, without kraft.version and features at level 0.

    ``chosen`` are the operator's levels. ``allows_unstable`` is
    ``unstable.feature.versions.enable``. Raises ``InvalidRequest`` for a ``release`` or ``chosen``
    that kafka-storage format would refuse; only ``check_kraft_version`` checks kraft.version.
    """
    wanted = dict(chosen)
    wanted.pop(KRAFT_VERSION, None)
    level = wanted.pop(METADATA_VERSION, None)
    if level is not None and release is not None:
        raise InvalidRequest(
            f"--release-version already sets {METADATA_VERSION};"
            f" leave out --feature {METADATA_VERSION}={level}"
        )
    if level is None:
        level = (
            DEFAULT_METADATA_VERSION
            if release is None
            else metadata_version_of(release, allows_unstable=allows_unstable)
        )
    elif not OLDEST_METADATA_VERSION <= level <= newest_level(allows_unstable=allows_unstable):
        raise InvalidRequest(
            f"{METADATA_VERSION}={level}: Kafka 4.4 accepts {OLDEST_METADATA_VERSION} to"
            f" {newest_level(allows_unstable=allows_unstable)}"
        )
    return {METADATA_VERSION: level, **dict(_others(level, wanted))}


def _others(metadata_version: int, wanted: Mapping[str, int]) -> Iterator[tuple[str, int]]:
    for name in wanted:
        if name not in FEATURES:
            raise InvalidRequest(
                f"unknown feature {name!r}; known are {', '.join((METADATA_VERSION, *FEATURES))}"
            )
    for name, levels in FEATURES.items():
        default = max(each.level for each in levels if each.since <= metadata_version)
        level = wanted.get(name, default)
        known = {each.level: each for each in levels}
        if level not in known:
            levels_text = ", ".join(map(str, known))
            raise InvalidRequest(f"{name}={level}: the levels of this feature are {levels_text}")
        if metadata_version < known[level].needs:
            raise InvalidRequest(
                f"{name}={level} needs {METADATA_VERSION} {METADATA_VERSIONS[known[level].needs]}"
            )
        if level:
            yield name, level
