"""A host that no client's address ever equals."""

from __future__ import annotations

from collections.abc import Iterator

from authorizer.analysis.access.hosts import host_kind, meant_block
from authorizer.analysis.explain.kinds import NearMissKind
from authorizer.analysis.lint.finding import Check, Finding, LintSubject, Severity
from metalog.acl import WILDCARD, Acl
from metalog.hosts.client_host import java_text
from metalog.hosts.host_block import host_block

_PROBLEMS = {
    NearMissKind.HOST_TEXT: "its host is an address in a spelling that Java never uses",
    NearMissKind.HOST_BLANK: "its host has blanks around it",
    NearMissKind.HOST_RANGE: "its host is a range that Kafka compares as text",
    NearMissKind.HOST_NAME: "its host is not an IP address",
}


def _find(subject: LintSubject) -> Iterator[Finding]:
    hosts = {acl.host for acl in subject.acls} - {WILDCARD}
    kafka = subject.config.kafka
    kinds = {host: kind for host in hosts if (kind := host_kind(host, None, kafka)) is not None}
    for acl in subject.acls:
        kind = kinds.get(acl.host)
        if kind is not None:
            mended = java_text(acl.host.strip())
            if mended is None and kafka.matches_blocks:
                mended = meant_block(acl.host)
            add = () if mended is None else (acl._replace(host=mended),)
            yield Finding(
                Severity.ERROR,
                f"{_text(acl.host, kind)}, so it matches nobody",
                acl,
                remove=(acl,) if add else (),
                add=add,
                advice="" if add else _advice(acl, kind),
            )


def _text(host: str, kind: NearMissKind) -> str:
    if kind is NearMissKind.HOST_RANGE and host_block(host) is not None:
        return "its host is a CIDR block, which Kafka compares as text before 4.4"
    return _PROBLEMS[kind]


def _advice(acl: Acl, kind: NearMissKind) -> str:
    if host_block(acl.host) is not None:
        return "remove it, or see what it will open: metalog lint --for 4.4"
    if kind is NearMissKind.HOST_RANGE:
        return "list each address; or use * and a firewall"
    return "write the address" if kind is NearMissKind.HOST_NAME else ""


CHECK = Check("host-form", "A host that equals no client's address.", _find)
