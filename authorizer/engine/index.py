"""An index of ACLs, which finds the ACLs for a resource without a scan.

One ``IndexWriter`` makes the changes. Readers take an ``AclIndex``, which never changes. The next
``AclIndex`` copies only the changed ACL's bucket (the ACLs of one pattern), and the lists that lead
to this bucket.

This module must not know images or logs, nor cache decisions.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain, product
from operator import itemgetter
from typing import Final

from sortedcontainers import SortedDict

from authorizer.engine.buckets import Bucket, FewAcls, bucket_if_principals_differ, bucket_of
from authorizer.engine.decide import Decision, Subject, concerns, decide, decision_order
from authorizer.engine.grants import NO_NAMES, Grants, grants_changed, grants_of
from authorizer.engine.host_blocks import HostBlocks
from authorizer.engine.patterns import PatternBuckets
from authorizer.engine.prefixes import Prefix, with_shorter
from metalog.acl import (
    ANY_ACL,
    WILDCARD,
    AccessControlEntryFilter,
    Acl,
    AclFilter,
    Operation,
    PatternType,
    ResourceType,
    java_order,
)
from metalog.ids import Uuid

Buckets = SortedDict[str, Bucket]
LITERAL: Final = PatternType.LITERAL
PATTERN_TYPES: Final = (LITERAL, PatternType.PREFIXED)


class AclIndex:
    """An immutable view of all ACLs, for any number of threads.

    ``literals`` and ``prefixed`` have the patterns by resource type. As in Kafka, a pattern of any
    type other than LITERAL matches as a prefix.
    """

    __slots__ = ("_grants", "_listing", "_wants_grants", "blocks", "literals", "prefixed")

    def __init__(
        self,
        literals: list[PatternBuckets],
        prefixed: list[PatternBuckets],
        blocks: HostBlocks,
        grants: Grants | None = None,
    ) -> None:
        self.blocks = blocks
        self.literals = literals
        self.prefixed = prefixed
        self._grants = grants
        self._wants_grants = grants is not None
        self._listing: tuple[Acl, ...] | None = None

    @staticmethod
    def of(acls: Iterable[Acl]) -> AclIndex:
        writer = IndexWriter()
        writer.load(acls)
        return writer.index

    def __iter__(self) -> Iterator[Acl]:
        for patterns in (*self.literals, *self.prefixed):
            for bucket in patterns.buckets.values():
                yield from bucket.acls()

    def buckets_matching(self, resource_type: ResourceType, name: str) -> list[Bucket]:
        """The buckets for a resource: the literal, prefixes from long to short, the wildcard.

        As in Kafka, the wildcard does not match longer names that begin with ``*``.
        """
        literals, prefixed = self.literals[resource_type], self.prefixed[resource_type]
        literal, prefix = literals.find(name), prefixed.longest_prefix(name)
        return self.buckets_of(resource_type, name, literal, prefix)

    def buckets_of(
        self, resource_type: ResourceType, name: str, literal: Bucket | None, prefix: Prefix | None
    ) -> list[Bucket]:
        """As ``buckets_matching``, for a caller that has the literal and the longest prefix."""
        found, find = [] if literal is None else [literal], self.prefixed[resource_type].find
        while prefix is not None:
            bucket = find(prefix.name)
            assert bucket is not None
            found.append(bucket)
            prefix = prefix.shorter
        wildcard = self.literals[resource_type].wildcard
        if wildcard is not None and not name.startswith(WILDCARD):
            found.append(wildcard)
        return found

    def candidates(self, resource_type: ResourceType, name: str) -> list[Acl]:
        """The ACLs whose patterns match a resource, in Kafka's order."""
        buckets = self.buckets_matching(resource_type, name)
        found = [acl for bucket in buckets for acl in bucket.acls()]
        return sorted(found, key=lambda acl: decision_order(acl, name))

    def with_blocks(self, who: Subject) -> Subject:
        """``who`` with additional hosts: the texts of all blocks that contain the address."""
        if who.address is None:
            return who
        blocks = self.blocks.containing(who.address)
        return Subject(who.principals, frozenset((*who.hosts, *blocks)) if blocks else who.hosts)

    def decide(
        self,
        who: Subject,
        operation: Operation,
        resource_type: ResourceType,
        name: str,
        *,
        allow_everyone: bool = False,
    ) -> Decision:
        buckets = self.buckets_matching(resource_type, name)
        who = self.with_blocks(who)
        found = acls_of_subject(buckets, who, name)
        return decide(found, who, operation, allow_everyone=allow_everyone and not buckets)

    def matching(
        self, who: Subject, operation: Operation, resource_type: ResourceType, name: str
    ) -> list[Acl]:
        """All ACLs that match a question, in Kafka's order."""
        found = acls_of_subject(
            self.buckets_matching(resource_type, name), self.with_blocks(who), name
        )
        return [acl for acl in found if concerns(acl, operation)]

    def allowing(
        self, who: Subject, operation: Operation, resource_type: ResourceType
    ) -> Iterator[tuple[PatternType, str]]:
        """The patterns of the ALLOWs of ``operation`` or ALL that match ``who``."""
        grants = self._all_grants()
        operations = (Operation.ALL, operation)
        who = self.with_blocks(who)
        for grant in product(PATTERN_TYPES, who.principals, who.hosts, operations):
            for name in grants.get((resource_type, *grant), NO_NAMES):
                yield grant[0], name

    def acls(self, acl_filter: AclFilter = ANY_ACL) -> tuple[Acl, ...]:
        """The ACLs that ``acl_filter`` matches, in the order of Kafka's listing."""
        if acl_filter != ANY_ACL:
            found = self._in_listed_buckets(acl_filter)
            return tuple([acl for acl in found if acl_filter.matches(acl)])
        if self._listing is None:
            self._listing = tuple(self._in_listed_buckets(ANY_ACL))
        return self._listing

    def buckets_listed(self, acl_filter: AclFilter) -> Iterator[Bucket]:
        """The buckets in which ``acl_filter`` can match an ACL, in the order of Kafka's listing."""
        requested = acl_filter.pattern.resource_type
        for resource_type in ResourceType if requested is ResourceType.ANY else (requested,):
            yield from self._listed(resource_type, acl_filter)

    def _in_listed_buckets(self, acl_filter: AclFilter) -> list[Acl]:
        buckets = self.buckets_listed(acl_filter)
        return list(chain.from_iterable(bucket.in_order() for bucket in buckets))

    def _listed(self, resource_type: ResourceType, acl_filter: AclFilter) -> list[Bucket]:
        """The buckets of one resource type. For equal names, LITERAL comes first."""
        _, name, pattern_type = acl_filter.pattern
        literals, prefixed = self.literals[resource_type], self.prefixed[resource_type]
        if name is None:
            return _all_buckets(literals, prefixed, acl_filter.entry)
        literal_names, prefixes = {name}, {name}
        if pattern_type is PatternType.MATCH:
            literal_names.add(WILDCARD)
            prefixes = {each.name for each in with_shorter(prefixed.longest_prefix(name))}
        kinds = (literals.buckets, literal_names), (prefixed.buckets, prefixes)
        return _in_reverse(
            [(each, kind[each]) for kind, names in kinds for each in names if each in kind]
        )

    def changed(
        self, acl: Acl, before: Bucket | None, after: Bucket | None, *, is_added: bool
    ) -> AclIndex:
        """A copy with ``acl`` added or removed.

        ``before`` and ``after`` are the buckets of the ACL's pattern; None stands for no bucket.
        """
        code, blocks, grants = acl.resource_type, self.blocks, None
        literals, prefixed = self.literals, self.prefixed
        if acl.pattern_type is LITERAL:
            literals = literals.copy()
            literals[code] = literals[code].with_bucket(acl.resource_name, before, after)
        else:
            prefixed = prefixed.copy()
            prefixed[code] = prefixed[code].with_bucket(acl.resource_name, before, after)
        if self._wants_grants or "/" in acl.host:
            blocks = blocks.changed(acl.host, is_added=is_added)
            if self._wants_grants:
                grants = grants_changed(self._all_grants(), acl, is_added)
        return AclIndex(literals, prefixed, blocks, grants)

    def _all_grants(self) -> Grants:
        """All grants. After the first call, ``changed`` updates the grants."""
        self._wants_grants = True
        if self._grants is None:
            self._grants = grants_of(self)
        return self._grants

    def _check(self) -> None:
        for kinds in (self.literals, self.prefixed):
            for resource_type, patterns in zip(ResourceType, kinds, strict=True):
                patterns.names._check()
                _check(patterns.wildcard is patterns.buckets.get(WILDCARD))
                _check(list(patterns.names) == sorted(patterns.buckets))
                for name, bucket in patterns.buckets.items():
                    bucket._check()
                    if kinds is self.prefixed:
                        _check_the_only_acl(patterns, name)
                    for acl in bucket.acls():
                        _check(acl.resource_type is resource_type and acl.resource_name == name)
                        _check((acl.pattern_type is LITERAL) == (kinds is self.literals))
        if self._grants is not None:
            _check(self._grants == grants_of(self))
        expected = HostBlocks.of([acl.host for acl in self])
        _check(self.blocks.counted() == expected.counted())


