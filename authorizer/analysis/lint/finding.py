"""Defines a lint check, its input and its findings.

A check is a pure function from a ``LintSubject`` to findings. It must not know how the ACLs
were read, the clock (``today`` is passed in), or how a finding is shown.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from datetime import date
from enum import Enum, IntEnum
from typing import NamedTuple

from authorizer.analysis.changes.upgrade import UpgradeEffect
from authorizer.analysis.remedies.remedies import Remedy
from authorizer.config import AuthorizerConfig
from metalog.acl import Acl


class Severity(IntEnum):
    """How bad a finding is. ERROR: for example, an ACL has another effect than its text says."""

    INFO = 1
    WARNING = 2
    ERROR = 3


class LintNotes(NamedTuple):
    """The notes beside an ACL in a file: its owner, and its last valid day (ISO 8601)."""

    owner: str | None = None
    expires: str | None = None


class CheckInput(Enum):
    """An input that a check needs, and that some sources do not have."""

    TOPICS = "the topics of a log"
    USERS = "SCRAM users"
    NOTES = "the notes of a YAML, JSON or Avro file"
    OWNS = "a file with `owns`"
    SUPER_USERS = "super.users"
    DEFAULT_DENY = "allow.everyone.if.no.acl.found to be false"


class LintSubject(NamedTuple):
    """The ACLs, without duplicates, and their context; None stands for data that the source lacks.

    ``repetitions`` has the number of ids in a log, or lines in files, of each ACL that has several.
    ``outside`` has the ACLs outside their file's ``owns``, with the reason. ``owned_twice`` has
    places in files, each with a message about another file that owns the same ACLs.
    """

    acls: tuple[Acl, ...]
    config: AuthorizerConfig
    today: date
    repetitions: Mapping[Acl, int] = {}
    is_log: bool = False
    topics: Collection[str] | None = None
    users: Collection[str] | None = None
    notes: Mapping[Acl, LintNotes] | None = None
    outside: Mapping[Acl, str] | None = None
    owned_twice: Sequence[tuple[str, str]] = ()

    def has(self, need: CheckInput) -> bool:
        """Whether the source has what a check needs."""
        return {
            CheckInput.TOPICS: bool(self.topics),
            CheckInput.USERS: bool(self.users),
            CheckInput.NOTES: self.notes is not None,
            CheckInput.OWNS: self.outside is not None,
            CheckInput.SUPER_USERS: bool(self.config.super_users),
            CheckInput.DEFAULT_DENY: not self.config.allow_everyone,
        }[need]


class Finding(NamedTuple):
    """``message`` is a clause to show beside ``acl``, or beside ``name`` if there is no ACL.

    ``by`` is the other ACL that the message mentions. ``remove`` and ``add`` have the ACLs to
    remove and to add; ``advice`` says what else to do. ``effects`` has the decisions that change
    with another version of Kafka.
    """

    severity: Severity
    message: str
    acl: Acl | None = None
    name: str = ""
    by: Acl | None = None
    remove: tuple[Acl, ...] = ()
    add: tuple[Acl, ...] = ()
    advice: str = ""
    effects: tuple[UpgradeEffect, ...] = ()

    @property
    def commands(self) -> tuple[str, ...]:
        """The kafka-acls commands, additions first; empty if a change has no command."""
        return Remedy(self.remove, self.add, ()).commands or ()


class Check(NamedTuple):
    """``title`` describes the check's findings in one sentence."""

    id: str
    title: str
    find: Callable[[LintSubject], Iterable[Finding]]
    needs: CheckInput | None = None


def check(
    id: str, title: str, needs: CheckInput | None = None
) -> Callable[[Callable[[LintSubject], Iterable[Finding]]], Check]:
    """A decorator that makes a ``Check`` of the function below it."""
    return lambda find: Check(id, title, find, needs)
