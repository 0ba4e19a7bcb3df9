"""SimpleAclAuthorizer, KIP-11's own, with KIP-290's prefixes: a view of today's log.

It keeps no ACLs. A Replica feeds it images as it feeds StandardAuthorizer, whose index and
readiness gate it has, and carries its changes out. The meaning is KIP-11's: a DENY before any
ALLOW, READ and WRITE alone imply DESCRIBE, and what has no ACL is denied, whatever else
is configured; ``allow.everyone`` allows all that no DENY denies.

This module must not know logs, nor what preceded KIP-11.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from typing import TYPE_CHECKING, Final, NamedTuple, TypeVar, overload

from authorizer.api import Action, RequestContext, ResourcePattern
from authorizer.decide import (
    ALLOWED,
    ALLOWED_BY_DEFAULT,
    DENIED,
    DENIED_BY_DEFAULT,
    MATCHING_ACL,
    SUPER_USER,
    Decision,
    Who,
    decision_order,
)
from authorizer.decide import session as session_of
from authorizer.kip11.config import simple_acl_config
from authorizer.kip11.interface import Authorizer
from authorizer.kip11.model import (
    Acl,
    Resource,
    Session,
    entries_of,
    operation_of,
    principal_of,
    refusal_of,
    regrouped,
)
from authorizer.standard import StandardAuthorizer
from metalog.acl import (
    WILDCARD,
    AccessControlEntryFilter,
    AclFilter,
    Operation,
    PatternType,
    PermissionType,
    ResourcePatternFilter,
    ResourceType,
)
from metalog.acl import Acl as Entry
from metalog.errors import ApiError, InvalidRequest
from metalog.files import LOCAL_FILES, Files
from metalog.principal import KafkaPrincipal

if TYPE_CHECKING:
    from authorizer.interface import Authorizer as TodaysAuthorizer
    from metalog.image.delta import MetadataDelta
    from metalog.image.manifest import Manifest
    from metalog.image.metadata import MetadataImage
    from metalog.ports import AclMutator

T = TypeVar("T")

_GRANTED_BY: Final = {Operation.DESCRIBE: (Operation.READ, Operation.WRITE)}
_ALLOW: Final = PermissionType.ALLOW
_EVERY_NAME: Final = (WILDCARD, PatternType.LITERAL)
_NOT_SAID: Final = RequestContext(principal="", host="")
"""KIP-11 does not say who changes ACLs."""


class Rules(NamedTuple):
    """What the early draft had otherwise; see ``draft``."""

    is_open_without_acls: bool
    read_principal: Callable[[KafkaPrincipal | str], KafkaPrincipal]
    read_operation: Callable[[Operation | str], Operation]
    refusal: Callable[[Session, Operation | str, Resource], Exception]


KIP_11: Final = Rules(False, principal_of, operation_of, refusal_of)


class SimpleAclAuthorizer(Authorizer):
    """``kafka.security.auth.SimpleAclAuthorizer``; a publisher, and thread-safe where it answers.

    ``standard`` is StandardAuthorizer over the same ACLs, which decides otherwise.
    """

    def __init__(self, rules: Rules = KIP_11, *, files: Files = LOCAL_FILES) -> None:
        self.standard = StandardAuthorizer()
        self._rules = rules
        self._files = files
        self._allows_everyone = False

    def initialize(self, config: Mapping[str, object]) -> None:
        read = simple_acl_config(config, self._files, self._rules.read_principal)
        self.standard.configure(read.todays)
        self._allows_everyone = read.allow_everyone

    def authorize(self, session: Session, operation: Operation | str, resource: Resource) -> bool:
        """``AuthorizerNotReady`` until all ACLs were seen, unless a super user asks."""
        context = RequestContext(self._rules.read_principal(session.principal), session.host)
        action = Action(self._rules.read_operation(operation), ResourcePattern(*resource))
        return self.decide(context, action).result is ALLOWED

    def decide(self, context: RequestContext, action: Action) -> Decision:
        """The same with its rule, in KIP-504's words."""
        decision = self.standard.decide(context, action)
        if decision.rule == SUPER_USER:
            return decision
        pattern, name = action.resource, action.resource.name
        reaching = ResourcePatternFilter(pattern.resource_type, name, PatternType.MATCH)
        candidates = sorted(
            self.standard.acls(AclFilter(reaching)), key=lambda entry: decision_order(entry, name)
        )
        who = session_of(context.host, context.principal, *context.additional_principals)
        return self._decision(candidates, who, action.operation)

    def _decision(self, candidates: Sequence[Entry], who: Who, operation: Operation) -> Decision:
        allow: Entry | None = None
        granting = (Operation.ALL, operation, *_GRANTED_BY.get(operation, ()))
        for entry in candidates:
            if not who.is_meant_by(entry):
                continue
            if entry.permission_type is _ALLOW:
                allow = entry if entry.operation in granting else allow
            elif entry.operation in (Operation.ALL, operation):
                return Decision(DENIED, MATCHING_ACL, entry)
        if allow is not None:
            return Decision(ALLOWED, MATCHING_ACL, allow)
        is_open = self._rules.is_open_without_acls and not candidates
        return ALLOWED_BY_DEFAULT if self._allows_everyone or is_open else DENIED_BY_DEFAULT

    def is_allowed_on_some(
        self, context: RequestContext, operation: Operation, resource_type: ResourceType
    ) -> bool:
        """Whether on at least one resource, as KIP-679 came to ask: on the name that it tries
        first, or on a pattern that no DENY covers. Looks at all ACLs of the type."""
        hardcode = Action(operation, ResourcePattern(resource_type, "hardcode"))
        if self.decide(context, hardcode).result is ALLOWED:
            return True
        who = session_of(context.host, context.principal, *context.additional_principals)
        found = [
            entry
            for entry in self.standard.acls(AclFilter(ResourcePatternFilter(resource_type)))
            if entry.operation in (Operation.ALL, operation) and who.is_meant_by(entry)
        ]
        denied = {entry[1:3] for entry in found if entry.permission_type is not _ALLOW}
        allowed = {entry[1:3] for entry in found if entry.permission_type is _ALLOW}
        if _EVERY_NAME in denied:
            return False
        return any(denied.isdisjoint(_covering(*pattern)) for pattern in allowed)

    def add_acls(self, acls: Iterable[Acl], resource: Resource) -> None:
        """Returns when they are durable and decided by."""
        entries = entries_of(acls, resource)
        for outcome in _all(self.standard.create_acls(_NOT_SAID, entries)):
            _raise_if(outcome)

    @overload
    def remove_acls(self, acls: Iterable[Acl], resource: Resource) -> bool: ...
    @overload
    def remove_acls(self, acls: Resource) -> bool: ...
    def remove_acls(self, acls: Iterable[Acl] | Resource, resource: Resource | None = None) -> bool:
        """Only on exactly the pattern that is given; returns when it is durable."""
        if isinstance(acls, Resource):
            filters = [_on(acls)]
        elif resource is None:
            raise InvalidRequest("remove_acls: on which resource?")
        else:
            filters = [_exactly(entry) for entry in entries_of(acls, resource)]
        results = _all(self.standard.delete_acls(_NOT_SAID, filters))
        for result in results:
            _raise_if(result.error)
        return any(result.deleted for result in results)

    def get_acls(self, of: Resource | KafkaPrincipal) -> set[Acl]:
        if isinstance(of, Resource):
            return regrouped(self.standard.acls(_on(of)))
        whose = AccessControlEntryFilter(principal=str(self._rules.read_principal(of)))
        by_resource: dict[tuple[object, ...], list[Entry]] = {}
        for entry in self.standard.acls(AclFilter(entry=whose)):
            by_resource.setdefault(entry[:3], []).append(entry)
        return {acl for entries in by_resource.values() for acl in regrouped(entries)}

    def refusal(
        self, session: Session, operation: Operation | str, resource: Resource
    ) -> Exception:
        return self._rules.refusal(session, operation, resource)

    def as_todays(self) -> TodaysAuthorizer:
        from authorizer.kip11.adapter import AdaptedView

        return AdaptedView(self)

    def publish(self, delta: MetadataDelta, image: MetadataImage, manifest: Manifest) -> None:
        self.standard.publish(delta, image, manifest)

    def complete_initial_load(self) -> None:
        self.standard.complete_initial_load()

    def note_staleness(self, for_ms: int) -> None:
        self.standard.note_staleness(for_ms)

    def set_acl_mutator(self, mutator: AclMutator | None) -> None:
        self.standard.set_acl_mutator(mutator)


def _covering(name: str, pattern_type: PatternType) -> Iterator[tuple[str, PatternType]]:
    """The patterns that reach all that this one reaches."""
    yield name, pattern_type
    for end in range(len(name) + 1):
        yield name[:end], PatternType.PREFIXED


def _all(futures: Sequence[Future[T]]) -> list[T]:
    return [future.result() for future in futures]


def _raise_if(error: ApiError) -> None:
    if error:
        raise InvalidRequest(f"{error.code.name}: {error.message}")


def _on(resource: Resource) -> AclFilter:
    return AclFilter(
        ResourcePatternFilter(resource.resource_type, resource.name, resource.pattern_type)
    )


def _exactly(entry: Entry) -> AclFilter:
    return AclFilter(
        ResourcePatternFilter(entry.resource_type, entry.resource_name, entry.pattern_type),
        AccessControlEntryFilter(
            entry.principal, entry.host, entry.operation, entry.permission_type
        ),
    )
