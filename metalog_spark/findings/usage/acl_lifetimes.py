"""The lifetimes of the ACLs in a pipeline's folder.

This module must not use Spark.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Final

from authorizer.engine.decide import subject
from authorizer.engine.index import AclIndex
from authorizer.history.timeline import AclLifetime
from authorizer.kafka_version import KafkaVersion
from metalog.acl import Acl, Operation, PatternType, PermissionType, ResourceType
from metalog.grouping import grouped
from metalog.ids import parse_uuid, uuid_text
from metalog_sources.formats.document import acl_order
from metalog_spark.history.state import unpacked_lifetimes

RequestKey = tuple[str, str, str, str, str]
"""Principal, host, operation, resource type and resource name. The operation and the type are names
of enum members, for example READ and TOPIC."""

_CACHED_QUESTIONS: Final = 1 << 16


def acl_of(words: Iterable[str]) -> Acl:
    """The inverse of ``metalog.acl.words_of``."""
    kind, name, pattern, principal, host, operation, permission = words
    return Acl(
        ResourceType[kind],
        name,
        PatternType[pattern],
        principal,
        host,
        Operation[operation],
        PermissionType[permission],
    )


ACL_COLUMNS: Final = Acl._fields
ACL_SQL: Final = ", ".join(f"{name} STRING" for name in ACL_COLUMNS)
ACL_STRUCT: Final = f"STRUCT<{', '.join(f'{name}: STRING' for name in ACL_COLUMNS)}>"


class AclLifetimes:
    """Every lifetime of every ACL that ever existed, and an index over these ACLs.

    ``acls`` are distinct and sorted as in exports. An ACL's number is its position in ``acls``.
    The version ``kafka`` decides which hosts match.
    """

    def __init__(
        self, lifetimes: Iterable[AclLifetime], kafka: KafkaVersion = KafkaVersion.V4_3
    ) -> None:
        self._kafka = kafka
        self.by_acl = grouped(sorted(lifetimes, key=_order), lambda lifetime: lifetime.acl)
        self.acls = tuple(self.by_acl)
        self._numbers = {acl: number for number, acl in enumerate(self.acls)}
        self._index = AclIndex.of(self.acls)
        self._known: dict[tuple[RequestKey, bool], list[Acl]] = {}
        self._names = {
            kind: frozenset(acl.resource_name for acl in self.acls if acl.resource_type is kind)
            for kind in ResourceType
        }

    @staticmethod
    @lru_cache(maxsize=4)
    def of(data: bytes, kafka: KafkaVersion) -> AclLifetimes:
        """The lifetimes in ``data``, the result of ``packed_lifetimes``."""
        return AclLifetimes(unpacked_lifetimes(data), kafka)

    def number(self, acl: Acl) -> int:
        return self._numbers[acl]

    def at(self, offset: int | None) -> list[Acl]:
        """The ACLs in force at ``offset`` (exclusive); None is the end of the history."""
        return [acl for acl in self.acls if self.is_alive(acl, offset)]

    def offset_at(self, micros: int) -> int:
        """The offset after the last change of an ACL at or before ``micros`` (microseconds since
        1970); 0 without such a change."""
        edges = (edge for own in self.by_acl.values() for life in own for edge in life[2:])
        past = (edge.at for edge in edges if edge is not None and edge.time_ms * 1000 <= micros)
        return max(past, default=0)

    def is_alive(self, acl: Acl, offset: int | None) -> bool:
        if offset is None:
            return any(lifetime.end is None for lifetime in self.by_acl[acl])
        return any(lifetime.holds_at(offset) for lifetime in self.by_acl[acl])

    def could_match(self, question: RequestKey, *, begins: bool = False) -> list[Acl]:
        """All ACLs that match the question, in force or not. ``begins`` is for a line that was cut
        off: the name can be too short, or have characters after the true name. Then the result has
        all ACLs that match a possible name."""
        found = self._known.get((question, begins))
        if found is None:
            if len(self._known) >= _CACHED_QUESTIONS:
                self._known.clear()
            names = self._possible_names(question) if begins else (question[-1],)
            questions = ((*question[:-1], name) for name in names)
            acls = (acl for each in questions for acl in matching(self._index, each, self._kafka))
            found = self._known[question, begins] = [*dict.fromkeys(acls)]
        return found

    def _possible_names(self, question: RequestKey) -> Iterator[str]:
        """Enough possible names: each ACL that matches any possible name matches one of these."""
        *_, kind, begin = question
        yield begin
        for name in self._names[ResourceType[kind]]:
            if name.startswith(begin) or begin.startswith(name):
                yield name

    def matching(self, question: RequestKey, offset: int) -> list[Acl]:
        """The ACLs that match the question and are in force at ``offset``."""
        return [acl for acl in self.could_match(question) if self.is_alive(acl, offset)]

    def owners_of_ids(self) -> dict[str, Acl]:
        """The ACL of each id. Ids that different ACLs had at different times are left out."""
        owners: dict[str, set[Acl]] = {}
        for acl, own in self.by_acl.items():
            for lifetime in own:
                owners.setdefault(uuid_text(lifetime.id), set()).add(acl)
        return {acl_id: acl for acl_id, acls in owners.items() if len(acls) == 1 for acl in acls}

    def acl_with_id(self, acl_id: str, among: Iterable[Acl], offset: int) -> Acl | None:
        """The ACL in ``among`` that had the id at ``offset``. Another ACL can get this id later."""
        uuid = parse_uuid(acl_id)
        for acl in among:
            if any(
                lifetime.id == uuid and lifetime.holds_at(offset) for lifetime in self.by_acl[acl]
            ):
                return acl
        return None


def _order(lifetime: AclLifetime) -> tuple[object, ...]:
    return acl_order(lifetime.acl), -1 if lifetime.begin is None else lifetime.begin.at, lifetime.id


def matching(index: AclIndex, question: RequestKey, kafka: KafkaVersion) -> list[Acl]:
    principal, host, operation, kind, name = question
    who = subject(host, principal, kafka=kafka)
    return index.matching(who, Operation[operation], ResourceType[kind], name)
