"""The keys of a node's configuration: Kafka's name, default, bounds and meaning of each.

``Settings`` are the node's own; ``READ_ELSEWHERE`` are those that other parts read. What
follows from several keys together is ``node_config``'s. This module must not open anything.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Final, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from authorizer.config import (
    ALLOW_EVERYONE,
    EARLY_START_LISTENERS,
    KAFKA_VERSION,
    STALE_DENY_AFTER,
    SUPER_USERS,
)
from authorizer.loading import CLASS_NAME
from metalog.controller.scram_password_config import KEYS as SCRAM_PASSWORD_KEYS
from metalog.controller.scram_password_config import SALTED_ENABLE
from metalog.log.config import KEYS as LOG_KEYS
from metalog.wire.frames import DEFAULT_LIMIT
from metalog_node.auth.principals import MAPPING_RULES
from metalog_node.config.listener_keys import (
    CONTROLLER_MECHANISM,
    MAX_REAUTH,
    MECHANISMS,
    PROTOCOLS,
    SUITES,
)
from metalog_node.config.listeners import ADVERTISED, LISTENERS, PROTOCOL_MAP

CONTROLLERS: Final = "controller.quorum.bootstrap.servers"
VOTERS: Final = "controller.quorum.voters"
METRICS: Final = "metrics.listener"


def _comma_list(value: object) -> object:
    if not isinstance(value, str):
        return value
    return tuple(filter(None, map(str.strip, value.split(","))))


def _upper_comma_list(value: object) -> object:
    return _comma_list(value.upper() if isinstance(value, str) else value)


_Names = Annotated[tuple[str, ...], BeforeValidator(_upper_comma_list)]
_Positive = Annotated[int, Field(ge=1)]


class Settings(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True, str_strip_whitespace=True)

    process_roles: Annotated[
        tuple[Literal["broker", "controller"], ...], BeforeValidator(_comma_list)
    ] = Field(
        alias="process.roles",
        min_length=1,
        description="`controller` keeps the log, `broker` follows one; both may be given",
    )
    node_id: Annotated[int, Field(ge=0, lt=1 << 31)] = Field(
        alias="node.id", description="the number that its folder is formatted for"
    )
    listeners: str = Field(
        alias=LISTENERS,
        description="`NAME://HOST:PORT`, separated by commas; port 0 is any free one",
    )
    advertised_listeners: str | None = Field(
        None, alias=ADVERTISED, description="where clients find them, if elsewhere"
    )
    protocol_map: str | None = Field(
        None,
        alias=PROTOCOL_MAP,
        description="`NAME:PROTOCOL` of listeners that are not called by their protocol",
    )
    controller_listener_names: _Names = Field(
        (), alias="controller.listener.names", description="listeners that speak as a controller"
    )
    bootstrap_servers: str | None = Field(
        None, alias=CONTROLLERS, description="the controllers that a broker follows"
    )
    voters: str | None = Field(
        None,
        alias=VOTERS,
        description="the same as `ID@HOST:PORT`, where there is a quorum from before KIP-853",
    )
    metadata_log_dir: Path | None = Field(
        None,
        alias="metadata.log.dir",
        description="the folder of a controller's log, `log.dirs` or `log.dir` where not given; or "
        "`topic://HOST:PORT/TOPIC`, with a client's keys behind `metadata.log.topic.`",
    )
    log_dirs: str | None = Field(None, alias="log.dirs", description="the first of them counts")
    log_dir: str | None = Field(None, alias="log.dir", description="as `log.dirs`")
    max_connections: _Positive = Field(
        (1 << 31) - 1, alias="max.connections", description="clients at a time"
    )
    max_connections_per_ip: Annotated[int, Field(ge=0)] = Field(
        (1 << 31) - 1, alias="max.connections.per.ip", description="those of one address"
    )
    idle_ms: _Positive = Field(
        600_000,
        alias="connections.max.idle.ms",
        description="a client that is silent for so long is let go",
    )
    failed_login_delay_ms: Annotated[int, Field(ge=0)] = Field(
        100,
        alias="connection.failed.authentication.delay.ms",
        description="how long a client waits to hear that its login is refused",
    )
    request_max_bytes: _Positive = Field(
        DEFAULT_LIMIT, alias="socket.request.max.bytes", description="the longest request"
    )
    request_timeout_ms: _Positive = Field(
        30_000,
        alias="request.timeout.ms",
        description="how long a change may wait for the controller",
    )
    metrics_listener: str | None = Field(
        None,
        alias=METRICS,
        description="`http://HOST:PORT` of `/metrics`, `/healthz` and `/readyz`; ours",
    )


READ_ELSEWHERE: Final[Mapping[str, str]] = {
    CLASS_NAME: "Kafka's class name or yours; without it everything is allowed, and a node with "
    "a secure listener does not start",
    SUPER_USERS: "`User:NAME`, separated by `;`: may do anything, even before the load is done",
    ALLOW_EVERYONE: "`true` allows what no ACL reaches",
    EARLY_START_LISTENERS: "open before the load is done, for super users only; without it those "
    "of controllers",
    KAFKA_VERSION: "decide as Kafka `4.3`, or as `4.4`, where a host may be a CIDR block; without "
    "it 4.4 from metadata.version 32 on; ours",
    STALE_DENY_AFTER: "shut the gate when the image has been stale for so long; ours",
    MECHANISMS: "how clients may log in, by default SCRAM-SHA-256 and SCRAM-SHA-512; PLAIN's "
    "passwords stand in `listener.name.NAME.plain.sasl.jaas.config`",
    CONTROLLER_MECHANISM: "how a broker logs in to controllers whose listener wants it",
    MAX_REAUTH: "how long a login by SASL holds; after it a client logs in again (KIP-368)",
    PROTOCOLS: "the versions of TLS that are spoken, by default TLSv1.2 and TLSv1.3",
    SUITES: "the cipher suites that are offered, by Java's names; those of TLS 1.3 only together",
    MAPPING_RULES: "a certificate's subject to a principal's name",
    **dict.fromkeys(SCRAM_PASSWORD_KEYS, "passwords that come to the node (KIP-506)"),
    SALTED_ENABLE: "`false` refuses salted passwords (KIP-554: kafka-configs, any Admin client), "
    "which no policy can judge; give all nodes the same; `true` where not given; ours",
    **dict.fromkeys((key for key, _ in LOG_KEYS.values()), "as in Kafka"),
}
"""Key to what it says; ``ssl.*`` and ``listener.name.*`` are not listed one by one."""
