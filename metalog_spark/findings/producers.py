"""Principals that may start an idempotent producer, which Kafka's audit log mostly omits.

InitProducerId needs IDEMPOTENT_WRITE on the cluster or WRITE on any one topic (KIP-679). Kafka
does not log the decision if a topic's ACL allows it. So any principal that sent any request may
have used such an ACL. docs/reference/unused-acls.md has the rules.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from authorizer.analysis.access.host_regions import HostRegion, host_regions
from authorizer.api import Action, RequestContext, cluster, topic
from authorizer.config import AuthorizerConfig
from authorizer.engine.decide import ALLOWED, concerns
from authorizer.engine.host_blocks import HostBlocks
from authorizer.engine.index import AclIndex
from authorizer.kafka_version import KafkaVersion
from authorizer.standard import StandardAuthorizer
from authorizer.trace import is_allow
from metalog.acl import WILDCARD, WILDCARD_PRINCIPAL, Acl, Operation, PatternType, ResourceType
from metalog.host_block import client_address, host_block
from metalog_spark.findings.usage.usage_classes import lasts
from metalog_spark.findings.windows.pending import with_pending
from metalog_spark.findings.windows.state import config_now, known_from_ms, lifetimes_in
from metalog_spark.findings.windows.window import usage_in
from metalog_spark.store.arrow import Mapped, batch_of
from metalog_spark.store.tables import CONFIGURATION

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

    from metalog_spark.findings.windows.window import Window
    from metalog_spark.store.table_store import Tables

HARDCODE: Final = "hardcode"
"""The topic name that Kafka checks first; it logs that check if it is allowed."""
_BY_NAME: Final = Action(Operation.WRITE, topic(HARDCODE))
_ON_CLUSTER: Final = Action(Operation.IDEMPOTENT_WRITE, cluster())
_ASKERS: Final = "principal STRING, host STRING"


class Asker(NamedTuple):
    """A principal that sent requests, and its host. ``*`` is any host, and ``User:*`` any
    principal, that none of the ACLs names."""

    principal: str
    host: str


class Starts:
    """The ACLs of a set that decide who may start an idempotent producer."""

    def __init__(self, acls: Iterable[Acl], kafka: KafkaVersion) -> None:
        self._kafka = kafka
        self._by_principal: dict[str, list[Acl]] = {}
        for acl in acls:
            self.add(acl)

    def add(self, acl: Acl) -> None:
        if starts_producers(acl):
            self._by_principal.setdefault(acl.principal, []).append(acl)

    def of(self, who: Asker) -> list[Acl]:
        """Those for the principal, from any host."""
        names = dict.fromkeys((who.principal, WILDCARD_PRINCIPAL))
        return [acl for name in names for acl in self._by_principal.get(name, ())]

    def may(self, who: Asker, *more: Acl) -> bool:
        """Whether they, together with ``more``, allow InitProducerId."""
        if not self._allows(who, more):
            return False
        authorizer, context = self._asked(who, more)
        if authorizer.is_allowed(context, _ON_CLUSTER):
            return True
        of_any = authorizer.authorize_by_resource_type(context, Operation.WRITE, ResourceType.TOPIC)
        return of_any is ALLOWED

    def would_show(self, who: Asker) -> bool:
        """Whether Kafka logs that InitProducerId was allowed."""
        if not self._allows(who):
            return False
        authorizer, context = self._asked(who, ())
        return any(authorizer.is_allowed(context, each) for each in (_ON_CLUSTER, _BY_NAME))

    @property
    def has_allows(self) -> bool:
        return any(is_allow(acl) for acls in self._by_principal.values() for acl in acls)

    @property
    def principals(self) -> Collection[str]:
        return self._by_principal.keys()

    @property
    def hosts(self) -> Collection[str]:
        return {acl.host for acls in self._by_principal.values() for acl in acls}

    def _allows(self, who: Asker, more: Iterable[Acl] = ()) -> bool:
        """Whether any of them is an ALLOW; without one, nothing needs to be decided."""
        return any(map(is_allow, (*self.of(who), *more)))

    def _asked(self, who: Asker, more: Iterable[Acl]) -> tuple[StandardAuthorizer, RequestContext]:
        acls = [*self.of(who), *more]
        return StandardAuthorizer.from_acls(
            acls, kafka_version=self._kafka.value, tolerant=True
        ), RequestContext(who.principal, who.host)


def starts_producers(acl: Acl) -> bool:
    """Whether the ACL matters for InitProducerId."""
    if acl.resource_type is ResourceType.TOPIC:
        return concerns(acl, Operation.WRITE)
    return acl.resource_type is ResourceType.CLUSTER and concerns(acl, Operation.IDEMPOTENT_WRITE)


def unseen_in(tables: Tables, window: Window) -> frozenset[Asker]:
    """The clients that today's ACLs let start a producer without an audit line.

    These are clients with a request in ``window`` or waiting. A client without any audit line is
    not among them.
    """
    lifetimes = lifetimes_in(tables)
    kafka = config_now(tables).kafka
    today = Starts(lifetimes.at(None), kafka)
    if not today.has_allows or _shown_by_default(tables, lifetimes.acls):
        return frozenset()
    edges = window.start_us // 1000, window.end_us // 1000, known_from_ms(tables)
    lasting = (
        acl for acl, own in lifetimes.by_acl.items() if not is_allow(acl) or lasts(own, *edges)
    )
    all_the_time = Starts(lasting, kafka)
    return frozenset(
        who
        for who in _askers(tables, window, today)
        if today.may(who) and not all_the_time.would_show(who)
    )


def _shown_by_default(tables: Tables, acls: Iterable[Acl]) -> bool:
    """Whether the default rule allowed WRITE on HARDCODE during the whole history, since no ACL
    ever matched it. Kafka logs that."""
    return tables.once(CONFIGURATION, _is_always_open) and not any(
        AclIndex.of(tuple(acls)).buckets_matching(ResourceType.TOPIC, HARDCODE)
    )


def _is_always_open(configuration: DataFrame) -> bool:
    found = {bool(row["allow_everyone"]) for row in configuration.collect()}
    return found == {True}


def _askers(tables: Tables, window: Window, today: Starts) -> Iterator[Asker]:
    """The clients, merged to at most one for each combination of principal and host in the
    ACLs."""
    asked = with_pending(usage_in(tables, window), tables).select("principal", "host")
    config = config_now(tables)
    regions = host_regions(sorted(today.hosts), config.kafka)
    named = _naming(frozenset(today.principals), tuple(regions), config.super_users)
    for principal, host in asked.distinct().mapInArrow(named, _ASKERS).distinct().collect():
        yield Asker(principal, host)


def _naming(
    principals: frozenset[str], regions: Sequence[HostRegion], super_users: frozenset[str]
) -> Mapped:
    """Replace each host by a client of its region, or by the wildcard."""
    clients = {region.host: region.client for region in regions}
    blocks = HostBlocks.of(clients)
    by_block = {block: host for host in clients if (block := host_block(host)) is not None}

    def client_of(host: str) -> str:
        if host in clients:
            return clients[host]
        address = client_address(host) if by_block else None
        around = None if address is None else blocks.narrowest(address)
        client: str = WILDCARD if around is None else clients[by_block[around]]
        return client

    def naming(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            columns = (column.to_pylist() for column in batch.columns)
            found = {
                (
                    principal if principal in principals else WILDCARD_PRINCIPAL,
                    client_of(host),
                )
                for principal, host in zip(*columns, strict=True)
                if principal is not None and principal not in super_users
            }
            yield batch_of(sorted(found), _ASKERS)

    return naming


def spared(
    unseen: Iterable[Asker],
    today: Iterable[Acl],
    going: Mapping[Acl, int],
    kafka: KafkaVersion = KafkaVersion.V4_3,
) -> frozenset[Acl]:
    """The ACLs of ``going`` to keep so that each of ``unseen`` can still start a producer after
    all others are removed: at most one for each, the one that matches the most requests."""
    rest = Starts((acl for acl in today if acl not in going), kafka)
    candidates = Starts(going, kafka)
    kept = set()
    for who in sorted(unseen):
        if rest.may(who):
            continue
        for acl in sorted(candidates.of(who), key=lambda each: (-going[each], each)):
            if rest.may(who, acl):
                rest.add(acl)
                kept.add(acl)
                break
    return frozenset(kept)


def narrowest(
    unseen: Iterable[Asker],
    today: Iterable[Acl],
    least: Iterable[Acl],
    kafka: KafkaVersion = KafkaVersion.V4_3,
) -> frozenset[Acl]:
    """The ACLs to add to ``least`` so that all of ``unseen`` can start producers. Each is the
    narrowest part of one of today's ALLOWs that suffices; a topic that the principal has in
    ``least`` is preferred."""
    has, enough, topics = Starts(today, kafka), Starts((), kafka), dict[str, set[str]]()
    for acl in least:
        enough.add(acl)
        if acl.resource_type is ResourceType.TOPIC and acl.pattern_type is PatternType.LITERAL:
            topics.setdefault(acl.principal, set()).add(acl.resource_name)
    found = set()
    for who in sorted(unseen):
        if enough.may(who):
            continue
        names = topics.get(who.principal, set())
        grants = [acl for acl in has.of(who) if is_allow(acl)]
        parts = sorted(part for acl in grants for part in _parts(acl, names))
        _, acl = next(each for each in parts if enough.may(who, each[1]))
        enough.add(acl)
        found.add(acl)
    return frozenset(found)


def losing(unseen: Iterable[Asker], proposed: Iterable[Acl], config: AuthorizerConfig) -> list[str]:
    """The principals among ``unseen`` that could not start a producer with ``proposed``."""
    then = Starts(proposed, config.kafka)
    lost = {who.principal for who in unseen if not then.may(who)}
    return sorted(lost.difference(config.super_users))


def _parts(acl: Acl, names: Collection[str]) -> Iterator[tuple[int, Acl]]:
    """Narrower ACLs, each of which still lets a producer start, with a rank: an ACL with a lower
    rank allows less beyond that."""
    if acl.resource_type is ResourceType.CLUSTER:
        yield 0, acl._replace(operation=Operation.IDEMPOTENT_WRITE)
        return
    written = acl._replace(operation=Operation.WRITE)
    is_literal = acl.pattern_type is PatternType.LITERAL
    if is_literal and acl.resource_name != WILDCARD:
        yield 1 if acl.resource_name in names else 2, written
        return
    for name in {*names, HARDCODE}:
        if is_literal or name.startswith(acl.resource_name):
            one = written._replace(resource_name=name, pattern_type=PatternType.LITERAL)
            yield 1 if name in names else 2, one
    yield 3, written
