"""Refuses the ACLs that Kafka would refuse, and warns about ACLs that can miss their purpose.

Each message names the ACL's position in the caller's list, counted from 0. This module must not
know how a decision is made.
"""

from __future__ import annotations

from collections.abc import Iterator

from authorizer.kafka_version import KafkaVersion
from metalog.acl import WILDCARD, Acl, PatternType, acl_problem
from metalog.errors import InvalidRequest
from metalog.hosts.client_host import client_host, java_text
from metalog.hosts.host_block import host_block


def check_creatable(number: int, acl: Acl) -> None:
    """Raise ``InvalidRequest`` for an ACL that Kafka's controller would not create."""
    if problem := acl_problem(acl):
        raise InvalidRequest(
            f"acls[{number}]: {problem}; Kafka's controller refuses such an ACL, so correct it, "
            f"or pass tolerant=True if it comes from a log: {acl}"
        )


def warnings_about(number: int, acl: Acl, kafka: KafkaVersion) -> Iterator[str]:
    """The reasons why ``acl`` can miss its purpose in this version of Kafka."""
    reason = _host_warning(acl.host, kafka)
    if reason is not None:
        yield f"acls[{number}]: {reason}"
    if acl.resource_name == WILDCARD and acl.pattern_type is PatternType.PREFIXED:
        yield (
            f"acls[{number}]: PREFIXED * reaches only names that begin with a *; "
            "LITERAL * reaches all other names"
        )
    if acl.principal.startswith(":") or acl.principal.endswith(":"):
        yield (
            f"acls[{number}]: no client has the principal {acl.principal!r}; "
            "give Type:name, such as User:app"
        )


def _host_warning(host: str, kafka: KafkaVersion) -> str | None:
    if host_block(host) is not None:
        if kafka.matches_blocks:
            return None
        return (
            f"the host {host} is a CIDR block, which matches no client in Kafka {kafka.value}; "
            "give one IP address, or set kafka_version to 4.4"
        )
    if (as_java := client_host(host)) != host:
        return f"no client has the host {host}; write {as_java}, as Java does"
    if host != WILDCARD and java_text(host) is None:
        return f"no client has the host {host!r}; give one IP address, or * for all"
    return None
