"""The meaning of a decision: a linear scan of all ACLs, with which tests compare faster code."""

from __future__ import annotations

from collections.abc import Collection, Set

from authorizer.engine import decide as d
from authorizer.kafka_version import KafkaVersion
from metalog.acl import IMPLIED_BY, Acl, Operation, PatternType, PermissionType, ResourceType
from metalog.hosts.host_block import client_address, host_block

LITERAL, ALLOW, DENY = PatternType.LITERAL, PermissionType.ALLOW, PermissionType.DENY
Subject = tuple[Set[str], str]  # the principals of a session, and its host
V4_3 = KafkaVersion.V4_3


def reaches(acl: Acl, kind: ResourceType, name: str) -> bool:
    if acl.resource_type is not kind or acl.pattern_type is not LITERAL:
        return acl.resource_type is kind and name.startswith(acl.resource_name)
    return acl.resource_name == name or (acl.resource_name == "*" and not name.startswith("*"))


def matches_host(host: str, client: str, kafka: KafkaVersion) -> bool:
    block, address = host_block(host), client_address(client)
    is_inside = block is not None and address is not None and block.contains(address)
    return host in ("*", client) or (kafka.matches_blocks and is_inside)


def matches(
    acl: Acl,
    who: Subject,
    op: Operation,
    kafka: KafkaVersion = V4_3,
    implied: Collection[Operation] = (),
) -> bool:
    by_operation = acl.operation in (Operation.ALL, op) or acl.operation in implied
    by_principal = acl.principal == "User:*" or acl.principal in who[0]
    return by_operation and by_principal and matches_host(acl.host, who[1], kafka)


def order(acl: Acl, name: str) -> tuple[object, ...]:
    wildcard = acl.pattern_type is LITERAL and acl.resource_name != name
    texts = [text.encode("utf-16-be", "surrogatepass") for text in (acl.principal, acl.host)]
    pattern = (wildcard, -len(acl.resource_name), acl.pattern_type)
    return (*pattern, acl.operation, *texts, acl.permission_type)


def decide(
    acls: Collection[Acl],
    who: Subject,
    op: Operation,
    kind: ResourceType,
    name: str,
    default: bool,
    kafka: KafkaVersion = V4_3,
) -> d.Decision:
    candidates = sorted((a for a in acls if reaches(a, kind, name)), key=lambda a: order(a, name))
    implied = IMPLIED_BY.get(op, ())
    denials = [a for a in candidates if a.permission_type is not ALLOW]
    denials = [a for a in denials if matches(a, who, op, kafka)]
    allows = [a for a in candidates if a.permission_type is ALLOW]
    allows = [a for a in allows if matches(a, who, op, kafka, implied)]
    if denials:
        return d.Decision(d.DENIED, d.MATCHING_ACL, denials[0])
    if allows:
        return d.Decision(d.ALLOWED, d.MATCHING_ACL, allows[-1])
    return d.ALLOWED_BY_DEFAULT if default and not candidates else d.DENIED_BY_DEFAULT


def is_allowed_by_resource_type(
    acls: Collection[Acl],
    who: Subject,
    op: Operation,
    kind: ResourceType,
    default: bool,
    kafka: KafkaVersion = V4_3,
) -> bool:
    patterns = (LITERAL, PatternType.PREFIXED)
    of_kind = [a for a in acls if a.resource_type is kind and a.pattern_type in patterns]
    found = [a for a in of_kind if matches(a, who, op, kafka)]
    denied = {(a.pattern_type, a.resource_name) for a in found if a.permission_type is DENY}
    allowed = {(a.pattern_type, a.resource_name) for a in found if a.permission_type is ALLOW}
    if decide(acls, who, op, kind, "hardcode", default, kafka).result is d.ALLOWED:
        return True
    if (LITERAL, "*") in denied | allowed:
        return (LITERAL, "*") not in denied
    return any(
        denied.isdisjoint((PatternType.PREFIXED, name[:end]) for end in range(len(name) + 1))
        for _, name in allowed - denied
    )
