"""Finds unknown names in a question, because a typo is a common cause of a denial.

This module must not know the decision.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING, Final, NamedTuple

from authorizer.analysis.explain.names import nearest_name, nearest_principal
from authorizer.trace import Question, reaches
from metalog.acl import WILDCARD, WILDCARD_PRINCIPAL, Acl, PatternType, ResourceType
from metalog.text.visible_text import shown

if TYPE_CHECKING:
    from metalog.image.metadata import MetadataImage

_WORDS: Final = {ResourceType.TOPIC: "topic", ResourceType.GROUP: "group"}


class Unknown(NamedTuple):
    """An unknown principal, topic or group; ``near`` is a similar known name.

    If ``is_listed``, the source has all names of this kind, as a log has all topics. If
    ``is_reached``, ACLs on LITERAL ``*`` reach the topic or group.
    """

    what: str
    name: str
    near: str | None
    is_listed: bool = False
    is_reached: bool = False

    def __str__(self) -> str:
        name = shown(self.name)
        if self.what == "principal":
            text = f"no ACL and no SCRAM user has the principal {name}"
        elif self.is_listed:
            text = f"there is no {self.what} {name}, and {self._reached_by} it"
        else:
            text = f"{self._reached_by} {self.what} {name}"
        return text if self.near is None else f"{text}; did you mean {shown(self.near)}?"

    @property
    def _reached_by(self) -> str:
        return f"only ACLs on {WILDCARD} reach" if self.is_reached else "no ACL reaches"

    def as_json(self) -> dict[str, str | None]:
        return {"what": self.what, "name": self.name, "nearest": self.near}


def unknown_names(
    question: Question, image: MetadataImage, super_users: Collection[str]
) -> list[Unknown]:
    acls = image.acls.by_id.values()
    found = [_unknown_principal(question.principal, image, acls, super_users)]
    if question.resource_type in _WORDS:
        found.append(_unknown_resource(question, image, acls))
    return [each for each in found if each is not None]


def _unknown_principal(
    principal: str, image: MetadataImage, acls: Iterable[Acl], super_users: Collection[str]
) -> Unknown | None:
    known = {acl.principal for acl in acls}
    for users in image.scram.mechanisms.values():
        known.update(f"User:{user}" for user in users)
    known.update(super_users)
    if principal in known:
        return None
    near = nearest_principal(principal, known - {WILDCARD_PRINCIPAL})
    return Unknown("principal", principal, near)


def _unknown_resource(
    question: Question, image: MetadataImage, acls: Iterable[Acl]
) -> Unknown | None:
    kind, name = question.resource_type, question.resource_name
    listed: Collection[str] = image.topics.by_name if kind is ResourceType.TOPIC else ()
    known, is_reached = set(listed), False
    for acl in acls:
        if acl.resource_type is not kind:
            continue
        if acl.pattern_type is not PatternType.LITERAL and name.startswith(acl.resource_name):
            return None
        if acl.resource_name != WILDCARD:
            known.add(acl.resource_name)
        elif reaches(acl, kind, name):
            is_reached = True
    if name in known:
        return None
    near = nearest_name(name, known)
    return Unknown(_WORDS[kind], name, near, bool(listed), is_reached)
