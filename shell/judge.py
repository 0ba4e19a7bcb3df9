"""Answers to questions, from one image and one configuration.

This module must not know how a question was typed or how an answer is shown.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Final

from authorizer.trace import Question, Trace, trace
from metalog.acl import Acl
from metalog.errors import AuthorizerNotReady
from metalog.ids import Uuid, uuid_text
from shell.acls import acl_json
from shell.context import Context, opened_source, read_config, replayed_source
from shell.known import Unknown, unknown_names

if TYPE_CHECKING:
    from argparse import Namespace

    from authorizer.decide import Decision
    from authorizer.index import AclIndex
    from authorizer.insight.explain import Explanation
    from metalog.image.metadata import MetadataImage
    from shell.output import Output


BY_RESOURCE_TYPE: Final = "ByResourceType"
"""The rule of an answer about any one resource of a type, for which Kafka names none."""
_HARDCODE: Final = "hardcode"
"""The name under which Kafka asks first when any name will do."""


class Judge:
    """Decides, traces and explains under the ACLs of ``image``."""

    def __init__(self, image: MetadataImage, context: Context, *, ready: bool = True) -> None:
        self.image = image
        self._ready = ready
        self.context = context
        self._index: AclIndex | None = None
        self._unnamed_host = ""

    def trace(self, question: Question) -> Trace:
        """One question, with all that was considered."""
        self._check_ready(question)
        return trace(self.image.acls.by_id.values(), self.context.config, question)

    def explain(self, question: Question) -> Explanation:
        from authorizer.insight.explain import explain

        self._check_ready(question)
        return explain(
            self.image.acls.by_id.values(),
            self.context.config,
            question,
            assumed=self.context.assumed,
        )

    def decide(self, question: Question) -> Decision:
        """One of many questions: the ACLs are indexed at the first."""
        self._check_ready(question)
        from authorizer.decide import ALLOWED_TO_SUPER_USER

        if self._index is None:
            self._index = self._indexed()
        if question.principal in self.context.config.super_users:
            return ALLOWED_TO_SUPER_USER
        return self._index.decide(
            self._principals(question),
            self._host(question),
            question.operation,
            question.resource_type,
            question.resource_name,
            allow_everyone=self.context.config.allow_everyone,
        )

    def decide_by_resource_type(self, question: Question) -> Decision:
        """Whether the operation is allowed on at least one resource of the type (KIP-679)."""
        from authorizer.decide import Decision

        for_hardcode = self.decide(question._replace(resource_name=_HARDCODE))
        if for_hardcode.result or self._index is None:
            return for_hardcode
        result = self._index.decide_by_resource_type(
            self._principals(question),
            self._host(question),
            question.operation,
            question.resource_type,
        )
        return Decision(result, BY_RESOURCE_TYPE)

    def _principals(self, question: Question) -> tuple[str, ...]:
        return (question.principal, *question.additional_principals)

    def _host(self, question: Question) -> str:
        return self._unnamed_host if question.host is None else question.host

    def _check_ready(self, question: Question) -> None:
        """Before the first committed record only super users are answered, as by Kafka."""
        if not self._ready and question.principal not in self.context.config.super_users:
            raise AuthorizerNotReady(
                "no committed record was read, so no authorizer could answer yet; "
                "metalog status says what there is"
            )

    def _indexed(self) -> AclIndex:
        from authorizer.index import AclIndex

        acls = set(self.image.acls.by_id.values())
        named = {acl.host for acl in acls}
        while self._unnamed_host in named:
            self._unnamed_host += "\0"
        return AclIndex(acls)

    def id_of(self, acl: Acl) -> Uuid | None:
        """The lowest id that ``acl`` is bound to."""
        return next(iter(self.image.acls.ids(acl)), None)

    def ids(self, acls: Iterable[Acl]) -> dict[Acl, str]:
        found = {acl: self.id_of(acl) for acl in acls}
        return {acl: uuid_text(uuid) for acl, uuid in found.items() if uuid is not None}

    def unknown(self, question: Question) -> list[Unknown]:
        """Names of the question that nobody knows."""
        return unknown_names(question, self.image, self.context.config.super_users)

    def answer_json(self, question: Question, decision: Decision) -> dict[str, Any]:
        """The answer with the keys that ``can`` and ``explain`` share."""
        return {
            "principal": question.principal,
            "host": question.host,
            "operation": question.operation.name,
            "resourceType": question.resource_type.name,
            "resourceName": question.resource_name,
            "result": decision.result.value,
            "rule": decision.rule,
            "acl": None if decision.acl is None else acl_json(decision.acl, self.id_of),
            "assumed": list(self.context.assumed),
        }


def judge_of(arguments: Namespace, output: Output) -> Judge:
    """The judge for a verb's SOURCE and configuration."""
    source = opened_source(arguments)
    context = read_config(arguments, source, output)
    replayed = replayed_source(arguments, output, source)
    return Judge(replayed.image, context, ready=replayed.ready)