def acls_of_subject(buckets: Iterable[Bucket], who: Subject, name: str) -> list[Acl]:
    """The ACLs that match ``who`` in the ``buckets`` of the resource ``name``, in Kafka's order."""
    found = [acl for bucket in buckets for acl in bucket.of(who) if who.matches(acl)]
    if len(found) > 1:
        found.sort(key=lambda acl: decision_order(acl, name))
    return found


def _all_buckets(
    literals: PatternBuckets, prefixed: PatternBuckets, entry: AccessControlEntryFilter
) -> list[Bucket]:
    """The buckets that can have an ACL that ``entry`` matches."""
    items: list[tuple[str, Bucket]] = []
    for kind in (literals, prefixed):
        buckets = dict(kind.buckets.items())
        names: Iterable[str] = kind.names
        if entry.principal is not None or entry.host is not None:
            names = _names_with(buckets.values(), entry)
        items += [(name, buckets[name]) for name in names]
    return _in_reverse(items)


def _names_with(buckets: Iterable[Bucket], entry: AccessControlEntryFilter) -> set[str]:
    principal, host = entry.principal, entry.host
    if principal is None:
        return {
            acl.resource_name for bucket in buckets for acl in bucket.acls() if acl.host == host
        }
    return {
        acl.resource_name
        for bucket in buckets
        for acl in bucket.acls()
        if acl.principal == principal
    }


