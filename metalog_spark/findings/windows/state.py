"""The ACLs and the configuration in a folder's tables, brought to the driver.

As many as a cluster has ACLs, which fit; requests never come here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from authorizer.config import AuthorizerConfig
from metalog_spark.findings.usage.acl_lifetimes import Lives
from metalog_spark.history.archive_history import KNOWN
from metalog_spark.history.configuration import deciding_config
from metalog_spark.history.state import packed_lives
from metalog_spark.store.tables import ACL_CHANGELOG, CONFIGURATION, HISTORY

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from metalog.acl import Acl
    from metalog_spark.store.table_store import Tables


def packed_in(tables: Tables) -> bytes:
    """Every life of every ACL, as ``Lives.of`` reads it here and where workers are."""
    return tables.once(ACL_CHANGELOG, packed_lives)


def lives_in(tables: Tables) -> Lives:
    return Lives.of(packed_in(tables), config_now(tables).kafka)


def acls_now(tables: Tables) -> list[Acl]:
    """Each ACL that is still in force where the history ends, in the order of exports."""
    return lives_in(tables).at(None)


def known_from_ms(tables: Tables) -> int | None:
    """From when on ACLs without a beginning were surely in force, in milliseconds since 1970: a
    snapshot, at which most logs begin, does not say when they came. None where nothing is known."""
    return tables.once(HISTORY, _known_from)


def _known_from(history: DataFrame) -> int | None:
    known = history.where(f"kind = '{KNOWN}'").orderBy("from_offset")
    for offset, time_ms in known.selectExpr("from_offset", "unix_millis(from_time)").head(1):
        return time_ms if offset else 0
    return None


def config_now(tables: Tables) -> AuthorizerConfig:
    """The configuration in force where the history ends; Kafka's defaults if none was given."""
    return tables.once(CONFIGURATION, _last)


def _last(configuration: DataFrame) -> AuthorizerConfig:
    rows = configuration.where("to_time IS NULL").collect()
    if not rows:
        return AuthorizerConfig()
    [row, *_] = rows
    return deciding_config(row)
