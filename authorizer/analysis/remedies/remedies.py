"""Finds the smallest changes of ACLs that reverse a decision.

To allow, a remedy removes the matching DENYs, adds a narrow ALLOW if no ALLOW matches, or corrects
a near miss. To deny, a remedy removes the matching ALLOWs, or adds a narrow DENY. No remedy adds
``User:*``, the operation ALL, or the LITERAL name ``*``. This module must not know
how ACLs are stored or changed.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Final, NamedTuple

from authorizer.analysis.access.host_regions import can_be_a_client, is_matchable
from authorizer.analysis.access.hosts import same_size_block, smallest_block
from authorizer.analysis.changes.default_rule import without_cover
from authorizer.analysis.explain.kinds import NearMissKind
from authorizer.analysis.explain.near_misses import NearMiss
from authorizer.analysis.remedies.commands import CommandKind, kafka_acls_command
from authorizer.analysis.remedies.powers import danger
from authorizer.config import AuthorizerConfig
from authorizer.engine.decide import SUPER_USER
from authorizer.kafka_version import KafkaVersion
from authorizer.trace import Attribute, Question, Trace, is_allow, mismatches, trace
from metalog.acl import (
    SUPPORTED_OPERATIONS,
    WILDCARD,
    WILDCARD_PRINCIPAL,
    Acl,
    Operation,
    PatternType,
    PermissionType,
    ResourceType,
    matches_several_names,
)

_OF_A_QUESTION = (Attribute.PRINCIPAL, Attribute.HOST, Attribute.OPERATION, Attribute.PATTERN)
_NEVER_ADDED = (Operation.ALL, Operation.ANY, Operation.UNKNOWN)

USED_AFTER_A_LOOK_UP: Final = {
    ResourceType.TOPIC: (Operation.READ, Operation.WRITE),
    ResourceType.GROUP: (Operation.READ,),
    ResourceType.TRANSACTIONAL_ID: (Operation.WRITE,),
}
"""By resource type: the operations that clients use after a Metadata or FindCoordinator request.
Each operation implies DESCRIBE."""
_ALSO_NEEDED: Final[Mapping[str, tuple[Operation, ...]]] = {
    "DeleteTopics": (Operation.DELETE,),
    "DescribeGroups": (),
    "ConsumerGroupDescribe": (),
    "ShareGroupDescribe": (),
    "DescribeShareGroupOffsets": (),
    "StreamsGroupDescribe": (),
    "DescribeTransactions": (),
}
"""Requests after which a client neither reads nor writes records, and the operations that each
needs in addition to DESCRIBE."""

_MENDABLE = frozenset(
    {
        NearMissKind.HOST_TEXT,
        NearMissKind.HOST_FAMILY,
        NearMissKind.HOST_BLANK,
        NearMissKind.LITERAL_STAR,
        NearMissKind.LITERAL_PREFIX,
        NearMissKind.PREFIXED_STAR,
    }
)
"""The near misses with a clear correction."""


class Remedy(NamedTuple):
    """A change of ACLs that reverses the decision.

    - ``widens``: the attributes in which the change affects more than the question. If the change
      can open a name to everyone, these are all attributes but the resource type.
    - ``ends_default``: some names get their first ACL, so ``allow.everyone.if.no.acl.found`` no
      longer applies to these names.
    - ``mends``: the corrected near miss.
    - ``use``: what the client does after the denied look-up; ``add`` also allows this operation.
    - ``powers``: why the granted rights are dangerous, in words.
    """

    remove: tuple[Acl, ...]
    add: tuple[Acl, ...]
    widens: tuple[Attribute, ...]
    ends_default: bool = False
    mends: NearMiss | None = None
    use: Operation | None = None
    powers: tuple[str, ...] = ()

    @property
    def commands(self) -> tuple[str, ...] | None:
        """The kafka-acls commands, additions first; None if one change has no command."""
        lines = [kafka_acls_command(CommandKind.ADD, acl) for acl in self.add]
        lines += [kafka_acls_command(CommandKind.REMOVE, acl) for acl in self.remove]
        expressible = tuple(line for line in lines if line is not None)
        return expressible if len(expressible) == len(lines) else None


def remedies(
    traced: Trace,
    config: AuthorizerConfig,
    question: Question,
    near: Iterable[NearMiss] = (),
    request: str | None = None,
    *,
    creates_blocks: bool = True,
) -> tuple[Remedy, ...]:
    """The remedies for a decision, the best first.

    The best remedies also allow the client's operation after a look-up. Next come narrow remedies
    with few changes. Last come remedies that lock out other clients or grant too much. ``request``
    is Kafka's name of the denied request. With ``creates_blocks``, remedies can have CIDR blocks.
    """
    if traced.decision.rule == SUPER_USER:
        return ()
    if traced.allowed:
        found = _to_deny(traced, config, question)
    else:
        uses = _uses(question, request)
        found = [*_to_use(traced, config, question, uses), *_to_allow(traced, question)]
        if traced.decision.acl is None:
            found += _mended(near, question, uses, config.kafka)
            if creates_blocks and config.kafka.matches_blocks:
                found += _for_blocks(traced, near, question)
    if config.allow_everyone:
        found = [_with_default_effects(remedy, traced) for remedy in found]
    found = [remedy for remedy in found if _reverses(remedy, traced, config, question)]
    distinct = {(remedy.remove, remedy.add): remedy for remedy in reversed(found)}
    warned = (
        remedy._replace(powers=_powers(remedy, traced, config, question))
        for remedy in distinct.values()
    )
    return tuple(sorted(warned, key=_cost))


def _uses(question: Question, request: str | None) -> tuple[Operation, ...]:
    if question.operation is not Operation.DESCRIBE:
        return ()
    default = USED_AFTER_A_LOOK_UP.get(question.resource_type, ())
    return default if request is None else _ALSO_NEEDED.get(request, default)


def _to_use(
    traced: Trace, config: AuthorizerConfig, question: Question, uses: Iterable[Operation]
) -> list[Remedy]:
    """Remedies that also allow the client's operation after a look-up, if no DENY matches the
    question or this operation."""
    found, who = [], question.subject(config.kafka)
    for use in uses:
        wanted = question._replace(operation=use)
        denied = any(
            not is_allow(each.acl) and (not each.mismatches or not mismatches(each.acl, who, use))
            for each in traced.candidates
        )
        acls = () if denied else _narrow_acls(wanted, PermissionType.ALLOW)[:1]
        found += [Remedy((), (acl,), _beyond((acl,), question), use=use) for acl in acls]
    return found


def _to_allow(traced: Trace, question: Question) -> list[Remedy]:
    matching = [each.acl for each in traced.candidates if not each.mismatches]
    denies = tuple(acl for acl in matching if not is_allow(acl))
    if len(denies) < len(matching):
        return [Remedy(denies, (), _beyond(denies, question))]
    return [
        Remedy(denies, (acl,), _beyond((*denies, acl), question))
        for acl in _narrow_acls(question, PermissionType.ALLOW)
    ]


def _to_deny(traced: Trace, config: AuthorizerConfig, question: Question) -> list[Remedy]:
    found = [
        Remedy((), (acl,), _beyond((acl,), question))
        for acl in _narrow_acls(question, PermissionType.DENY)
    ]
    allows = tuple(each.acl for each in traced.candidates if not each.mismatches)
    others_remain = len(allows) < len(traced.candidates)
    if allows and (others_remain or not config.allow_everyone):
        found.insert(0, Remedy(allows, (), _beyond(allows, question)))
    return found


def _narrow_acls(question: Question, permission: PermissionType) -> list[Acl]:
    """ACLs for the question's host, then for any host. Empty for ``User:*`` and for ALL."""
    if question.operation in _NEVER_ADDED or question.principal == WILDCARD_PRINCIPAL:
        return []
    if ":" not in question.principal:
        return []
    pattern = PatternType.LITERAL if question.resource_name != WILDCARD else PatternType.PREFIXED
    hosts = [WILDCARD] if question.host is None else [question.host, WILDCARD]
    return [
        Acl(
            question.resource_type,
            question.resource_name,
            pattern,
            question.principal,
            host,
            question.operation,
            permission,
        )
        for host in hosts
        if host == WILDCARD or can_be_a_client(host)
    ]


