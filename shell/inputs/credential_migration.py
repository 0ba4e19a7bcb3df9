"""Selects and reports the SCRAM credentials that are copied together with ACLs.

Credentials are copied unchanged, so users keep their passwords. Reports show neither salts nor
keys. This module must not know how credentials are written.
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from metalog.errors import InvalidRequest
from metalog.text.plurals import counted
from metalog.text.visible_text import shown
from metalog_sources.formats.document import ScramUser, users_in_order
from metalog_sources.targets.target import LogTarget
from shell.output.output import Cell, Output

if TYPE_CHECKING:
    from collections.abc import Iterator

    from metalog_sources.targets.target import Target


class CredentialMove(NamedTuple):
    """A credential to copy. ``replaces``: the copy replaces a different credential."""

    user: ScramUser
    replaces: bool

    def text(self) -> str:
        user, mechanism, credential = self.user
        different = "different " if self.replaces else ""
        return (
            f"{different}{mechanism.mechanism_name} credential of {shown(user)}, "
            f"{credential.iterations} iterations"
        )

    def fields(self) -> dict[str, object]:
        """As in ``passwd --json``."""
        user, mechanism, credential = self.user
        return {
            "change": "set",
            "user": user,
            "mechanism": mechanism.name,
            "iterations": credential.iterations,
        }


def add_credentials(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--include-credentials",
        action="store_true",
        help="copy SCRAM users' salts and keys too, so that users keep their passwords (TARGET must"
        " be a folder)",
    )


def moves(
    wanted: Sequence[ScramUser], target: Target, arguments: Namespace, output: Output
) -> tuple[CredentialMove, ...]:
    """The credentials of ``wanted`` that ``target`` does not have; none without
    ``--include-credentials``."""
    if not arguments.include_credentials:
        if isinstance(target, LogTarget) and (found := list(_moves(wanted, target))):
            text = counted(len(found), "SCRAM credential is", "SCRAM credentials are")
            output.note(f"{text} not copied; --include-credentials copies them too")
        return ()
    if not isinstance(target, LogTarget):
        raise InvalidRequest(
            f"{arguments.source}: --include-credentials works only for a stopped node's folder; set"
            " passwords with metalog passwd"
        )
    for user, mechanism, credential in wanted:
        if not credential.salt:
            output.warn(
                f"left out: {mechanism.mechanism_name} of SCRAM user {shown(user)}: "
                "its credential is not in the source"
            )
    return tuple(_moves(wanted, target))


def _moves(wanted: Sequence[ScramUser], target: LogTarget) -> Iterator[CredentialMove]:
    current = {user[:2]: user for user in target.state().document.users}
    found: dict[object, ScramUser] = {}
    for user in users_in_order(wanted):
        if not user.credential.salt:
            continue
        if found.setdefault(user[:2], user) != user:
            raise InvalidRequest(
                f"SCRAM user {shown(user.user)} has two credentials for"
                f" {user.mechanism.mechanism_name} in WANTED; leave one out"
            )
    for key, user in found.items():
        if current.get(user[:2]) != user:
            yield CredentialMove(user, key in current)


def rows(credentials: Sequence[CredentialMove]) -> Iterator[list[Cell | str]]:
    for each in credentials:
        yield [Cell("~", "bad") if each.replaces else Cell("+", "good"), each.text(), ""]


def summary_text(credentials: Sequence[CredentialMove]) -> str:
    return f"{counted(len(credentials), 'SCRAM credential')} to set"
