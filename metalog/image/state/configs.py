"""The dynamic configurations of a cluster, by resource and key.

The removal of a topic also removes its configuration. (If one delta sets a topic's first
configuration and removes the topic, Kafka keeps the configuration.) No ``repr`` shows values, which
can be passwords.

This module must not know which keys Kafka has.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from metalog.image.state.never_doubtful import NeverDoubtful
from metalog.image.table import EMPTY as EMPTY_TABLE
from metalog.image.table import Table
from metalog.records.messages import ConfigRecord

TOPIC: Final = 2
BROKER: Final = 4
BROKER_LOGGER: Final = 8
CLIENT_METRICS: Final = 16
GROUP: Final = 32


class ConfigResource(NamedTuple):
    """``type`` is a code of Kafka's ConfigResource.Type. An empty ``name`` is the default for all
    resources of the type."""

    type: int
    name: str


Config = Table[str, str]


class ConfigsImage(NamedTuple):
    """``resources`` has no entry for an empty configuration."""

    resources: Table[ConfigResource, Config] = EMPTY_TABLE

    def of(self, type: int, name: str) -> Config:
        return self.resources.get(ConfigResource(type, name), EMPTY_TABLE)

    def write(self, metadata_version: int) -> Iterator[tuple[ConfigRecord, int]]:
        for resource in sorted(self.resources):
            for name, value in sorted(self.resources[resource].items()):
                yield ConfigRecord(resource.type, resource.name, name, value), 0


EMPTY: Final = ConfigsImage()


class ConfigsDelta(NeverDoubtful):
    """Changes to a ``ConfigsImage``, by resource and key; None for a removal.

    ``emptied`` has the topics whose configuration in ``image`` is removed.
    """

    __slots__ = ("changes", "emptied", "image", "is_replacement")

    def __init__(self, image: ConfigsImage, *, is_replacement: bool = False) -> None:
        self.image = image
        self.is_replacement = is_replacement
        self.changes: dict[ConfigResource, dict[str, str | None]] = {}
        self.emptied: set[ConfigResource] = set()

    def change(self, record: ConfigRecord) -> None:
        resource = ConfigResource(record.resource_type, record.resource_name)
        self.changes.setdefault(resource, {})[record.name] = record.value

    def remove_topic(self, name: str) -> None:
        resource = ConfigResource(TOPIC, name)
        self.changes[resource] = {}
        self.emptied.add(resource)

    def apply(self) -> ConfigsImage:
        base = EMPTY if self.is_replacement else self.image
        configs = {
            resource: self._before(base, resource).changed(changes) or None
            for resource, changes in self.changes.items()
        }
        return ConfigsImage(base.resources.changed(configs))

    def _before(self, base: ConfigsImage, resource: ConfigResource) -> Config:
        if resource in self.emptied:
            return EMPTY_TABLE
        return base.resources.get(resource, EMPTY_TABLE)
