"""The ACLs and the configuration in a folder's tables, collected on the driver.

Their size is bounded by the cluster's ACLs, which fit into memory; requests are never collected.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from authorizer.config import AuthorizerConfig
from metalog_spark.findings.usage.acl_lifetimes import AclLifetimes
from metalog_spark.history.archive_history import KNOWN
from metalog_spark.history.configuration import deciding_config
from metalog_spark.history.state import packed_lifetimes
from metalog_spark.store.tables import ACL_CHANGELOG, CONFIGURATION, HISTORY

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from metalog.acl import Acl
    from metalog_spark.store.table_store import Tables


def packed_in(tables: Tables) -> bytes:
    """Every lifetime of every ACL, in the form that ``AclLifetimes.of`` reads on the driver and on
    workers."""
    return tables.once(ACL_CHANGELOG, packed_lifetimes)


def lifetimes_in(tables: Tables) -> AclLifetimes:
    return AclLifetimes.of(packed_in(tables), config_now(tables).kafka)


def acls_now(tables: Tables) -> list[Acl]:
    """The ACLs in force at the end of the history, sorted as in exports."""
    return lifetimes_in(tables).at(None)


def known_from_ms(tables: Tables) -> int | None:
    """The time from which ACLs with an unknown start were certainly in force, in milliseconds since
    1970; None if nothing is known. Most logs begin at a snapshot, which does not say when its ACLs
    were added."""
    return tables.once(HISTORY, _known_from)


def _known_from(history: DataFrame) -> int | None:
    known = history.where(f"kind = '{KNOWN}'").orderBy("from_offset")
    for offset, time_ms in known.selectExpr("from_offset", "unix_millis(from_time)").head(1):
        return time_ms if offset else 0
    return None


def config_now(tables: Tables) -> AuthorizerConfig:
    """The configuration in force at the end of the history; Kafka's defaults if none was given."""
    return tables.once(CONFIGURATION, _last)


def _last(configuration: DataFrame) -> AuthorizerConfig:
    rows = configuration.where("to_time IS NULL").collect()
    if not rows:
        return AuthorizerConfig()
    [row, *_] = rows
    return deciding_config(row)
