"""KIP-11's Authorizer interface, for implementers.

This module must not know how a decision is made.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, overload

from authorizer.compat.kip11.model import Acl, AuthorizationException, Resource, Session
from metalog.acl import Operation
from metalog.principal import KafkaPrincipal

if TYPE_CHECKING:
    from authorizer.interface import Authorizer as TodaysAuthorizer


class Authorizer:
    """``kafka.security.auth.Authorizer``. A node instantiates a subclass without arguments."""

    def initialize(self, config: Mapping[str, object]) -> None:
        """Read the configuration; called once, before any decision."""
        raise NotImplementedError

    def authorize(self, session: Session, operation: Operation | str, resource: Resource) -> bool:
        """Whether the session may carry out the operation on the resource."""
        raise NotImplementedError

    def add_acls(self, acls: Iterable[Acl], resource: Resource) -> None:
        """Add ``acls`` to the ACLs of ``resource``."""
        raise NotImplementedError

    @overload
    def remove_acls(self, acls: Iterable[Acl], resource: Resource) -> bool: ...
    @overload
    def remove_acls(self, acls: Resource) -> bool: ...
    def remove_acls(self, acls: Iterable[Acl] | Resource, resource: Resource | None = None) -> bool:
        """Remove ``acls`` from ``resource``, or all ACLs of the resource ``acls``.

        Returns whether an ACL was removed.
        """
        raise NotImplementedError

    def get_acls(self, of: Resource | KafkaPrincipal) -> set[Acl]:
        """The ACLs of exactly this resource pattern, or the ACLs that name this principal."""
        raise NotImplementedError

    def refusal(
        self, session: Session, operation: Operation | str, resource: Resource
    ) -> Exception:
        """The exception to raise after ``authorize`` returned false."""
        name = operation if isinstance(operation, str) else operation.name
        return AuthorizationException(
            f"{session.principal} is not authorized to {name} "
            f"{resource.resource_type.name} {resource.name} from {session.host}"
        )

    def demand(self, session: Session, operation: Operation | str, resource: Resource) -> None:
        """Raise ``refusal(…)`` if the operation is denied, as KIP-11's server does."""
        if self.authorize(session, operation, resource) is not True:
            raise self.refusal(session, operation, resource)

    def as_todays(self) -> TodaysAuthorizer:
        """This authorizer adapted to KIP-504's interface, which a node calls."""
        from authorizer.compat.kip11.adapter import Kip11Adapter

        return Kip11Adapter(self)
