"""Answers questions from one image and one configuration.

This module must not know how a question was typed or how an answer is shown.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

from authorizer.analysis.explain.json import answer_json
from authorizer.analysis.explain.unknown_names import Unknown, unknown_names
from authorizer.trace import Question, Trace, trace
from metalog.acl import Acl
from metalog.errors import AuthorizerNotReady
from metalog.hosts.host_block import has_block
from metalog.ids import Uuid, uuid_text
from shell.tasks.broker.broker_context import Context
from shell.tasks.command_target import CommandTarget

if TYPE_CHECKING:
    from authorizer.analysis.explain.explain import Explanation
    from authorizer.api import RequestContext
    from authorizer.config import AuthorizerConfig
    from authorizer.engine.decide import Decision
    from authorizer.standard import StandardAuthorizer
    from metalog_sources.replay import Replayed
    from metalog_sources.source import Source


BY_RESOURCE_TYPE: Final = "ByResourceType"
"""The rule of ``authorizeByResourceType``. Kafka has no name for this rule."""
_HARDCODE: Final = "hardcode"
"""Kafka's ``authorizeByResourceType`` checks this name first."""


def authorizer_of(acls: Collection[Acl], config: AuthorizerConfig) -> StandardAuthorizer:
    """The authorizer of a broker with ``config``, also for ACLs that Kafka would not create."""
    from authorizer.standard import StandardAuthorizer

    return StandardAuthorizer.from_acls(
        acls,
        super_users=config.super_users,
        allow_everyone=config.allow_everyone,
        kafka_version=config.kafka.value,
        tolerant=True,
    )


