"""Finds the clients that can start an idempotent producer without an audit line.

InitProducerId needs IDEMPOTENT_WRITE on the cluster, or WRITE on at least one topic (KIP-679).
Kafka writes no audit line if only an ACL of a topic other than ``hardcode`` allows the request.
docs/reference/unused-acls.md has the rules.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Final, NamedTuple

from authorizer.analysis.access.host_regions import HostRegion, host_regions
from authorizer.config import AuthorizerConfig
from authorizer.engine.cache.decision_cache import DecisionContext
from authorizer.engine.decide import ALLOWED, concerns
from authorizer.engine.host_blocks import HostBlocks
from authorizer.engine.index import AclIndex, IndexWriter
from authorizer.kafka_version import KafkaVersion
from authorizer.trace import is_allow
from metalog.acl import (
    CLUSTER_NAME,
    WILDCARD,
    WILDCARD_PRINCIPAL,
    Acl,
    Operation,
    PatternType,
    ResourceType,
)
from metalog.grouping import grouped
from metalog.hosts.host_block import client_address, host_block
from metalog.ids import Uuid
from metalog_spark.findings.usage.usage_classes import lasts
from metalog_spark.findings.windows.pending import with_pending
from metalog_spark.findings.windows.state import config_now, known_from_ms, lifetimes_in
from metalog_spark.findings.windows.window import usage_in
from metalog_spark.store.arrow import Mapped, batch_of, rows_of
from metalog_spark.store.derived_values import kept_until_commit
from metalog_spark.store.tables import CONFIGURATION

if TYPE_CHECKING:
    import pyarrow as pa

    from authorizer.engine.cache.session_cache import SessionAnswers
    from metalog_spark.findings.windows.window import Window
    from metalog_spark.store.table_store import Tables

HARDCODE: Final = "hardcode"
"""Kafka checks WRITE on this name before other topics, and logs this check if it is ALLOWED."""
_ADDED: Final = Uuid(bytes(16))
"""The id of all ACLs that ``add_first`` adds. The index does not need different ids."""
_ORIGINS: Final = "principal STRING, host STRING"


class RequestOrigin(NamedTuple):
    """A client's principal and host. ``User:*`` stands for any principal, and ``*`` for any host,
    that no ACL names."""

    principal: str
    host: str


class ProducerAcls:
    """The ACLs in ``acls`` that matter for InitProducerId."""

    def __init__(self, acls: Iterable[Acl], kafka: KafkaVersion) -> None:
        self._config = AuthorizerConfig(kafka_version=kafka)
        self._by_principal = grouped(filter(starts_producers, acls), lambda acl: acl.principal)
        self._writer = IndexWriter()
        self._writer.load(self)

    def __iter__(self) -> Iterator[Acl]:
        return chain.from_iterable(self._by_principal.values())

    def of(self, client: RequestOrigin) -> list[Acl]:
        """The ACLs for the principal or for User:*, for any host."""
        names = dict.fromkeys((client.principal, WILDCARD_PRINCIPAL))
        return [acl for name in names for acl in self._by_principal.get(name, ())]

    def may_start(self, client: RequestOrigin) -> bool:
        """Whether the ACLs allow InitProducerId."""
        if not any(map(is_allow, self.of(client))):
            return False
        answers = self._answers(client)
        return _is_logged(answers) or answers.is_allowed_on_some(
            Operation.WRITE, ResourceType.TOPIC
        )

    def is_start_logged(self, client: RequestOrigin) -> bool:
        """Whether Kafka would log that these ACLs allow InitProducerId."""
        return any(map(is_allow, self.of(client))) and _is_logged(self._answers(client))

    def add_first(self, client: RequestOrigin, acls: Iterable[Acl]) -> Acl:
        """Add and return the first of ``acls`` with which the client can start a producer.

        Raises:
            ValueError: no ACL in ``acls`` lets the client start a producer.
        """
        for acl in acls:
            self._writer.apply({_ADDED: acl}, {})
            own = self._by_principal.setdefault(acl.principal, [])
            own.append(acl)
            if self.may_start(client):
                return acl
            own.pop()
            self._writer.apply({_ADDED: None}, {_ADDED: acl})
        name = f"{client.principal} at {client.host}"
        raise ValueError(f"none of the ACLs lets {name} start a producer")

    @property
    def has_allows(self) -> bool:
        return any(map(is_allow, self))

    @property
    def principals(self) -> Collection[str]:
        return self._by_principal.keys()

    @property
    def hosts(self) -> Collection[str]:
        return {acl.host for acl in self}

    def _answers(self, client: RequestOrigin) -> SessionAnswers:
        """The answers from a new cache, because ``add_first`` changes the ACLs."""
        context = DecisionContext(self._writer.index, self._config, shut_by="")
        return context.session((client.host, client.principal))


def _is_logged(answers: SessionAnswers) -> bool:
    """Whether one of the checks that Kafka logs allows InitProducerId."""
    on_cluster = answers.on(ResourceType.CLUSTER, CLUSTER_NAME)
    by_name = answers.on(ResourceType.TOPIC, HARDCODE)
    is_on_cluster = on_cluster[Operation.IDEMPOTENT_WRITE] is ALLOWED
    return is_on_cluster or by_name[Operation.WRITE] is ALLOWED


def starts_producers(acl: Acl) -> bool:
    """Whether the ACL matters for InitProducerId."""
    if acl.resource_type is ResourceType.TOPIC:
        return concerns(acl, Operation.WRITE)
    return acl.resource_type is ResourceType.CLUSTER and concerns(acl, Operation.IDEMPOTENT_WRITE)


@kept_until_commit
def unseen_in(tables: Tables, window: Window) -> frozenset[RequestOrigin]:
    """The clients that can have started a producer without an audit line, and can start one today.

    Each client has requests in ``window``, or requests that ``follow`` has not decided or
    counted yet.
    """
    lifetimes = lifetimes_in(tables)
    kafka = config_now(tables).kafka
    today = ProducerAcls(lifetimes.at(None), kafka)
    if not today.has_allows or _is_logged_by_default(tables, lifetimes.acls):
        return frozenset()
    edges = window.start_us // 1000, window.end_us // 1000, known_from_ms(tables)
    lasting_or_deny = (
        acl for acl, own in lifetimes.by_acl.items() if not is_allow(acl) or lasts(own, *edges)
    )
    least_likely_logged = ProducerAcls(lasting_or_deny, kafka)
    return frozenset(
        client
        for client in _origins(tables, window, today)
        if today.may_start(client) and not least_likely_logged.is_start_logged(client)
    )


def _is_logged_by_default(tables: Tables, acls: Iterable[Acl]) -> bool:
    """Whether allow.everyone.if.no.acl.found always allowed WRITE on HARDCODE, a check that
    Kafka logs."""
    return _is_always_open(tables) and not any(
        AclIndex.of(tuple(acls)).buckets_matching(ResourceType.TOPIC, HARDCODE)
    )


@kept_until_commit
def _is_always_open(tables: Tables) -> bool:
    values = {bool(row["allow_everyone"]) for row in tables.read(CONFIGURATION).collect()}
    return values == {True}


def _origins(tables: Tables, window: Window, today: ProducerAcls) -> Iterator[RequestOrigin]:
    """The clients with requests. One client stands for all clients that the same ACLs match."""
    requests = with_pending(usage_in(tables, window), tables).select("principal", "host")
    config = config_now(tables)
    regions = host_regions(sorted(today.hosts), config.kafka)
    merged = _merging(frozenset(today.principals), tuple(regions), config.super_users)
    for principal, host in requests.distinct().mapInArrow(merged, _ORIGINS).distinct().collect():
        yield RequestOrigin(principal, host)


def _merging(
    principals: frozenset[str], regions: Sequence[HostRegion], super_users: frozenset[str]
) -> Mapped:
    """Replace each principal without ACLs by ``User:*``, each host by the ``client`` of its region,
    and each host outside of all regions by ``*``."""
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

    def merging(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            found = {
                (principal if principal in principals else WILDCARD_PRINCIPAL, client_of(host))
                for principal, host in rows_of(batch)
                if principal is not None and principal not in super_users
            }
            yield batch_of(sorted(found), _ORIGINS)

    return merging


def kept_for_producers(
    unseen: Iterable[RequestOrigin],
    today: Iterable[Acl],
    going: Mapping[Acl, int],
    kafka: KafkaVersion = KafkaVersion.V4_3,
) -> frozenset[Acl]:
    """The ACLs in ``going`` that must stay, so that each client in ``unseen`` can start a producer.

    ``going`` has the ACLs to remove, each with the number of requests that the ACL matches. Of
    several sufficient ACLs, the ACL with the most requests stays.

    Raises:
        ValueError: a client in ``unseen`` cannot start a producer with the ACLs in ``today``.
    """
    rest = ProducerAcls((acl for acl in today if acl not in going), kafka)
    candidates = ProducerAcls(going, kafka)
    kept = set()
    for client in sorted(unseen):
        if rest.may_start(client):
            continue
        best_first = sorted(candidates.of(client), key=lambda acl: (-going[acl], acl))
        kept.add(rest.add_first(client, best_first))
    return frozenset(kept)


def narrowest(
    unseen: Iterable[RequestOrigin],
    today: Iterable[Acl],
    least: Iterable[Acl],
    kafka: KafkaVersion = KafkaVersion.V4_3,
) -> frozenset[Acl]:
    """The ACLs to add to ``least``, so that each client in ``unseen`` can start a producer.

    Each result is the narrowest sufficient part of an ALLOW in ``today``. Topics that ``least``
    names for the principal are preferred to other topics.

    Raises:
        ValueError: a client in ``unseen`` cannot start a producer with the ACLs in ``today``, or a
            DENY in ``least`` prevents the start.
    """
    least = list(least)
    before, after = ProducerAcls(today, kafka), ProducerAcls(least, kafka)
    topics: dict[str, set[str]] = {}
    for acl in least:
        if is_allow(acl) and _is_on_one_topic(acl):
            topics.setdefault(acl.principal, set()).add(acl.resource_name)
    chosen = set()
    for client in sorted(unseen):
        if after.may_start(client):
            continue
        names = topics.get(client.principal, set())
        grants = [acl for acl in before.of(client) if is_allow(acl)]
        parts = sorted(part for acl in grants for part in _parts(acl, names))
        chosen.add(after.add_first(client, (acl for _, acl in parts)))
    return frozenset(chosen)


def losing(
    unseen: Iterable[RequestOrigin], proposed: Iterable[Acl], config: AuthorizerConfig
) -> list[str]:
    """The principals of clients in ``unseen`` that cannot start a producer with ``proposed``."""
    then = ProducerAcls(proposed, config.kafka)
    lost = {client.principal for client in unseen if not then.may_start(client)}
    return sorted(lost.difference(config.super_users))


def _is_on_one_topic(acl: Acl) -> bool:
    is_literal = acl.pattern_type is PatternType.LITERAL and acl.resource_name != WILDCARD
    return is_literal and acl.resource_type is ResourceType.TOPIC


def _parts(acl: Acl, names: Collection[str]) -> Iterator[tuple[int, Acl]]:
    """The parts of ``acl`` that let a producer start, with ranks; the lowest rank is best."""
    if acl.resource_type is ResourceType.CLUSTER:
        yield 0, acl._replace(operation=Operation.IDEMPOTENT_WRITE)
        return
    written = acl._replace(operation=Operation.WRITE)
    if _is_on_one_topic(acl):
        yield 1 if acl.resource_name in names else 2, written
        return
    is_on_all = acl.pattern_type is PatternType.LITERAL
    for name in {*names, HARDCODE}:
        if is_on_all or name.startswith(acl.resource_name):
            one = written._replace(resource_name=name, pattern_type=PatternType.LITERAL)
            yield 1 if name in names else 2, one
    yield 3, written