def _in_reverse(items: list[tuple[str, Bucket]]) -> list[Bucket]:
    """The buckets in Java's descending order of names. Equal names keep their order."""
    if "".join([name for name, _ in items]).isascii():
        items.sort(key=itemgetter(0), reverse=True)
    else:
        items.sort(key=lambda item: java_order(item[0]), reverse=True)
    return [bucket for _, bucket in items]


def _check_the_only_acl(patterns: PatternBuckets, name: str) -> None:
    prefix = patterns.longest_prefix(name)
    if prefix is not None and (only := patterns.only_acl(prefix)) is not None:
        _check(prefix.shorter is None and [*patterns.buckets[prefix.name].acls()] == [only])


def _check(holds: bool) -> None:
    if not holds:
        raise AssertionError("an invariant of the index is broken")


class IndexWriter:
    """The only writer of an index; readers take ``index``, which ``load`` and ``apply`` replace."""

    __slots__ = ("_extra_ids", "_literals", "_prefixed", "index")

    def __init__(self) -> None:
        self.load(())

    def load(self, acls: Iterable[Acl]) -> None:
        """Replace all ACLs. ``acls`` has an ACL once for each of its ids."""
        self._extra_ids: dict[Acl, int] = {}
        literals: list[dict[str, list[Acl]]] = [{} for _ in ResourceType]
        prefixed: list[dict[str, list[Acl]]] = [{} for _ in ResourceType]
        slashed: set[Acl] = set()
        for acl in acls:
            resource_type, name, pattern_type, _, host, _, _ = acl
            if "/" in host:
                slashed.add(acl)
            groups = (literals if pattern_type is LITERAL else prefixed)[resource_type]
            group = groups.get(name)
            if group is None:
                groups[name] = [acl]
            else:
                group.append(acl)
        literal_buckets = [self._ordered(groups) for groups in literals]
        prefixed_buckets = [self._ordered(groups) for groups in prefixed]
        self._literals = [_sorted(buckets) for buckets in literal_buckets]
        self._prefixed = [_sorted(buckets) for buckets in prefixed_buckets]
        self.index = AclIndex(
            [PatternBuckets.of(buckets) for buckets in literal_buckets],
            [PatternBuckets.of_prefixes(buckets) for buckets in prefixed_buckets],
            HostBlocks.of([acl.host for acl in slashed]),
        )

    def apply(self, changes: Mapping[Uuid, Acl | None], before: Mapping[Uuid, Acl]) -> list[Acl]:
        """Apply ``changes`` to the ACLs ``before``, both by id. The value None removes an id.

        Returns the ACLs that lost or got an id.
        """
        index, touched = self.index, []
        for uuid, acl in changes.items():
            old = before.get(uuid)
            if old is not None:
                index = self._without(index, old)
                touched.append(old)
            if acl is not None:
                index = self._with(index, acl)
                touched.append(acl)
        self.index = index
        return touched

    def _ordered(self, groups: dict[str, list[Acl]]) -> dict[str, Bucket]:
        """The buckets of ``groups`` in order of names. Also counts each ACL's additional ids."""
        buckets: dict[str, Bucket] = {}
        for name in sorted(groups):
            group = groups[name]
            bucket = bucket_if_principals_differ(group)
            if bucket is None:
                if len(group) > 1 and len(set(group)) < len(group):
                    counts = Counter(group)
                    self._extra_ids.update({acl: ids - 1 for acl, ids in counts.items() if ids > 1})
                    group = list(counts)
                bucket = bucket_of(group)
            buckets[name] = bucket
        return buckets

    def _with(self, index: AclIndex, acl: Acl) -> AclIndex:
        buckets = self._buckets_of(acl)
        before = buckets.get(acl.resource_name)
        if before is not None and before.has(acl):
            self._extra_ids[acl] = self._extra_ids.get(acl, 0) + 1
            return index
        after = FewAcls((acl,)) if before is None else before.adding(acl)
        buckets[acl.resource_name] = after
        return index.changed(acl, before, after, is_added=True)

    def _without(self, index: AclIndex, acl: Acl) -> AclIndex:
        extra = self._extra_ids.pop(acl, 0) if self._extra_ids else 0
        if extra:
            if extra > 1:
                self._extra_ids[acl] = extra - 1
            return index
        buckets = self._buckets_of(acl)
        before = buckets[acl.resource_name]
        after = before.removing(acl)
        if after is None:
            del buckets[acl.resource_name]
        else:
            buckets[acl.resource_name] = after
        return index.changed(acl, before, after, is_added=False)

    def _buckets_of(self, acl: Acl) -> Buckets:
        kinds = self._literals if acl.pattern_type is LITERAL else self._prefixed
        buckets = kinds[acl.resource_type]
        if buckets is None:
            buckets = kinds[acl.resource_type] = SortedDict()
        return buckets


def _sorted(buckets: dict[str, Bucket]) -> Buckets | None:
    """None for no buckets: creating a SortedDict takes as long as a decision."""
    return SortedDict(buckets) if buckets else None
