"""What a folder's tables say of the ACLs and of the configuration, brought to the driver.

As many as a cluster has ACLs, which fit; requests never come here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from authorizer.config import AuthorizerConfig
from metalog_spark.findings.lives import Lives
from metalog_spark.state import packed_lives
from metalog_spark.tables import ACL_CHANGELOG, CONFIGURATION

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from metalog.acl import Acl
    from metalog_spark.folder import Tables


def packed_in(tables: Tables) -> bytes:
    """Every life of every ACL, as ``Lives.of`` reads it here and where workers are."""
    return tables.once(ACL_CHANGELOG, packed_lives)


def lives_in(tables: Tables) -> Lives:
    return Lives.of(packed_in(tables))


def acls_now(tables: Tables) -> list[Acl]:
    """Each ACL that is still in force where the history ends, in the order of exports."""
    return lives_in(tables).at(None)


def config_now(tables: Tables) -> AuthorizerConfig:
    """The configuration in force where the history ends; Kafka's defaults if none was given."""
    return tables.once(CONFIGURATION, _last)


def _last(configuration: DataFrame) -> AuthorizerConfig:
    rows = configuration.where("to_time IS NULL").collect()
    if not rows:
        return AuthorizerConfig()
    [row, *_] = rows
    return AuthorizerConfig(frozenset(row["super_users"] or ()), bool(row["allow_everyone"]))
