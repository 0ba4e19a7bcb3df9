"""Precomputes one question's decision for every version of the ACL history.

A version is the state between two changes of ACLs. Only the few ACLs whose patterns match the
resource can change a decision. A timeline contains neither the default rule nor super users:
``DecisionTimelines.decision`` applies them from a configuration.

This module must not know where a history comes from.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Container, Iterable
from itertools import accumulate, chain
from typing import Final, NamedTuple

from authorizer.config import AuthorizerConfig
from authorizer.engine.buckets import SOME_LIMIT, Bucket
from authorizer.engine.decide import (
    ALLOW,
    ALLOWED,
    ALLOWED_BY_DEFAULT,
    ALLOWED_TO_SUPER_USER,
    DENIED,
    DENIED_BY_DEFAULT,
    MATCHING_ACL,
    Decision,
    Subject,
    concerns,
)
from authorizer.engine.index import AclIndex, acls_of_subject
from authorizer.engine.prefixes import Prefix
from authorizer.history.timeline import Timeline
from authorizer.kafka_version import KafkaVersion
from authorizer.trace import Question
from metalog.acl import WILDCARD, WILDCARD_PRINCIPAL, Acl, Operation, ResourceType
from metalog.hosts.host_block import HostBlock, client_address

NO_PATTERN: Final = -1
"""No ACL's pattern matches the resource: the default rule decides."""
UNMATCHED: Final = -2
"""Patterns of ACLs match the resource, but no ACL matches the request: denied."""
MOST_CACHED: Final = 1 << 17
"""The maximum number of cached results of ``acls_of_subject``."""

_Patterns = tuple[ResourceType, str | None, Prefix | None, bool]
"""The patterns that match a name: resource type, literal pattern and longest prefix. The last field
is True if the name begins with ``*``: in Kafka, LITERAL ``*`` does not match such a name."""
_Span = tuple[int, int, int]
"""A lifetime: first version, first version after it, and place in ``Timeline.lifetimes``."""


class DecisionTimeline(NamedTuple):
    """One question's decision at every version.

    From version ``since[i]`` to before ``since[i + 1]``, the same ACLs match the question. The ACL
    of ``Timeline.lifetimes[by[i]]`` decides. If no ACL matches, ``by[i]`` is NO_PATTERN or
    UNMATCHED. ``since[0]`` is 0.
    """

    since: tuple[int, ...]
    by: tuple[int, ...]

    def at(self, version: int) -> int:
        return self.by[bisect_right(self.since, version) - 1]


ALWAYS_UNMATCHED: Final = DecisionTimeline((0,), (UNMATCHED,))


class _NameGroup(NamedTuple):
    """A group of names that the same patterns match. ``name`` is any name of the group."""

    name: str
    buckets: list[Bucket]
    unmatched: DecisionTimeline
    """The timeline of a question that no ACL matches."""


