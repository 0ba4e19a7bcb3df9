"""Enumerates the cells into which ACLs divide requests, session by session.

A cell has the requests of a class of principals, from a class of client addresses, for a class of
resource names and one operation. All requests of a cell have the same decision.

A session has the cells of one class of principals and one class of clients. The principals that no
ACL names are one class. The clients that no ACL names are one class, too. A session lists only
cells that can differ from the cells of its broader sessions:

- for a named principal: the session of the unnamed principals,
- for a host or CIDR block: the session of the next wider block, or else of the unnamed clients.

This module must not know the decisions.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Final, NamedTuple

from authorizer.analysis.cells.clients import ANY_HOST, ClientClass, ClientClasses, HostSet
from authorizer.analysis.cells.names import (
    ALL_NAMES,
    NameClass,
    NamePattern,
    Patterns,
    classes,
    touched,
)
from authorizer.config import AuthorizerConfig
from authorizer.engine.decide import ALLOWS, DENIES
from authorizer.trace import Question, is_allow
from metalog.acl import (
    SUPPORTED_OPERATIONS,
    WILDCARD,
    WILDCARD_PRINCIPAL,
    Acl,
    Operation,
    ResourceType,
)

_ByHost = Mapping[str, Patterns]
_SOMEBODY: Final = "User:somebody"
_NO_PATTERNS: Final[_ByHost] = {}


class PrincipalSet(NamedTuple):
    """The principals ``names``; if ``is_excluded``, all other principals."""

    names: frozenset[str] = frozenset()
    is_excluded: bool = True

    def holds(self, principal: str) -> bool:
        return (principal in self.names) is not self.is_excluded


ANYBODY: Final = PrincipalSet()


class Requests(NamedTuple):
    """Requests for ``operations`` (as bits) on resources in ``names`` but not in ``excluded``."""

    principals: PrincipalSet
    hosts: HostSet
    operations: int
    kind: ResourceType
    names: NamePattern
    excluded: tuple[NamePattern, ...] = ()

    def holds_session(self, session: Session) -> bool:
        """Whether some of the requests belong to ``session``."""
        return self.principals.holds(session.principal) and self.hosts.holds(
            session.clients.matching
        )

    def near(self, acls: Iterable[Acl]) -> list[Acl]:
        """The ACLs in ``acls`` that can match one of the resources."""
        kind, names = self.kind, self.names
        return [acl for acl in acls if acl.resource_type is kind and names.meets(acl)]


class SessionAround(NamedTuple):
    """The client address and principal of a broader session.

    The broader session does not count if its access changes like that of the session ``unless``.
    """

    identity: tuple[str, str]
    unless: tuple[str, str] | None = None


class Session(NamedTuple):
    """The cells of one class of principals and clients on one type of resource.

    If not ``is_named``, ``principal`` represents all principals that no ACL names. The patterns in
    ``dividing`` divide the names into classes. ``names`` has only classes on which the session can
    differ from every session in ``around``.
    """

    principal: str
    is_named: bool
    clients: ClientClass
    kind: ResourceType
    names: Collection[NameClass]
    dividing: Sequence[Patterns]
    around: tuple[SessionAround, ...] = ()

    def question(self, operations: int, name: str) -> Question:
        """A request of this session on ``name``, for the first of ``operations`` (bits)."""
        operation = next(each for each in Operation if operations >> each & 1)
        return Question(self.principal, operation, self.kind, name, self.clients.client)


def operations_mask(operations: Iterable[Operation]) -> int:
    return sum(1 << operation for operation in set(operations))


def checked_operations(kind: ResourceType) -> int:
    """The operations that Kafka checks on such a resource, as bits."""
    return operations_mask(SUPPORTED_OPERATIONS.get(kind, ()))


class Sessions:
    """Divides ``requests`` into sessions and cells.

    To compare sets of ACLs, pass their union: each set decides all requests of a cell alike. With
    ``differing``, the sessions have only cells that an ACL in ``differing`` can change. Then each
    compared set must contain all other ``acls``, unless ``any_subset``. No cell is partly inside
    one of ``separate``.
    """

    def __init__(
        self,
        acls: Collection[Acl],
        config: AuthorizerConfig,
        requests: Requests,
        differing: Collection[Acl] | None = None,
        separate: Iterable[Requests] = (),
        *,
        any_subset: bool = False,
    ) -> None:
        self._config = config
        self._requests = requests
        self._any_subset = any_subset
        separate = [each for each in separate if each.kind is requests.kind]
        self._separate_principals = frozenset(
            name for each in separate for name in each.principals.names
        )
        near = requests.near(acls)
        self._by_who = _by_who(near, requests.operations)
        self._everyones = self._by_who.get(WILDCARD_PRINCIPAL, _NO_PATTERNS)
        self._everyones_hosts = _HostsOfNames(self._everyones)
        changed = None if differing is None else requests.near(differing)
        self._differing = None if changed is None else _by_who(changed, requests.operations)
        patterns = [*requests.excluded]
        for each in separate:
            patterns += [each.names, *each.excluded]
        self._dividing = [Patterns(patterns)] if patterns else []
        self._default_rule: list[Patterns] = []
        self._default_rule_differing: list[Patterns] = []
        if config.allow_everyone:
            self._default_rule = [Patterns.of(near)]
            self._default_rule_differing = [Patterns.of(changed or ())]
        hosts = {host for by_host in self._by_who.values() for host in by_host}
        separate_hosts = frozenset(host for each in separate for host in each.hosts.hosts)
        self._clients = ClientClasses(hosts, requests.hosts, config.kafka, separate_hosts)

    def __iter__(self) -> Iterator[Session]:
        """The sessions of the unnamed principals, then those of the named principals in order."""
        has_others = self._requests.principals.is_excluded
        if has_others:
            yield from self._of(self._somebody, is_named=False, only_own=False)
        for principal in self._named():
            if principal not in self._config.super_users:
                only_own = has_others and principal not in self._separate_principals
                yield from self._of(principal, is_named=True, only_own=only_own)
            elif self._differing is None:
                for clients in self._clients.by(())[:1]:
                    kind, names = self._requests.kind, self._touched((), self._dividing)
                    yield Session(principal, True, clients, kind, names, self._dividing)

    def least_cells(self) -> int:
        """A lower bound of the number of cells, found without listing the cells.

        A principal has a cell for each name in an ACL of ``User:*`` that begins with a prefix in an
        ACL of the principal.
        """
        within, differing = self._requests.names, self._differing
        dividing = self._everyones.get(WILDCARD)
        changing = None if differing is None else differing.get(WILDCARD_PRINCIPAL, _NO_PATTERNS)
        changes_all = changing is None or (WILDCARD in changing and changing[WILDCARD].reaches_all)
        is_countable = changes_all and not within.is_literal and not self._requests.excluded
        if dividing is None or not is_countable or self._requests.hosts != ANY_HOST:
            return 0
        names = sorted(dividing.literals | dividing.prefixes)
        cells = 0
        for principal in self._named():
            own = self._by_who.get(principal, _NO_PATTERNS).get(WILDCARD)
            if own is not None and principal not in self._config.super_users:
                prefixes = {*own.prefixes, ""} if own.reaches_all else own.prefixes
                cells += max(
                    (_count_beginning(names, prefix, within.name) for prefix in prefixes), default=0
                )
        return cells * self._requests.operations.bit_count()

    def without_names(self) -> Iterator[Session]:
        """Sessions without cells, of all principals in the requests except super users."""
        kind = self._requests.kind
        others = [self._somebody] if self._requests.principals.is_excluded else []
        for principal in (*others, *self._named()):
            if principal not in self._config.super_users:
                own = self._by_who.get(principal, _NO_PATTERNS)
                for clients in self._clients.by({*own, *self._everyones}):
                    is_named = principal != self._somebody
                    yield Session(principal, is_named, clients, kind, (), ())

    def _named(self) -> list[str]:
        principals = self._requests.principals
        if not principals.is_excluded:
            return sorted(principals.names)
        named = self._by_who.keys() - {WILDCARD_PRINCIPAL} | self._config.super_users
        named |= self._separate_principals
        return sorted(filter(principals.holds, named))

    @cached_property
    def _somebody(self) -> str:
        named = {*self._by_who, *self._config.super_users, *self._requests.principals.names}
        named |= self._separate_principals
        name = _SOMEBODY
        while name in named:
            name += "-else"
        return name

    def _of(self, principal: str, *, is_named: bool, only_own: bool) -> Iterator[Session]:
        """The sessions of one principal; with ``only_own``, only cells that its own ACLs match."""
        own = self._by_who.get(principal, _NO_PATTERNS)
        if only_own and not own:
            return
        everyones = self._everyones
        everyones_hosts = self._everyones_hosts.meeting(own.values()) if only_own else everyones
        for clients in self._clients.by({*own, *everyones_hosts}):
            hosts = {WILDCARD, *clients.matching}
            mine = _of_hosts(own, hosts)
            matching = [*mine, *_of_hosts(everyones, hosts)]
            conditions = [mine] if only_own else []
            if clients.own_hosts is not None:
                own_hosts = clients.own_hosts
                conditions.append(_of_hosts(own, own_hosts) + _of_hosts(everyones, own_hosts))
            if self._differing is not None:
                can_be_only = not conditions or self._any_subset
                conditions.append(
                    self._differing_patterns(principal, hosts, can_be_only=can_be_only)
                )
            dividing = [*matching, *self._default_rule, *self._dividing]
            names = self._touched(conditions, dividing)
            if names:
                yield Session(
                    principal,
                    is_named,
                    clients,
                    self._requests.kind,
                    names,
                    dividing,
                    tuple(self._around(clients, principal)),
                )

    def _around(self, clients: ClientClass, principal: str) -> Iterator[SessionAround]:
        is_beside_others = self._requests.principals.is_excluded and principal != self._somebody
        if is_beside_others:
            yield SessionAround((clients.client, self._somebody))
        if clients.around is not None:
            is_outermost = len(clients.matching) == len(clients.own_hosts or ())
            unless = (clients.around, self._somebody) if is_beside_others and is_outermost else None
            yield SessionAround((clients.around, principal), unless)

    def _differing_patterns(
        self, principal: str, hosts: set[str], *, can_be_only: bool
    ) -> list[Patterns]:
        """The patterns of ACLs that can change a decision of the session.

        ``can_be_only``: an ACL of any principal can be the only ACL on a name. There the ACL turns
        ``allow.everyone.if.no.acl.found`` off.
        """
        assert self._differing is not None
        found = [
            patterns
            for who in (principal, WILDCARD_PRINCIPAL)
            for patterns in _of_hosts(self._differing.get(who, _NO_PATTERNS), hosts)
        ]
        return found + self._default_rule_differing if can_be_only else found

    def _touched(
        self, conditions: Sequence[Sequence[Patterns]], dividing: Sequence[Patterns]
    ) -> Collection[NameClass]:
        """The requested classes of names that match at least one pattern of every condition."""
        within = self._requests.names
        if not all(conditions):
            return ()
        if conditions:
            first, *others = sorted(conditions, key=_size)
            found = touched(first, dividing, within)
        else:
            others, found = [], classes(dividing, within)
        for condition in others:
            found = {names for names in found if any(each.reaches(names) for each in condition)}
        for excluded in self._requests.excluded:
            found = {names for names in found if not excluded.holds_all(names)}
        return found


def _by_who(acls: Iterable[Acl], operations: int) -> dict[str, dict[str, Patterns]]:
    grouped: dict[str, dict[str, list[Acl]]] = {}
    for acl in acls:
        masks = ALLOWS if is_allow(acl) else DENIES
        if masks[acl.operation] & operations:
            by_host = grouped.setdefault(acl.principal, {})
            by_host.setdefault(acl.host, []).append(acl)
    return {
        principal: {host: Patterns.of(found) for host, found in by_host.items()}
        for principal, by_host in grouped.items()
    }


class _HostsOfNames:
    def __init__(self, by_host: _ByHost) -> None:
        self._by_pattern: dict[NamePattern, list[str]] = {}
        for host, patterns in by_host.items():
            for names in patterns.beginning_with("") if host != WILDCARD else ():
                self._by_pattern.setdefault(NamePattern(*names), []).append(host)
        self._patterns = Patterns(self._by_pattern)

    def meeting(self, others: Collection[Patterns]) -> set[str]:
        """The hosts of the ACLs that match a name that one of ``others`` matches."""
        if not self._by_pattern:
            return set()
        return {
            host
            for names in touched(others, [*others, self._patterns], ALL_NAMES)
            for pattern in self._patterns.reaching(names)
            for host in self._by_pattern[pattern]
        }


def _count_beginning(names: Sequence[str], *prefixes: str) -> int:
    """The number of the sorted ``names`` that begin with all of ``prefixes`` and not with ``*``."""
    prefix = max(prefixes)
    if not all(map(prefix.startswith, prefixes)):
        return 0
    begin = bisect_left(names, prefix)
    end = bisect_left(names, True, begin, key=lambda name: not name.startswith(prefix))
    starred = bisect_left(names, WILDCARD), bisect_left(names, chr(ord(WILDCARD) + 1))
    return max(0, end - begin - max(0, min(end, starred[1]) - max(begin, starred[0])))


def _of_hosts(by_host: _ByHost, hosts: Collection[str]) -> list[Patterns]:
    if len(hosts) < len(by_host):
        return [by_host[host] for host in hosts if host in by_host]
    return [patterns for host, patterns in by_host.items() if host in hosts]


def _size(condition: Sequence[Patterns]) -> int:
    """The approximate number of matched classes; a wildcard matches most classes."""
    if any(patterns.reaches_all for patterns in condition):
        return 1 << 40
    return sum(len(patterns.literals) + len(patterns.prefixes) for patterns in condition)
