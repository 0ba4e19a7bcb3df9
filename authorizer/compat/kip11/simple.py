"""SimpleAclAuthorizer, KIP-11's own authorizer, with KIP-290's prefixes.

The ACLs are in the metadata log. Decisions follow KIP-11:

- A DENY takes precedence over any ALLOW.
- Only READ and WRITE imply DESCRIBE.
- A request that no ACL matches is denied, unless ``allow.everyone`` is true.

This module must not know logs.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from typing import TYPE_CHECKING, Final, TypeVar, overload

from authorizer.api import Action, RequestContext, ResourcePattern
from authorizer.compat.kip11.config import simple_acl_config
from authorizer.compat.kip11.interface import Authorizer
from authorizer.compat.kip11.model import (
    Acl,
    Resource,
    Session,
    entries_of,
    operation_of,
    principal_of,
    regrouped,
)
from authorizer.engine.buckets import Bucket
from authorizer.engine.decide import (
    ALLOW,
    ALLOWED,
    ALLOWED_BY_DEFAULT,
    DENIED,
    DENIED_BY_DEFAULT,
    MATCHING_ACL,
    SUPER_USER,
    Decision,
    Subject,
    decision_order,
)
from authorizer.engine.decide import subject as subject_of
from authorizer.engine.index import LITERAL, AclIndex
from authorizer.engine.prefixes import with_shorter
from authorizer.kafka_version import KafkaVersion
from authorizer.standard import StandardAuthorizer
from metalog.acl import (
    WILDCARD,
    AccessControlEntryFilter,
    AclFilter,
    Operation,
    PatternType,
    ResourcePatternFilter,
    ResourceType,
)
from metalog.acl import Acl as Entry
from metalog.disk.files import LOCAL_FILES, Files
from metalog.errors import ApiError, InvalidRequest
from metalog.grouping import grouped
from metalog.principal import KafkaPrincipal

if TYPE_CHECKING:
    from authorizer.interface import Authorizer as TodaysAuthorizer
    from metalog.image.delta import MetadataDelta
    from metalog.image.manifest import Manifest
    from metalog.image.metadata import MetadataImage
    from metalog.ports import AclMutator

T = TypeVar("T")

_GRANTED_BY: Final = {Operation.DESCRIBE: (Operation.READ, Operation.WRITE)}
_UNKNOWN_CALLER: Final = RequestContext(principal="", host="")
"""KIP-11's interface does not name the caller of a change."""


