"""StandardAuthorizer: KIP-504's interface over an index of ACLs, with KIP-801's readiness gate.

One thread changes the authorizer and other threads ask for decisions, so each decision reads
``_decision_context`` once. This module must not know logs, records or files.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable, Mapping, Sequence
from concurrent.futures import Future, InvalidStateError
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from authorizer.acl_warnings import check_creatable, warnings_about
from authorizer.answers import AUDIT_LOG, audit_all, decision_of, refuse_other_patterns, results_of
from authorizer.api import Action, RequestContext, ResourcePattern
from authorizer.config import AuthorizerConfig, from_properties, read_kafka_version
from authorizer.engine.cache.decision_cache import DecisionContext
from authorizer.engine.decide import ALLOWED, DENIED, AuthorizationResult, Decision
from authorizer.engine.index import AclIndex, IndexWriter
from authorizer.interface import AuthorizationResults, Authorizer
from metalog.acl import ANY_ACL, Acl, AclFilter, Operation, PatternType, ResourceType
from metalog.errors import AuthorizerNotReady, InvalidRequest, NotController
from metalog.futures import InitialLoad, done_future
from metalog.ids import Uuid, uuid_text
from metalog.principal import parse_principal

if TYPE_CHECKING:
    from metalog.image.delta import MetadataDelta
    from metalog.image.manifest import Manifest
    from metalog.image.metadata import MetadataImage
    from metalog.ports import AclCreateResult, AclDeleteResult, AclMutator

_log = logging.getLogger(__name__)
_audit_levels: Final[dict[int, bool]] = getattr(AUDIT_LOG, "_cache", {})
"""The logger's cache of ``isEnabledFor``, by level. A look-up is faster than a call. The cache is
empty if this Python's loggers have none."""
LITERAL: Final = PatternType.LITERAL
ONE_ALLOWED: Final = AuthorizationResults((ALLOWED,))
ONE_DENIED: Final = AuthorizationResults((DENIED,))
INFO: Final = logging.INFO
NOT_LOADED: Final = "the ACLs are not loaded up to the high-water mark yet"
TOO_OLD: Final = "the log was not read for stale.deny.after.ms or longer: the ACLs are too old"
REBUILD_DIVISOR: Final = 16
"""A delta of more than 1/16 of the ACLs rebuilds the index, because a rebuild is faster."""


