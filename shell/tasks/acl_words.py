"""Writes ACLs and results in words.

This module must not know where ACLs come from or what they decide.
"""

from __future__ import annotations

from metalog.acl import Acl, PatternType, ResourceType
from metalog.text.visible_text import shown


def sentence(acl: Acl) -> str:
    kind = resource_kind(acl.resource_type)
    pattern = "names that begin with " if acl.pattern_type is PatternType.PREFIXED else ""
    return (
        f"{acl.permission_type.name} {shown(acl.principal)} {acl.operation.name} "
        f"on {kind} {pattern}{shown(acl.resource_name)} from {host_words(acl.host)}"
    )


def resource_kind(resource_type: ResourceType) -> str:
    """``transactional id``: the resource type as a word in a sentence."""
    return resource_type.name.lower().replace("_", " ")


def result_word(allowed: bool) -> str:
    return "ALLOWED" if allowed else "DENIED"


def host_words(host: str) -> str:
    return "any host" if host == "*" else shown(host)