def _for_blocks(traced: Trace, near: Iterable[NearMiss], question: Question) -> list[Remedy]:
    """ALLOWs for a CIDR block that contains the client.

    The block is the smallest one in the principal's ALLOWs, or has the size of a near miss's block.
    """
    if question.host is None:
        return []
    own = [
        each.acl.host
        for each in traced.candidates
        if is_allow(each.acl) and each.acl.principal == question.principal
    ]
    missed = [each.acl.host for each in near if each.kind is NearMissKind.HOST_BLOCK_ONE_OFF]
    hosts = [smallest_block(own, question.host)]
    hosts += [same_size_block(host, question.host) for host in missed]
    return [
        Remedy((), (acl,), _beyond((acl,), question))
        for narrow in _narrow_acls(question, PermissionType.ALLOW)[:1]
        for host in dict.fromkeys(hosts)
        if host is not None and (acl := narrow._replace(host=host))
    ]


def _mended(
    near: Iterable[NearMiss], question: Question, uses: Collection[Operation], kafka: KafkaVersion
) -> list[Remedy]:
    found = []
    for miss in near:
        acl, mended = miss.acl, miss.would_match
        if miss.kind not in _MENDABLE or not _may_be_added(mended):
            continue
        is_about_host = miss.attribute is Attribute.HOST
        if is_about_host and (question.host is None or not can_be_a_client(question.host)):
            continue
        never_matched = is_about_host and not is_matchable(acl.host, kafka)
        remove = (acl,) if never_matched else ()
        use = mended.operation if mended.operation in uses else None
        found.append(Remedy(remove, (mended,), _beyond((mended,), question), mends=miss, use=use))
    return found


