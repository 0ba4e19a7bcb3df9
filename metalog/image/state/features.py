"""The finalized features of a cluster, and the record versions for a metadata.version.

As in Kafka 4, a FeatureLevelRecord of ``kraft.version`` changes nothing.

This module must not know what features other than metadata.version do.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

from metalog.image.state.never_doubtful import NeverDoubtful
from metalog.image.table import EMPTY as EMPTY_TABLE
from metalog.image.table import Table
from metalog.records.messages import FeatureLevelRecord

METADATA_VERSION: Final = "metadata.version"
KRAFT_VERSION: Final = "kraft.version"

METADATA_VERSIONS: Final[Mapping[int, str]] = {
    1: "3.0-IV1",
    2: "3.1-IV0",
    3: "3.2-IV0",
    4: "3.3-IV0",
    5: "3.3-IV1",
    6: "3.3-IV2",
    7: "3.3-IV3",
    8: "3.4-IV0",
    9: "3.5-IV0",
    10: "3.5-IV1",
    11: "3.5-IV2",
    12: "3.6-IV0",
    13: "3.6-IV1",
    14: "3.6-IV2",
    15: "3.7-IV0",
    16: "3.7-IV1",
    17: "3.7-IV2",
    18: "3.7-IV3",
    19: "3.7-IV4",
    20: "3.8-IV0",
    21: "3.9-IV0",
    22: "4.0-IV0",
    23: "4.0-IV1",
    24: "4.0-IV2",
    25: "4.0-IV3",
    26: "4.1-IV0",
    27: "4.1-IV1",
    28: "4.2-IV0",
    29: "4.2-IV1",
    30: "4.3-IV0",
    31: "4.4-IV0",
    32: "4.4-IV1",
    33: "4.4-IV2",
    34: "4.5-IV0",
}
"""Level of metadata.version -> Kafka's name. Kafka 4 does not have levels 1 to 6."""

OLDEST_METADATA_VERSION: Final = 7
"""The lowest level that Kafka 4 loads: 3.3-IV3."""
DEFAULT_METADATA_VERSION: Final = 30
"""The level of a new log if the operator chooses none. Kafka 4.3 and 4.4 load it."""
LATEST_METADATA_VERSIONS: Final[Mapping[str, int]] = {"4.3": 30, "4.4": 33}
"""Kafka version (oldest first) -> its newest production-ready level."""
LATEST_METADATA_VERSION: Final = max(LATEST_METADATA_VERSIONS.values())
NEWEST_LOADED: Final[Mapping[str, int]] = {"4.3": 31, "4.4": 34}
"""Kafka version (oldest first) -> newest level that it loads, production-ready or not."""
CIDR_HOSTS_SINCE: Final = 32
"""The first level that allows a CIDR block as an ACL's host (KIP-1276)."""


def record_version(level: int, since: Mapping[int, int]) -> int:
    """The newest record version at ``level``. ``since`` is {first level: record version}."""
    return max((version for first, version in since.items() if level >= first), default=0)


class FeaturesImage(NamedTuple):
    """``metadata_version`` is None if no record sets a level; ``finalized`` has the rest."""

    metadata_version: int | None = None
    finalized: Table[str, int] = EMPTY_TABLE

    @property
    def metadata_version_name(self) -> str | None:
        """Kafka's name of the level, such as ``4.3-IV0``; the number if the name is unknown."""
        level = self.metadata_version
        return None if level is None else METADATA_VERSIONS.get(level, str(level))

    @property
    def assumed_kafka(self) -> str:
        """The Kafka version to assume for this log if the caller names none."""
        return "4.4" if (self.metadata_version or 0) >= CIDR_HOSTS_SINCE else "4.3"

    @property
    def problem(self) -> str | None:
        """Why the newest Kafka cannot load a log with this metadata.version, or None."""
        *_, newest = NEWEST_LOADED
        return self.problem_for(newest)

    def problem_for(self, kafka: str) -> str | None:
        """Why version ``kafka`` of Kafka cannot load a log with this level, or None."""
        level, newest = self.metadata_version, NEWEST_LOADED[kafka]
        if level is None or OLDEST_METADATA_VERSION <= level <= newest:
            return None
        if level > newest:
            cause = "a newer Kafka wrote it, and can decide differently"
        elif level in METADATA_VERSIONS:
            cause = "an older Kafka wrote it, or its metadata.version was never upgraded"
        else:
            cause = "no Kafka has this metadata.version"
        return (
            f"metadata.version {level} is not between {OLDEST_METADATA_VERSION} and {newest}, so"
            f" Kafka {kafka} refuses the log: {cause}"
        )

    @property
    def level_to_write(self) -> int:
        """The metadata.version that determines the record versions of a snapshot."""
        level = self.metadata_version
        return DEFAULT_METADATA_VERSION if level is None else level

    def write(self, metadata_version: int) -> Iterator[tuple[FeatureLevelRecord, int]]:
        """The records of a snapshot with their versions; metadata.version is first, as in Kafka."""
        if self.metadata_version is not None:
            yield FeatureLevelRecord(METADATA_VERSION, self.metadata_version), 0
        for name, level in sorted(self.finalized.items()):
            yield FeatureLevelRecord(name, level), 0


EMPTY: Final = FeaturesImage()


class FeaturesDelta(NeverDoubtful):
    """Changes to a ``FeaturesImage``; level 0 removes a feature other than metadata.version."""

    __slots__ = ("changes", "image", "is_replacement", "metadata_version")

    def __init__(self, image: FeaturesImage, *, is_replacement: bool = False) -> None:
        self.image = image
        self.is_replacement = is_replacement
        self.metadata_version: int | None = None
        self.changes: dict[str, int | None] = {}

    def set_level(self, record: FeatureLevelRecord) -> None:
        if record.name == METADATA_VERSION:
            self.metadata_version = record.feature_level
        elif record.name != KRAFT_VERSION:
            self.changes[record.name] = record.feature_level or None

    def apply(self) -> FeaturesImage:
        base = EMPTY if self.is_replacement else self.image
        level = self.metadata_version
        return FeaturesImage(
            base.metadata_version if level is None else level, base.finalized.changed(self.changes)
        )