class SimpleAclAuthorizer(Authorizer):
    """``kafka.security.auth.SimpleAclAuthorizer``. A ``Replica`` publishes the log's ACLs.

    Any thread may ask for decisions. ``standard`` is a StandardAuthorizer with the same ACLs; its
    decisions can differ.
    """

    def __init__(self, *, files: Files = LOCAL_FILES) -> None:
        self.standard = StandardAuthorizer()
        self._files = files
        self._allows_everyone = False

    def initialize(self, config: Mapping[str, object]) -> None:
        """Read the configuration. ``ConfigException`` names an invalid key."""
        read = simple_acl_config(config, self._files)
        self.standard.configure(read.standard)
        self._allows_everyone = read.allow_everyone

    def authorize(self, session: Session, operation: Operation | str, resource: Resource) -> bool:
        """As in the interface. Raises ``AuthorizerNotReady`` before the log is loaded, except for
        super users."""
        context = RequestContext(principal_of(session.principal), session.host)
        action = Action(operation_of(operation), ResourcePattern(*resource))
        [decision] = self.decide(context, (action,))
        return decision.result is ALLOWED

    def decide(self, context: RequestContext, actions: Sequence[Action]) -> list[Decision]:
        """The decisions on ``actions`` with their rules, all from the same ACLs."""
        by_standard = [self.standard.decide(context, action) for action in actions]
        index = self.standard.index
        return [
            each if each.rule == SUPER_USER else self._decision(index, context, action)
            for each, action in zip(by_standard, actions, strict=True)
        ]

    def _decision(self, index: AclIndex, context: RequestContext, action: Action) -> Decision:
        resource_type, name = action.resource.resource_type, action.resource.name
        who = _subject(context)
        buckets = _covering(index, resource_type, LITERAL, name)
        entries = {entry for bucket in buckets for entry in bucket.of(who)}
        candidates = sorted(entries, key=lambda entry: decision_order(entry, name))
        allow: Entry | None = None
        granting = (Operation.ALL, action.operation, *_GRANTED_BY.get(action.operation, ()))
        for entry in candidates:
            if _denies(entry, who, action.operation):
                return Decision(DENIED, MATCHING_ACL, entry)
            if entry.permission_type is ALLOW and entry.operation in granting:
                allow = entry if who.matches(entry) else allow
        if allow is not None:
            return Decision(ALLOWED, MATCHING_ACL, allow)
        return ALLOWED_BY_DEFAULT if self._allows_everyone else DENIED_BY_DEFAULT

    def is_allowed_on_some(
        self, context: RequestContext, operation: Operation, resource_type: ResourceType
    ) -> bool:
        """Whether the operation is allowed on at least one resource of the type.

        As in KIP-679: the name ``hardcode`` is allowed, or an ALLOW has a pattern that no DENY
        covers.
        """
        hardcode = Action(operation, ResourcePattern(resource_type, "hardcode"))
        if self.standard.decide(context, hardcode).rule == SUPER_USER:
            return True
        index = self.standard.index
        if self._decision(index, context, hardcode).result is ALLOWED:
            return True
        who = _subject(context)
        return any(
            not any(
                _denies(entry, who, operation)
                for bucket in _covering(index, resource_type, *pattern)
                for entry in bucket.of(who)
            )
            for pattern in index.allowing(who, operation, resource_type)
        )

    def add_acls(self, acls: Iterable[Acl], resource: Resource) -> None:
        """Add ACLs. Returns when the ACLs are durable and in force."""
        entries = entries_of(acls, resource)
        for outcome in _all(self.standard.create_acls(_UNKNOWN_CALLER, entries)):
            _raise_if(outcome)

    @overload
    def remove_acls(self, acls: Iterable[Acl], resource: Resource) -> bool: ...
    @overload
    def remove_acls(self, acls: Resource) -> bool: ...
    def remove_acls(self, acls: Iterable[Acl] | Resource, resource: Resource | None = None) -> bool:
        """Remove ACLs of exactly this pattern, durably. Returns whether an ACL was removed."""
        if isinstance(acls, Resource):
            filters = [_on(acls)]
        elif resource is None:
            raise InvalidRequest("remove_acls: name a resource")
        else:
            filters = [AclFilter.exactly(entry) for entry in entries_of(acls, resource)]
        results = _all(self.standard.delete_acls(_UNKNOWN_CALLER, filters))
        for result in results:
            _raise_if(result.error)
        return any(result.deleted for result in results)

    def get_acls(self, of: Resource | KafkaPrincipal) -> set[Acl]:
        """The ACLs of exactly this resource pattern, or the ACLs that name this principal."""
        if isinstance(of, Resource):
            return regrouped(self.standard.acls(_on(of)))
        whose = AccessControlEntryFilter(principal=str(principal_of(of)))
        by_resource = grouped(self.standard.acls(AclFilter(entry=whose)), lambda entry: entry[:3])
        return {acl for entries in by_resource.values() for acl in regrouped(entries)}

    def as_todays(self) -> TodaysAuthorizer:
        """This authorizer adapted to KIP-504's interface, which a node calls."""
        from authorizer.compat.kip11.adapter import SimpleAclAdapter

        return SimpleAclAdapter(self)

    def publish(self, delta: MetadataDelta, image: MetadataImage, manifest: Manifest) -> None:
        """Take the next image from a Replica."""
        self.standard.publish(delta, image, manifest)

    def complete_initial_load(self) -> None:
        """Note that all records up to the high-water mark are published."""
        self.standard.complete_initial_load()

    def note_load_fault(self, fault: Exception) -> None:
        """Note why the load of the log stopped."""
        self.standard.note_load_fault(fault)

    def note_staleness(self, for_ms: int) -> None:
        """Note how long the log has been unread, in milliseconds."""
        self.standard.note_staleness(for_ms)

    def set_acl_mutator(self, mutator: AclMutator | None) -> None:
        """Set the object that changes the log."""
        self.standard.set_acl_mutator(mutator)


def _subject(context: RequestContext) -> Subject:
    """The subject in Kafka 4.3: KIP-11's authorizer does not know CIDR blocks."""
    principals = context.principal, *context.additional_principals
    return subject_of(context.host, *principals, kafka=KafkaVersion.V4_3)


def _covering(
    index: AclIndex, resource_type: ResourceType, pattern_type: PatternType, name: str
) -> Iterator[Bucket]:
    """The ACLs of this pattern, and of all patterns that cover it."""
    literals, prefixed = index.literals[resource_type], index.prefixed[resource_type]
    for each in {name, WILDCARD} if pattern_type is LITERAL else {WILDCARD}:
        bucket = literals.buckets.get(each)
        if bucket is not None:
            yield bucket
    for prefix in with_shorter(prefixed.longest_prefix(name)):
        yield prefixed.buckets[prefix.name]


def _denies(entry: Entry, who: Subject, operation: Operation) -> bool:
    return (
        entry.permission_type is not ALLOW
        and entry.operation in (Operation.ALL, operation)
        and who.matches(entry)
    )


def _all(futures: Sequence[Future[T]]) -> list[T]:
    return [future.result() for future in futures]


def _raise_if(error: ApiError) -> None:
    if error:
        raise InvalidRequest(f"{error.code.name}: {error.message}")


def _on(resource: Resource) -> AclFilter:
    return AclFilter(
        ResourcePatternFilter(resource.resource_type, resource.name, resource.pattern_type)
    )
