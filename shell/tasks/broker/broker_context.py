"""The configuration of the deciding broker, and which of its settings are assumed.

This module must not know where the configuration comes from.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from authorizer.config import AuthorizerConfig

SUPER_USERS_KEY: Final = "super.users"
ALLOW_EVERYONE_KEY: Final = "allow.everyone.if.no.acl.found"
KAFKA_VERSION_KEY: Final = "kafka.version"


class Context(NamedTuple):
    """The authorizer's configuration. ``assumed`` are settings that no option or file decides, as
    ``key=value``. ``is_kafka_assumed``: the Kafka version comes from the log or cluster."""

    config: AuthorizerConfig
    assumed: tuple[str, ...]
    is_kafka_assumed: bool = False

    def with_kafka(self, kafka: str, hosts: Iterable[str]) -> Context:
        """This context, with the likely version ``kafka`` if none is configured.

        The version changes only the meaning of CIDR blocks. Without a CIDR block in the ACLs'
        ``hosts``, ``assumed`` does not list the version.
        """
        if self.config.kafka_version is not None:
            return self
        from authorizer.kafka_version import KafkaVersion
        from metalog.hosts.host_block import has_block

        config, assumed = self.config._replace(kafka_version=KafkaVersion(kafka)), self.assumed
        if has_block(hosts):
            assumed = (*assumed, f"{KAFKA_VERSION_KEY}={config.kafka.value}")
        return Context(config, assumed, is_kafka_assumed=True)