class Queries:
    """Decides, traces and explains by the ACLs of a replayed source.

    ``refuse_doubts`` raises if the source has a doubt that the user does not accept.
    """

    def __init__(
        self, replayed: Replayed, context: Context, refuse_doubts: Callable[[], None]
    ) -> None:
        self.image = replayed.image
        self.acls: Collection[Acl] = replayed.image.acls.by_id.values()
        self.context = context
        self._refuse_doubts = refuse_doubts
        self._replayed = replayed

    @property
    def source(self) -> Source:
        return self._replayed.source

    @property
    def suggests_at(self) -> bool:
        """Whether a message can suggest the option ``--at``."""
        return self._replayed.source.store is None and self._replayed.moment is None

    def trace(self, question: Question) -> Trace:
        self.check_ready(question)
        return trace(self.acls, self.context.config, question)

    def explain(
        self, question: Question, *, is_alone: bool = True, request: str | None = None
    ) -> Explanation:
        """The explanation of a decision. ``request`` is the logged request's name.

        ``is_alone`` adds the question's unknown names, and the change that began the present
        answer. The search for this change can read older parts of the log.
        """
        from authorizer.analysis.explain.explain import explain
        from metalog_sources.targets.target import accepts_blocks
        from shell.tasks.history import answer_since

        self.check_ready(question)
        config = self.context.config
        began = answer_since(self._replayed, config, question) if is_alone else None
        unknown = unknown_names(question, self.image, config.super_users) if is_alone else []
        return explain(
            self.acls,
            config,
            question,
            assumed=self.context.assumed,
            request=request,
            creates_blocks=accepts_blocks(self.source, self.image.features),
            since=began,
            unknown=unknown,
        )

    def time_of(self, offset: int) -> str | None:
        from metalog_sources.moment import time_text
        from shell.tasks.history import time_of

        epoch_ms = time_of(self._replayed, offset)
        return None if epoch_ms is None else time_text(epoch_ms)

    def decide(self, question: Question) -> Decision:
        """The first call indexes the ACLs, so later calls are fast."""
        from authorizer.api import Action, ResourcePattern

        self.check_ready(question)
        resource = ResourcePattern(question.resource_type, question.resource_name)
        return self._authorizer.decide(
            self._request(question), Action(question.operation, resource)
        )

    def decide_by_resource_type(self, question: Question) -> Decision:
        """Whether the operation is allowed on at least one resource of the type (KIP-679)."""
        from authorizer.engine.decide import Decision

        for_hardcode = self.decide(question._replace(resource_name=_HARDCODE))
        if for_hardcode.result:
            return for_hardcode
        result = self._authorizer.authorize_by_resource_type(
            self._request(question), question.operation, question.resource_type
        )
        return Decision(result, BY_RESOURCE_TYPE)

    def _request(self, question: Question) -> RequestContext:
        from authorizer.api import RequestContext

        host = self._unnamed_host if question.host is None else question.host
        return RequestContext(
            question.principal, host, additional_principals=question.additional_principals
        )

    @cached_property
    def _authorizer(self) -> StandardAuthorizer:
        return authorizer_of(self.acls, self.context.config)

    @cached_property
    def command_target(self) -> CommandTarget:
        """The target of suggested commands, with ``caller_without_alter``."""
        from shell.tasks.plans.lockout import who_may_alter

        command_target = CommandTarget.of(self.source)
        caller: str | None = getattr(self.source.opened, "caller", None)
        if caller is None or caller in who_may_alter(self.acls, self.context.config, [caller]):
            return command_target
        return command_target._replace(caller_without_alter=caller)

    def assuming(self, acls: Collection[Acl]) -> Queries:
        other = Queries(self._replayed, self.context, self._refuse_doubts)
        other.acls = acls
        return other

    @cached_property
    def of_other_kafka(self) -> Queries | None:
        """The same queries for the other Kafka version.

        None if the version is configured, or no ACL's host is a CIDR block.
        """
        config = self.context.config
        if not (self.context.is_kafka_assumed and has_block(acl.host for acl in self.acls)):
            return None
        context = self.context._replace(config=config._replace(kafka_version=config.kafka.other))
        other = Queries(self._replayed, context, self._refuse_doubts)
        other.acls = self.acls
        return other

    @cached_property
    def _unnamed_host(self) -> str:
        named = {acl.host for acl in self.acls}
        host = ""
        while host in named:
            host += "\0"
        return host

    def check_ready(self, question: Question) -> None:
        """Check that an answer is possible. As in Kafka, a super user always gets an answer.

        Raises:
            AuthorizerNotReady: no committed metadata record was read.
            MetalogError: an error of ``refuse_doubts``.
        """
        if question.principal in self.context.config.super_users:
            return
        if not self._replayed.ready:
            raise AuthorizerNotReady(
                "no committed metadata record was read, so no authorizer could answer yet; "
                "metalog status shows the log"
            )
        self._refuse_doubts()

    def id_of(self, acl: Acl) -> Uuid | None:
        """The lowest id of ``acl``; None if the ACL has no id, as in a store."""
        if self._replayed.source.store is not None:
            return None
        return next(iter(self.image.acls.ids(acl)), None)

    def ids(self, acls: Iterable[Acl]) -> dict[Acl, str]:
        id_of_acl = {acl: self.id_of(acl) for acl in acls}
        return {acl: uuid_text(uuid) for acl, uuid in id_of_acl.items() if uuid is not None}

    def unknown(self, question: Question) -> list[Unknown]:
        return unknown_names(question, self.image, self.context.config.super_users)

    def answer_json(self, question: Question, decision: Decision) -> dict[str, Any]:
        """The keys that the answers of ``can`` and ``explain`` share."""
        answer = answer_json(
            question, decision, self.context.config.kafka, self.context.assumed, self.id_of
        )
        return answer | self.extent_json()

    def extent_json(self) -> dict[str, int | None]:
        """The offsets to which the log was read, and to which it is proven to be committed."""
        has_offsets = self._replayed.source.store is None
        return {
            "readTo": self._replayed.offset if has_offsets else None,
            "provenCommit": self._replayed.proven.offset if has_offsets else None,
        }
