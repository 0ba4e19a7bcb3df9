"""Describes in one line each trace that another version of Kafka left in a log.

A trace is a metadata.version that Kafka 4.4 refuses, or a type of skipped or missing records. This
module must not know how a verb prints a line.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from typing import Any

from metalog.errors import ConfigException
from metalog.image.policy import name_of
from metalog.image.state.features import METADATA_VERSION, NEWEST_LOADED, FeaturesImage
from metalog.loader.record_policy import Skipped
from metalog.records.frame import Undecodable
from metalog.records.messages import FeatureLevelRecord
from metalog.text.plurals import counted

_log = logging.getLogger(__name__)


def refuse_other_kafka(features: FeaturesImage, kafka: str | None) -> None:
    """Raise ``ConfigException`` if Kafka version ``kafka`` cannot load a log with ``features``.

    Decisions for that version would be meaningless. With None, any log is accepted.
    """
    problem = None if kafka is None else features.problem_for(kafka)
    if problem is not None:
        raise ConfigException(
            f"kafka.version={kafka}: {problem}; name the Kafka of this log, or remove the setting"
        )


def refuse_unknown_kafka(kafka: str | None) -> None:
    """Raise ``ConfigException`` if ``kafka`` is neither None nor a supported version."""
    if kafka is not None and kafka not in NEWEST_LOADED:
        known = " or ".join(NEWEST_LOADED)
        raise ConfigException(f"kafka.version={kafka}: supported versions are Kafka {known}")


def foreign_traces(features: FeaturesImage, skipped: Mapping[str, Skipped]) -> dict[str, str]:
    """A line for each trace; the key is ``metadata.version`` or the type of skipped records."""
    problem = features.problem
    about_version = {} if problem is None else {METADATA_VERSION: problem}
    return {**about_version, **{kind: skipped_line(each) for kind, each in skipped.items()}}


def traces_in_records(records: Iterable[tuple[int, Any]]) -> dict[str, str]:
    """``foreign_traces`` without a loader, from (offset, message) pairs in log order."""
    pairs = list(records)
    skipped: dict[str, Skipped] = {}
    for offset, message in pairs:
        if isinstance(message, Undecodable):
            first = skipped.get(name_of(message), Skipped(0, offset, message.reason))
            skipped[name_of(message)] = first._replace(records=first.records + 1)
    return foreign_traces(FeaturesImage(metadata_version_in(pairs)), skipped)


def metadata_version_in(records: Iterable[tuple[int, Any]]) -> int | None:
    """The metadata.version in the last record that sets it, or None."""
    level: int | None = None
    for _, message in records:
        if isinstance(message, FeatureLevelRecord) and message.name == METADATA_VERSION:
            level = message.feature_level
    return level


def skipped_line(skipped: Skipped) -> str:
    if skipped.records == 1:
        return f"offset {skipped.offset}: a record was left out: {skipped.reason}"
    many = counted(skipped.records, "record")
    return f"from offset {skipped.offset} on, {many} were left out: {skipped.reason}"


class ForeignTracesLog:
    """Warns of each kind of trace once, in the program's own log."""

    def __init__(self) -> None:
        self._logged: set[str] = set()

    def log_new(self, features: FeaturesImage, skipped: Mapping[str, Skipped]) -> None:
        for kind, line in foreign_traces(features, skipped).items():
            if kind not in self._logged:
                self._logged.add(kind)
                _log.warning("Kafka 4.4 would not load this log: %s", line)