def _may_be_added(acl: Acl) -> bool:
    return (
        acl.principal != WILDCARD_PRINCIPAL
        and acl.operation not in _NEVER_ADDED
        and (acl.resource_name != WILDCARD or acl.pattern_type is PatternType.PREFIXED)
    )


def _beyond(acls: Iterable[Acl], question: Question) -> tuple[Attribute, ...]:
    beyond = set()
    for acl in acls:
        if acl.principal != question.principal:
            beyond.add(Attribute.PRINCIPAL)
        if question.host not in (None, acl.host):
            beyond.add(Attribute.HOST)
        if acl.operation is not question.operation:
            beyond.add(Attribute.OPERATION)
        if matches_several_names(acl):
            beyond.add(Attribute.PATTERN)
    return tuple(attribute for attribute in Attribute if attribute in beyond)


def _reverses(remedy: Remedy, traced: Trace, config: AuthorizerConfig, question: Question) -> bool:
    after = (*_left(remedy, traced), *remedy.add)
    return trace(after, config, question).allowed is not traced.allowed


def _left(remedy: Remedy, traced: Trace) -> list[Acl]:
    removed = frozenset(remedy.remove)
    return [each.acl for each in traced.candidates if each.acl not in removed]


def _powers(
    remedy: Remedy, traced: Trace, config: AuthorizerConfig, question: Question
) -> tuple[str, ...]:
    """The powers of the ACLs to add, and of the ALLOWs that the DENYs to remove override today."""
    reasons = [danger(acl) for acl in remedy.add]
    if not remedy.remove or traced.allowed:
        return _distinct(reasons)
    before, after = [each.acl for each in traced.candidates], (*_left(remedy, traced), *remedy.add)
    for operation in sorted(SUPPORTED_OPERATIONS.get(question.resource_type, ())):
        related = question._replace(operation=operation)
        why = danger(
            Acl(
                question.resource_type,
                question.resource_name,
                PatternType.LITERAL,
                question.principal,
                WILDCARD,
                operation,
                PermissionType.ALLOW,
            )
        )
        if why is None or trace(before, config, related).allowed:
            continue
        if trace(after, config, related).allowed:
            reasons.append(why)
    return _distinct(reasons)


def _distinct(reasons: Iterable[str | None]) -> tuple[str, ...]:
    return tuple(each for each in dict.fromkeys(reasons) if each is not None)


def _with_default_effects(remedy: Remedy, traced: Trace) -> Remedy:
    """``remedy`` with the effects of ``allow.everyone.if.no.acl.found`` on other clients."""
    left = [*_left(remedy, traced), *remedy.add]
    if any(without_cover(filter(matches_several_names, remedy.remove), left)):
        remedy = remedy._replace(widens=_OF_A_QUESTION)
    before = (each.acl for each in traced.candidates)
    return remedy._replace(ends_default=any(without_cover(remedy.add, before)))


def _cost(remedy: Remedy) -> tuple[bool | int, ...]:
    changes = len(remedy.remove) + len(remedy.add)
    drawbacks = bool(remedy.powers), remedy.ends_default, remedy.use is None
    any_host = sum(acl.host == WILDCARD for acl in remedy.add)
    return *drawbacks, remedy.use or 0, len(remedy.widens), changes, len(remedy.add), any_host