class DecisionTimelines:
    """The decision timelines of all questions about one history."""

    def __init__(self, timeline: Timeline) -> None:
        self.timeline = timeline
        spans: dict[Acl, list[_Span]] = {}
        for number, lifetime in enumerate(timeline.lifetimes):
            begin, end = timeline.span(lifetime)
            if begin < end:
                spans.setdefault(lifetime.acl, []).append((begin, end, number))
        self._in_force = {acl: _in_force(found, len(timeline)) for acl, found in spans.items()}
        self._index = AclIndex.of(self._in_force)
        self.principals = _numbers((acl.principal for acl in self._in_force), WILDCARD_PRINCIPAL)
        self.hosts = _numbers((acl.host for acl in self._in_force), WILDCARD)
        self._principals = list(self.principals)
        self._hosts = [frozenset((WILDCARD, host)) for host in self.hosts]
        self._in_blocks: dict[HostBlock | str, int] = {}
        self._number_blocks()
        self._name_groups: list[_NameGroup] = []
        self._group_numbers: dict[_Patterns, int] = {}
        self._relevant: dict[tuple[int, int, int], list[Acl]] = {}

    def _number_blocks(self) -> None:
        """Number each CIDR block, and each address of an ACL that is in a block.

        A block's number stands for its addresses that have no number and are in no narrower block.
        """
        blocks = self._index.blocks
        matching: dict[HostBlock | str, list[str]] = {each: blocks.around(each) for each in blocks}
        for host in self.hosts:
            address = client_address(host)
            if address is not None and (containing := blocks.containing(address)):
                matching[host] = [host, *containing]
        for key, texts in matching.items():
            self._in_blocks[key] = len(self._hosts)
            self._hosts.append(frozenset((WILDCARD, *texts)))

    @property
    def host_count(self) -> int:
        """How many different numbers ``host`` can return."""
        return len(self._hosts)

    def host(self, host: str, kafka: KafkaVersion) -> int:
        """The number of ``host``. In version ``kafka``, the same ACLs match all hosts with this
        number."""
        if kafka.matches_blocks and self._in_blocks:
            address = client_address(host)
            block = None if address is None else self._index.blocks.narrowest(address)
            if block is not None:
                return self._in_blocks[host if host in self.hosts else block]
        return self.hosts.get(host, 0)

    def name_group(self, resource_type: ResourceType, name: str) -> int:
        """The number of the name's group. The same patterns match all names of a group."""
        is_literal = name in self._index.literals[resource_type].buckets
        prefix = self._index.prefixed[resource_type].longest_prefix(name)
        starred = name.startswith(WILDCARD)
        patterns = resource_type, name if is_literal else None, prefix, starred
        number = self._group_numbers.get(patterns)
        if number is None:
            number = self._group_numbers[patterns] = len(self._name_groups)
            buckets = list(self._index.buckets_matching(resource_type, name))
            self._name_groups.append(_NameGroup(name, buckets, self._unmatched(buckets)))
        return number

    def named_principals(self, name_group: int) -> set[int] | None:
        """The numbers of all principals in the ACLs for a group of names.

        None if an ACL names ``User:*``, or if there are too many principals or ACLs.
        """
        numbers: set[int] = set()
        for bucket in self._name_groups[name_group].buckets:
            if bucket.size > SOME_LIMIT:
                return None
            numbers.update(self.principals[acl.principal] for acl in bucket.acls())
        return None if 0 in numbers or len(numbers) > SOME_LIMIT else numbers

    def timeline_by_numbers(
        self, principal: int, host: int, operation: Operation, name_group: int
    ) -> DecisionTimeline:
        """``principal`` is a number from the dict ``principals``, or 0 for another principal. The
        methods ``host`` and ``name_group`` return the other numbers."""
        group = self._name_groups[name_group]
        key = principal, host, name_group
        found = self._relevant.get(key)
        if found is None:
            if len(self._relevant) >= MOST_CACHED:
                self._relevant.clear()
            principals = frozenset((WILDCARD_PRINCIPAL, self._principals[principal]))
            who = Subject(principals, self._hosts[host])
            found = self._relevant[key] = acls_of_subject(group.buckets, who, group.name)
        return self._decided(found, operation, group)

    def timeline_of(self, question: Question, kafka: KafkaVersion) -> DecisionTimeline:
        group = self._name_groups[self.name_group(question.resource_type, question.resource_name)]
        who = self._index.with_blocks(question.subject(kafka))
        found = acls_of_subject(group.buckets, who, group.name)
        return self._decided(found, question.operation, group)

    def decision(self, question: Question, version: int, config: AuthorizerConfig) -> Decision:
        """The decision with its rule, at one version of the history."""
        if question.principal in config.super_users:
            return ALLOWED_TO_SUPER_USER
        by = self.timeline_of(question, config.kafka).at(version)
        if by >= 0:
            acl = self.timeline.lifetimes[by].acl
            return Decision(ALLOWED if acl.permission_type is ALLOW else DENIED, MATCHING_ACL, acl)
        is_default = by == NO_PATTERN and config.allow_everyone
        return ALLOWED_BY_DEFAULT if is_default else DENIED_BY_DEFAULT

    def _decided(
        self, found: list[Acl], operation: Operation, group: _NameGroup
    ) -> DecisionTimeline:
        """The timeline for ``found``, a session's ACLs in Kafka's order.

        The first matching DENY decides, else the last matching ALLOW.
        """
        unmatched = group.unmatched
        matching = [acl for acl in found if concerns(acl, operation)]
        if not matching:
            return unmatched
        denies = [acl for acl in matching if acl.permission_type is not ALLOW]
        allows = [acl for acl in reversed(matching) if acl.permission_type is ALLOW]
        ranked = [self._in_force[acl] for acl in (*denies, *allows)]
        own = {version for each in ranked for version in each.since}
        if len(own) == 1:
            return ranked[0]
        since = sorted(own.union(unmatched.since))
        by = [_first(ranked, version, unmatched) for version in since]
        return _without_repeats(since, by, own)

    def _unmatched(self, buckets: list[Bucket]) -> DecisionTimeline:
        """The timeline if no ACL matches: UNMATCHED while a bucket has ACLs, else NO_PATTERN."""
        steps = Counter[int]()
        for acl in chain.from_iterable(bucket.acls() for bucket in buckets):
            in_force = self._in_force[acl]
            if len(in_force.by) == 1:
                return ALWAYS_UNMATCHED
            was_there = False
            for version, by in zip(*in_force, strict=True):
                steps[version] += (by >= 0) - was_there
                was_there = by >= 0
        since = sorted({0, *steps})
        reaching = accumulate(steps[version] for version in since)
        return _without_repeats(since, [UNMATCHED if alive else NO_PATTERN for alive in reaching])


def _in_force(spans: list[_Span], versions: int) -> DecisionTimeline:
    """At each version, the oldest lifetime in force, or NO_PATTERN. ``spans`` are of ACLs that only
    differ in the id."""
    begun: dict[int, list[int]] = {0: []}
    ended: dict[int, list[int]] = {}
    for begin, end, number in spans:
        begun.setdefault(begin, []).append(number)
        ended.setdefault(end, []).append(number)
    since = sorted((begun.keys() | ended.keys()) - {versions})
    alive: dict[int, None] = {}
    by = []
    for version in since:
        for number in ended.get(version, ()):
            del alive[number]
        alive.update(dict.fromkeys(begun.get(version, ())))
        by.append(next(iter(alive), NO_PATTERN))
    return _without_repeats(since, by)


def _without_repeats(
    since: list[int], by: list[int], kept: Container[int] = ()
) -> DecisionTimeline:
    """The timeline with only version 0, the versions that change the decision, and ``kept``."""
    places = [0, *(i for i in range(1, len(by)) if by[i] != by[i - 1] or since[i] in kept)]
    return DecisionTimeline(tuple([since[i] for i in places]), tuple([by[i] for i in places]))


def _first(ranked: list[DecisionTimeline], version: int, unmatched: DecisionTimeline) -> int:
    for each in ranked:
        by = each.at(version)
        if by >= 0:
            return by
    return unmatched.at(version)


def _numbers(texts: Iterable[str], wildcard: str) -> dict[str, int]:
    """The number of each text in ``texts``. 0 stands for the wildcard and for all other texts."""
    return {text: number for number, text in enumerate((wildcard, *sorted({*texts} - {wildcard})))}
