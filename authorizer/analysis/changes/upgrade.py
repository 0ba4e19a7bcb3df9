"""Compares two versions of Kafka on the same ACLs: who gains and who loses which operations.

An ACL whose host is a CIDR block matches only with Kafka 4.4 or later. Each difference has a
witness: one request that the two versions decide differently. This module must not know where ACLs
come from, nor how a difference is shown.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import NamedTuple

from authorizer.analysis.access.allowed_patterns import Operations, operations_of
from authorizer.analysis.access.host_regions import is_matchable
from authorizer.analysis.cells.difference import ComparedCell, SetComparison
from authorizer.analysis.cells.enumeration import MOST_CELLS
from authorizer.analysis.cells.names import NameClass
from authorizer.config import AuthorizerConfig
from authorizer.engine.decide import ALLOWS, DENIES
from authorizer.engine.index import AclIndex
from authorizer.kafka_version import KafkaVersion
from authorizer.trace import Question, is_allow
from metalog.acl import WILDCARD_PRINCIPAL, Acl
from metalog.errors import InvalidRequest


class UpgradeEffect(NamedTuple):
    """The operations that ``principal`` gains and loses on ``names``.

    ``principal`` is None for all principals that no ACL names. The affected clients match
    ``region``, an ACL's block or address. ``witness`` is a request for one of these operations.
    """

    principal: str | None
    region: str
    names: NameClass
    gains: Operations
    loses: Operations
    witness: Question


class Upgrade(NamedTuple):
    """``effects`` maps each ACL with a CIDR block to its effects.

    Of effects that differ only in the names, one is listed. With too many cells, ``is_whole`` is
    False, and no ACL has effects.
    """

    effects: dict[Acl, tuple[UpgradeEffect, ...]]
    is_whole: bool


def upgrade(
    acls: Collection[Acl], config: AuthorizerConfig, to: KafkaVersion, most_cells: int = MOST_CELLS
) -> Upgrade:
    """The decisions that change when ``to`` replaces ``to.other``."""
    newest = KafkaVersion.V4_4
    blocks = [
        acl for acl in dict.fromkeys(acls) if "/" in acl.host and is_matchable(acl.host, newest)
    ]
    before, after = (config._replace(kafka_version=version) for version in (to.other, to))
    try:
        compared = SetComparison(acls, acls, before, most_cells, after_config=after)
    except InvalidRequest:
        return Upgrade(dict.fromkeys(blocks, ()), is_whole=False)
    index = AclIndex.of(blocks)
    effects: dict[Acl, dict[tuple[object, ...], UpgradeEffect]] = {acl: {} for acl in blocks}
    for cell in compared.differences():
        for acl, effect in _effects_of(index, cell):
            effects[acl].setdefault((*effect[:2], *effect[3:5], cell.session.kind), effect)
    return Upgrade({acl: tuple(found.values()) for acl, found in effects.items()}, is_whole=True)


def _effects_of(blocks: AclIndex, cell: ComparedCell) -> Iterator[tuple[Acl, UpgradeEffect]]:
    """The ACLs that match the cell's requests and change a decision, each with its effect."""
    session, kind = cell.session, cell.session.kind
    for acl in blocks.candidates(kind, cell.name):
        matches_principal = acl.principal in (session.principal, WILDCARD_PRINCIPAL)
        if not matches_principal or acl.host not in session.clients.matching:
            continue
        mask = ALLOWS[acl.operation] if is_allow(acl) else DENIES[acl.operation]
        gains, loses = cell.after & ~cell.before & mask, cell.before & ~cell.after & mask
        if gains or loses:
            yield (
                acl,
                UpgradeEffect(
                    session.principal if session.is_named else None,
                    session.clients.host or acl.host,
                    cell.names,
                    operations_of(gains, kind),
                    operations_of(loses, kind),
                    session.question(gains | loses, cell.name),
                ),
            )
