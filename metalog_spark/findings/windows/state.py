"""Collects the ACLs and the configuration of a folder's tables on the driver.

The lifetimes of all ACLs must fit into the driver's memory.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from authorizer.config import AuthorizerConfig
from metalog_spark.findings.usage.acl_lifetimes import AclLifetimes
from metalog_spark.history.archive_history import KNOWN
from metalog_spark.history.configuration import deciding_config
from metalog_spark.history.state import packed_lifetimes
from metalog_spark.store.derived_values import kept_until_commit
from metalog_spark.store.tables import ACL_CHANGELOG, CONFIGURATION, HISTORY

if TYPE_CHECKING:
    from metalog.acl import Acl
    from metalog_spark.store.table_store import Tables


@kept_until_commit
def packed_in(tables: Tables) -> bytes:
    """All lifetimes of all ACLs, for ``AclLifetimes.of`` on the driver and on workers."""
    return packed_lifetimes(tables.read(ACL_CHANGELOG))


def lifetimes_in(tables: Tables) -> AclLifetimes:
    return AclLifetimes.of(packed_in(tables), config_now(tables).kafka)


def acls_now(tables: Tables) -> list[Acl]:
    """The ACLs in force at the end of the history, sorted as in exports."""
    return lifetimes_in(tables).at(None)


@kept_until_commit
def known_from_ms(tables: Tables) -> int | None:
    """When the known history begins, in milliseconds since 1970; None if this is unknown.

    Most logs begin at a snapshot, which does not say when its ACLs were added.
    """
    known = tables.read(HISTORY).where(f"kind = '{KNOWN}'").orderBy("from_offset")
    for offset, time_ms in known.selectExpr("from_offset", "unix_millis(from_time)").head(1):
        return time_ms if offset else 0
    return None


@kept_until_commit
def config_now(tables: Tables) -> AuthorizerConfig:
    """The configuration at the end of the history; without one, Kafka's defaults."""
    rows = tables.read(CONFIGURATION).where("to_time IS NULL").collect()
    if not rows:
        return AuthorizerConfig()
    [row, *_] = rows
    return deciding_config(row)