class StandardAuthorizer(Authorizer):
    """Decides like Kafka's StandardAuthorizer, and names the deciding rule as Kafka does.

    The ACLs come from a ``Replica``, which reads the log, or from the caller (``from_acls``). Any
    thread may ask for decisions. One image decides all actions of a call.
    """

    _decision_context: DecisionContext

    def __init__(self, config: AuthorizerConfig | None = None) -> None:
        self._config = config or AuthorizerConfig()
        self._writer = IndexWriter()
        self._by_id: Mapping[Uuid, Acl] = {}
        self._is_loaded = False
        self._is_stale = False
        self._is_index_behind = False
        self._metadata_version: int | None = None
        self._refusal: str | None = None
        self._initial_load = InitialLoad()
        self._mutator: AclMutator | None = None
        self._decision_context = DecisionContext(
            self._writer.index, self._config.for_log(None), shut_by=NOT_LOADED
        )

    @classmethod
    def configured(cls, configs: Mapping[str, object]) -> StandardAuthorizer:
        """An authorizer without ACLs, for a ``Replica``; raises the errors of ``configure``."""
        authorizer = cls()
        authorizer.configure(configs)
        return authorizer

    @classmethod
    def from_acls(
        cls,
        acls: Iterable[Acl],
        *,
        super_users: Collection[str] = (),
        allow_everyone: bool = False,
        kafka_version: str = "4.3",
        tolerant: bool = False,
    ) -> StandardAuthorizer:
        """An authorizer that decides by ``acls``, without a log.

        ``super_users`` are principals such as ``User:admin``. ``allow_everyone`` is the value of
        ``allow.everyone.if.no.acl.found``. ``kafka_version`` is ``4.3`` or ``4.4``. Pass
        ``tolerant`` for old or damaged logs, whose ACLs Kafka's controller can refuse to create.

        Raises:
            InvalidRequest: Kafka's controller refuses an ACL in every version, a super user is not
                ``Type:name``, or ``kafka_version`` is not supported.
        """
        if isinstance(super_users, str):
            raise InvalidRequest(f"super_users: give a list of principals, as [{super_users!r}]")
        for user in super_users:
            parse_principal(user)
        version = read_kafka_version(kafka_version)
        config = AuthorizerConfig(frozenset(super_users), allow_everyone, kafka_version=version)
        authorizer = cls(config)
        by_id: dict[Uuid, Acl] = {}
        for number, acl in enumerate(acls):
            if not tolerant:
                check_creatable(number, acl)
                for warning in warnings_about(number, acl, config.kafka):
                    _log.warning("%s", warning)
            by_id[Uuid((number + 1).to_bytes(16, "big"))] = acl
        authorizer.load_snapshot(by_id)
        authorizer.complete_initial_load()
        return authorizer

    def configure(self, configs: Mapping[str, object]) -> None:
        """Read the authorizer's keys, such as ``super.users``; other keys are ignored.

        Raises ``ConfigException`` if a value is invalid.
        """
        self._config, warnings = from_properties(configs)
        for warning in warnings:
            _log.warning("%s", warning)
        self._decide_anew()

    def start(self, server_info: Mapping[str, str]) -> dict[str, Future[None]]:
        """For each listener (KIP-801): a future that is done when the listener may open.

        A listener in ``early.start.listeners`` may open at once. The other listeners wait for the
        load of the log. If the load fails, ``result(timeout)`` of the future raises the reason.
        """
        early = self._config.early_start_listeners
        return {
            name: done_future() if name in early else self._initial_load for name in server_info
        }

    def authorize(self, context: RequestContext, actions: Sequence[Action]) -> AuthorizationResults:
        """The result of each of ``actions``, in order. Decisions are logged as in Kafka.

        Raises:
            AuthorizerNotReady: only super users get decisions at present (``shut_by`` says why).
            InvalidRequest: a resource is not LITERAL, or its type is ANY.
        """
        decision_context = self._decision_context
        if len(actions) == 1:  # the fast path makes no object
            action = actions[0]
            resource = action.resource
            answers = decision_context.sessions.get(context.identity)
            kind, name = resource.resource_type, resource.name
            if resource.pattern_type is not LITERAL:
                refuse_other_patterns(resource)
            if answers is None:
                verdicts = decision_context.uncached(context.identity, kind, name)
            else:
                verdicts = answers.verdicts[kind].get(name) or decision_context.add_to(
                    answers, context.identity, kind, name
                )
            results = ONE_ALLOWED if verdicts[action.operation] is ALLOWED else ONE_DENIED
        else:
            results = AuthorizationResults(results_of(decision_context, context.identity, actions))
        if _audit_levels.get(INFO) is not False:
            audit_all(decision_context, context, actions, results)
        return results

    def is_allowed(self, context: RequestContext, action: Action) -> bool:
        """Whether ``context`` may carry out ``action``; raises the errors of ``authorize``."""
        return self.authorize(context, (action,))[0] is ALLOWED

    def authorize_by_resource_type(
        self, context: RequestContext, operation: Operation, resource_type: ResourceType
    ) -> AuthorizationResult:
        """Whether ``operation`` is allowed on at least one resource of the type (KIP-679).

        Raises ``InvalidRequest`` for ANY and UNKNOWN, and ``AuthorizerNotReady`` as ``authorize``.
        """
        if resource_type <= ResourceType.ANY or operation <= Operation.ANY:
            raise InvalidRequest(
                f"{operation.name} on {resource_type.name}: name one operation and one type"
            )
        decision_context, identity = self._decision_context, context.identity
        hardcode = Action(operation, ResourcePattern(resource_type, "hardcode"), 0, True, False)
        answers = decision_context.session(identity)
        result = answers.on(resource_type, "hardcode")[operation]
        if _audit_levels.get(INFO) is not False:
            audit_all(decision_context, context, (hardcode,), (result,))
        if result is ALLOWED or answers.is_allowed_on_some(operation, resource_type):
            return ALLOWED
        return DENIED

    def decide(self, context: RequestContext, action: Action) -> Decision:
        """The result of ``action`` and the deciding rule, without an audit line."""
        return decision_of(self._decision_context, context, action)

    @property
    def decision_context(self) -> DecisionContext:
        """The data on which decisions depend; each change makes a new object."""
        return self._decision_context

    @property
    def config(self) -> AuthorizerConfig:
        """The settings in force. The log determines the Kafka version if no setting does."""
        return self._decision_context.config

    @property
    def shut_by(self) -> str:
        """Why only super users get decisions at present; empty if the gate is open."""
        return self._decision_context.shut_by

    @property
    def index(self) -> AclIndex:
        """The index, for callers that decide without the gate."""
        if self._is_index_behind:
            return AclIndex.of(list(self._by_id.values()))
        return self._decision_context.index

    def acls(self, acl_filter: AclFilter = ANY_ACL) -> Sequence[Acl]:
        """The ACLs that ``acl_filter`` matches, in Kafka's order, without duplicates."""
        return self.index.acls(acl_filter)

    def acl_count(self) -> int:
        """The number of ACL ids."""
        return len(self._by_id)

    def is_super_user(self, principal: str) -> bool:
        """Whether ``principal`` (``User:admin``) is configured as a super user."""
        return principal in self._config.super_users

    def set_acl_mutator(self, mutator: AclMutator | None) -> None:
        """Set the writer of the log. A ``Replica`` that writes does this itself."""
        self._mutator = mutator

    def create_acls(
        self, context: RequestContext, acls: Sequence[Acl]
    ) -> Sequence[Future[AclCreateResult]]:
        """One future for each of ``acls``, done when the ACL is durable and in force.

        The caller must check that ``context`` has ALTER on the cluster: this method does not.
        """
        return self._acl_mutator().create_acls(context, acls)

    def delete_acls(
        self, context: RequestContext, filters: Sequence[AclFilter]
    ) -> Sequence[Future[AclDeleteResult]]:
        """One future for each of ``filters``, done when its deletions are durable and in force."""
        return self._acl_mutator().delete_acls(context, filters)

    def _acl_mutator(self) -> AclMutator:
        if self._mutator is None:
            raise NotController("ACLs cannot be changed here: no log is open for writing")
        return self._mutator

    def publish(self, delta: MetadataDelta, image: MetadataImage, manifest: Manifest) -> None:
        """Decide by the ACLs and the metadata.version of ``image`` from now on."""
        acls, after = delta.acls, image.acls
        if acls is not None and (acls.is_replacement or acls.changes):
            is_whole = acls.is_replacement or self._is_index_behind
            if is_whole or len(acls.changes) > len(after) // REBUILD_DIVISOR:
                self._writer.load(acls.in_record_order(after))
                self._decide_anew()
            else:
                self._apply(acls.changes, acls.image.by_id)
            self._by_id = after.by_id
            self._is_index_behind = False
        level = image.features.metadata_version
        if level != self._metadata_version:
            self._metadata_version = level
            kafka = self._config.kafka_version
            self._refusal = kafka and image.features.problem_for(kafka.value)
            self._decide_anew()
        self.note_staleness(0)

    def complete_initial_load(self) -> None:
        """Remember that all records up to the high-water mark are published."""
        if self._is_loaded:
            return
        self._is_loaded = True
        if self._is_index_behind:
            self.load_snapshot(self._by_id)
        else:
            self._decide_anew()
        self._initial_load.complete()

    def note_load_fault(self, fault: Exception) -> None:
        """Tell the futures of ``start`` why the log is not loaded yet."""
        self._initial_load.note_fault(fault)

    def note_staleness(self, for_ms: int) -> None:
        """Shut the gate if ``for_ms`` is at least ``stale.deny.after.ms``, and is not 0.

        ``for_ms`` is the time since the last read of the log, in milliseconds.
        """
        limit = self._config.stale_deny_after_ms
        is_stale = limit is not None and for_ms > 0 and for_ms >= limit
        if is_stale != self._is_stale:
            self._is_stale = is_stale
            self._decide_anew()

    def load_snapshot(self, acls: Mapping[Uuid, Acl]) -> None:
        """Replace all ACLs."""
        self._by_id = dict(acls)
        self._writer.load(self._by_id.values())
        self._decide_anew()
        self._is_index_behind = False

    def add_acl(self, uuid: Uuid, acl: Acl) -> None:
        """Add ``acl`` with the id ``uuid``, or replace the ACL that has this id.

        No ACL decides before ``complete_initial_load``.
        """
        by_id = self._own_ids()
        if self._is_loaded:
            self._apply({uuid: acl}, by_id)
        else:
            self._is_index_behind = True
        by_id[uuid] = acl

    def remove_acl(self, uuid: Uuid) -> None:
        """Remove the ACL with the id ``uuid``; raises ``InvalidRequest`` for an unknown id."""
        by_id = self._own_ids()
        if uuid not in by_id:
            raise InvalidRequest(f"there is no ACL with the id {uuid_text(uuid)}")
        if self._is_loaded:
            self._apply({uuid: None}, by_id)
        else:
            self._is_index_behind = True
        del by_id[uuid]

    def close(self) -> None:
        """Fail the futures of ``start`` that still wait for the load; ``authorize`` still works."""
        closed = AuthorizerNotReady(
            "the authorizer was closed before its initial load was complete"
        )
        with suppress(InvalidStateError):
            self._initial_load.set_exception(closed)

    def _own_ids(self) -> dict[Uuid, Acl]:
        if not isinstance(self._by_id, dict):
            self._by_id = dict(self._by_id)
        return self._by_id

    def _apply(self, changes: Mapping[Uuid, Acl | None], before: Mapping[Uuid, Acl]) -> None:
        touched = self._writer.apply(changes, before)
        self._decision_context = self._decision_context.after(self._writer.index, touched)

    def _decide_anew(self) -> None:
        config, shut_by = self._config, self._refusal or (TOO_OLD if self._is_stale else "")
        if not self._is_loaded:
            shut_by = NOT_LOADED
        before = self._decision_context
        self._decision_context = DecisionContext(
            self._writer.index, config.for_log(self._metadata_version), shut_by=shut_by
        )
        before.forget()
