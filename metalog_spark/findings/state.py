"""What a folder's tables say of the ACLs and of the configuration, brought to the driver.

As many as a cluster has ACLs, which fit; requests never come here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from authorizer.config import AuthorizerConfig
from authorizer.timeline import Life
from metalog_spark.findings.lives import ACL_COLUMNS, life_of
from metalog_spark.findings.window import micros
from metalog_spark.tables import ACL_CHANGELOG, CONFIGURATION
from snapshot.exchange.formats.document import acl_order

if TYPE_CHECKING:
    from metalog.acl import Acl
    from metalog_spark.folder import Tables


def lives_in(tables: Tables) -> list[Life]:
    """Every life of every ACL, in the order of exports, each ACL's first life first."""
    columns = ("id", *ACL_COLUMNS, "from_offset", "to_offset", *micros(("from_time", "to_time")))
    rows = tables.read(ACL_CHANGELOG).selectExpr(*columns).collect()
    return sorted((life_of(row.asDict()) for row in rows), key=_order)


def _order(life: Life) -> tuple[object, ...]:
    return acl_order(life.acl), -1 if life.begin is None else life.begin.at, life.id


def acls_now(tables: Tables) -> list[Acl]:
    """Each ACL that is still in force where the history ends, in the order of exports."""
    return list(dict.fromkeys(life.acl for life in lives_in(tables) if life.end is None))


def config_now(tables: Tables) -> AuthorizerConfig:
    """The configuration in force where the history ends; Kafka's defaults if none was given."""
    rows = tables.read(CONFIGURATION).where("to_time IS NULL").collect()
    if not rows:
        return AuthorizerConfig()
    [row, *_] = rows
    return AuthorizerConfig(frozenset(row["super_users"] or ()), bool(row["allow_everyone"]))
