"""The keys of a node's configuration, and what they mean.

``Settings`` checks single keys, and ``node_config`` combinations of keys. Other modules check the
keys in ``READ_ELSEWHERE``. This module must not open anything.
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
from metalog.config.properties import comma_separated
from metalog.controller.scram_password_config import (
    ENABLED_MECHANISMS,
    ITERATIONS,
    POLICY_CLASS,
    SALTED_ENABLE,
)
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
    return comma_separated(value) if isinstance(value, str) else value


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
        description="`controller` keeps the log, `broker` follows a controller; a node can be both",
    )
    node_id: Annotated[int, Field(ge=0, lt=1 << 31)] = Field(
        alias="node.id", description="the node's number, with which its folder was formatted"
    )
    listeners: str = Field(
        alias=LISTENERS,
        description="`NAME://HOST:PORT`, separated by commas; port 0 takes any free port",
    )
    advertised_listeners: str | None = Field(
        None, alias=ADVERTISED, description="addresses for clients, if not those in `listeners`"
    )
    protocol_map: str | None = Field(
        None,
        alias=PROTOCOL_MAP,
        description="`NAME:PROTOCOL` for every listener (default: each name is the protocol; "
        "a controllers' listener with another name is PLAINTEXT)",
    )
    controller_listener_names: _Names = Field(
        (), alias="controller.listener.names", description="the controllers' listeners"
    )
    bootstrap_servers: str | None = Field(
        None, alias=CONTROLLERS, description="the controllers that a broker follows"
    )
    voters: str | None = Field(
        None,
        alias=VOTERS,
        description="the controllers of a static quorum (before KIP-853), as `ID@HOST:PORT`",
    )
    metadata_log_dir: Path | None = Field(
        None,
        alias="metadata.log.dir",
        description="the folder of a controller's log (default: `log.dirs` or `log.dir`); or "
        "`topic://HOST:PORT/TOPIC`, with the settings of its Kafka client as "
        "`metadata.log.topic.KEY`",
    )
    log_dirs: str | None = Field(
        None, alias="log.dirs", description="folders; the node uses the first"
    )
    log_dir: str | None = Field(None, alias="log.dir", description="as `log.dirs`")
    max_connections: _Positive = Field(
        (1 << 31) - 1,
        alias="max.connections",
        description="the limit of connections; the limit of open files can lower it",
    )
    max_connections_per_ip: _Positive = Field(
        (1 << 31) - 1,
        alias="max.connections.per.ip",
        description="the limit of connections from one address",
    )
    idle_ms: _Positive = Field(
        600_000,
        alias="connections.max.idle.ms",
        description="how long a client may be silent before it is disconnected",
    )
    failed_login_delay_ms: Annotated[int, Field(ge=0)] = Field(
        100,
        alias="connection.failed.authentication.delay.ms",
        description="the pause before the answer to a refused login",
    )
    request_max_bytes: _Positive = Field(
        DEFAULT_LIMIT,
        alias="socket.request.max.bytes",
        description="the size of the largest request",
    )
    request_timeout_ms: _Positive = Field(
        30_000,
        alias="request.timeout.ms",
        description="how long a forwarded request may wait for the controller",
    )
    metrics_listener: str | None = Field(
        None,
        alias=METRICS,
        description="`http://HOST:PORT` of `/metrics`, `/healthz` and `/readyz`; not a key of "
        "Kafka",
    )


READ_ELSEWHERE: Final[Mapping[str, str]] = {
    CLASS_NAME: "Kafka's class name or your own; if missing, everything is allowed, so a node "
    "with a secure listener does not start",
    SUPER_USERS: "`User:NAME`, separated by `;`: users who may do anything, even before the log is "
    "loaded",
    ALLOW_EVERYONE: "`true` allows access to a resource without ACLs",
    EARLY_START_LISTENERS: "listeners that open before the log is loaded, for super users only "
    "(default: the controllers')",
    KAFKA_VERSION: "the Kafka version to imitate: `4.3`, or `4.4`, whose ACLs may have CIDR blocks "
    "as hosts (default: `4.3` below metadata.version 32, else `4.4`; with `4.3` the node refuses a "
    "log of metadata.version 32 or higher); not a key of Kafka",
    STALE_DENY_AFTER: "how long the image may be stale before only super users are served; not a "
    "key of Kafka",
    MECHANISMS: "the login mechanisms (default: SCRAM-SHA-256 and SCRAM-SHA-512); PLAIN's "
    "passwords are in `listener.name.NAME.plain.sasl.jaas.config`",
    CONTROLLER_MECHANISM: "the mechanism with which a broker logs in to a controller",
    MAX_REAUTH: "how long a SASL login is valid; then the client logs in again (KIP-368)",
    PROTOCOLS: "the TLS versions (default: TLSv1.2 and TLSv1.3)",
    SUITES: "the cipher suites, by Java's names; name all suites of TLS 1.3 or none",
    MAPPING_RULES: "how a certificate's subject becomes a principal's name",
    POLICY_CLASS: "the class that checks a new SCRAM password sent unsalted (KIP-506)",
    ENABLED_MECHANISMS: "the mechanisms for which a node stores a credential when it receives an "
    "unsalted password",
    **dict.fromkeys(ITERATIONS.values(), "the iterations of a password sent unsalted"),
    SALTED_ENABLE: "`false` refuses salted passwords (KIP-554: kafka-configs, any Admin client), "
    "which no policy can check; set it on all nodes alike (default: `true`); not a key of Kafka",
    **dict.fromkeys((key for key, *_ in LOG_KEYS.values()), "as in Kafka"),
}
"""Keys and what they set. Other ``ssl.*`` keys and ``listener.name.*`` are not listed."""
