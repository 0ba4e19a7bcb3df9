"""Refuses to delete the login of the caller, or of the last SCRAM user that may alter ACLs.

This module must not know how a credential is deleted.
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from metalog.acl import CLUSTER_NAME, PatternType, ResourcePatternFilter, ResourceType
from metalog.errors import InvalidRequest
from metalog.scram import ScramMechanism
from metalog.text.visible_text import shown
from metalog_sources.store import NarrowStore, Store
from metalog_sources.targets.target import likely_kafka
from shell.context import read_config, state_document

if TYPE_CHECKING:
    from metalog_sources.source import Source
    from metalog_sources.targets.credentials import CredentialTarget
    from shell.output.output import Output


CLUSTER_ACLS = ResourcePatternFilter(ResourceType.CLUSTER, CLUSTER_NAME, PatternType.MATCH)
_ANYWAY = "to delete it anyway, pass --allow-lockout"


class Deletion(NamedTuple):
    """A deletion of ``user``'s credentials for ``mechanisms``. ``users`` has the iterations of all
    credentials."""

    user: str
    mechanisms: Sequence[ScramMechanism]
    users: Mapping[str, Mapping[ScramMechanism, int]]

    @property
    def is_whole(self) -> bool:
        return set(self.mechanisms) >= self.users[self.user].keys()


def refuse_lost_login(
    source: Source,
    target: CredentialTarget,
    deletion: Deletion,
    arguments: Namespace,
    output: Output,
) -> None:
    """Refuse the deletion if it locks out the caller, or the last SCRAM user that may alter ACLs.

    Raises:
        InvalidRequest: the deletion is refused.
    """
    user = deletion.user
    if caller_of(source, arguments) == f"User:{user}":
        login_mechanism = getattr(target, "caller_mechanism", None)
        deleted = {each.mechanism_name for each in deletion.mechanisms}
        if deletion.is_whole or login_mechanism in deleted:
            raise InvalidRequest(f"this removes the login of {shown(user)}, the caller; {_ANYWAY}")
    if deletion.is_whole and _is_last_admin(source, target, deletion, arguments, output):
        raise InvalidRequest(
            f"{shown(user)} is the last SCRAM user that may alter ACLs; if super users log in "
            f"without SCRAM, name them with --super-users; {_ANYWAY}"
        )


def _is_last_admin(
    source: Source,
    target: CredentialTarget,
    deletion: Deletion,
    arguments: Namespace,
    output: Output,
) -> bool:
    from shell.tasks.plans.lockout import who_may_alter

    try:
        if isinstance(target, NarrowStore):
            state = target.state_about([CLUSTER_ACLS])
        else:
            assert isinstance(target, Store)
            state = target.state()
        acls = state_document(state, arguments, output).acls
    except InvalidRequest as error:
        raise InvalidRequest(
            f"{error}; so it is unknown whether anybody could alter ACLs; {_ANYWAY}"
        ) from None
    config = read_config(arguments, source, output).with_kafka(likely_kafka(target), ()).config
    could = who_may_alter(acls, config, [f"User:{user}" for user in deletion.users])
    return could == {f"User:{deletion.user}"}


def add_lockout(parser: ArgumentParser) -> None:
    group = parser.add_argument_group("protection against lockout")
    group.add_argument(
        "--allow-lockout",
        action="store_true",
        help="allow a change that takes the right to alter ACLs from the caller, or from everybody",
    )
    group.add_argument(
        "--caller",
        metavar="TYPE:NAME",
        help="the principal that makes the change (default: the user of --command-config)",
    )


def caller_of(source: Source, arguments: Namespace) -> str | None:
    """The principal of ``--caller``, or else the user that logs in to the target."""
    from metalog.principal import parse_principal

    if arguments.caller is not None:
        return str(parse_principal(arguments.caller))
    return getattr(source.opened, "caller", None)
