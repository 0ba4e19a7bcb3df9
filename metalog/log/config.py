"""The settings of a node's log: Kafka's keys ``metadata.log.*`` and ``metadata.max.*``.

Names and defaults are Kafka's. This module must not know how the settings are used, nor where the
properties come from.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

from metalog.errors import InvalidRequest
from metalog.log.folder_writer.appender import (
    DEFAULT_SEGMENT_BYTES,
    DEFAULT_SEGMENT_MS,
    SegmentLimits,
)
from metalog.text.whole_numbers import java_number

_HOUR_MS: Final = 60 * 60 * 1000


class LogConfig(NamedTuple):
    """The settings, in bytes and milliseconds.

    A retention limit of -1 means no limit. With ``snapshot_interval_ms`` 0, time alone causes no
    snapshot. With ``idle_interval_ms`` 0, no NoOpRecord is written.
    """

    segment_bytes: int = DEFAULT_SEGMENT_BYTES
    segment_ms: int = DEFAULT_SEGMENT_MS
    bytes_between_snapshots: int = 20 << 20
    snapshot_interval_ms: int = _HOUR_MS
    retention_bytes: int = 100 << 20
    retention_ms: int = 7 * 24 * _HOUR_MS
    idle_interval_ms: int = 500

    @property
    def segment_limits(self) -> SegmentLimits:
        return SegmentLimits(self.segment_bytes, self.segment_ms)


_INT: Final = 32
_LONG: Final = 64

KEYS: Final[Mapping[str, tuple[str, int, int]]] = {
    "segment_bytes": ("metadata.log.segment.bytes", 8 << 20, _INT),
    "segment_ms": ("metadata.log.segment.ms", 0, _LONG),
    "bytes_between_snapshots": ("metadata.log.max.record.bytes.between.snapshots", 1, _LONG),
    "snapshot_interval_ms": ("metadata.log.max.snapshot.interval.ms", 0, _LONG),
    "retention_bytes": ("metadata.max.retention.bytes", -1, _LONG),
    "retention_ms": ("metadata.max.retention.ms", -1, _LONG),
    "idle_interval_ms": ("metadata.max.idle.interval.ms", 0, _INT),
}
"""Field of ``LogConfig`` -> Kafka's key, the lowest allowed value, and the bits of Kafka's type."""


def log_config(properties: Mapping[str, str]) -> LogConfig:
    """The log settings in ``properties``, by Kafka's keys; other keys are ignored.

    Raises:
        InvalidRequest: a value is not a whole number, or is out of range.
    """
    found = {}
    for field, (key, least, bits) in KEYS.items():
        text = properties.get(key)
        if text is not None:
            number = java_number(text, bits=bits, least=least)
            if number is None:
                most = (1 << bits - 1) - 1
                raise InvalidRequest(
                    f"{key}={text.strip()}: give a whole number from {least} to {most}"
                )
            found[field] = number
    return LogConfig(**found)
