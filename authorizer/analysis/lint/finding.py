"""Defines a lint check, its input and its findings.

A check is a pure function from a ``LintSubject`` to findings. This module must not know how the
ACLs were read, the clock (``today`` is passed in), or how a finding is shown.
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
    """How bad a finding is. For example, an ACL whose effect differs from its text is an ERROR."""

    INFO = 1
    WARNING = 2
    ERROR = 3


class LintNotes(NamedTuple):
    """An ACL's notes in a file. ``expires`` is the last valid day (ISO 8601)."""

    owner: str | None = None
    expires: str | None = None


class CheckInput(Enum):
    """An input of a check that some sources lack."""

    TOPICS = "the topics of a log"
    USERS = "SCRAM users"
    NOTES = "the notes of a YAML, JSON or Avro file"
    OWNS = "a file with `owns`"
    SUPER_USERS = "super.users"
    DEFAULT_DENY = "allow.everyone.if.no.acl.found to be false"


class LintSubject(NamedTuple):
    """The ACLs, without duplicates, and their context; None stands for data that the source lacks.

    - ``repetitions``: the number of ids in a log, or of lines in files, for each repeated ACL.
    - ``outside``: ACLs outside their file's ``owns``, with the reason.
    - ``owned_twice``: places in files, each with a message about another owner of the same ACLs.
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
        return {
            CheckInput.TOPICS: bool(self.topics),
            CheckInput.USERS: bool(self.users),
            CheckInput.NOTES: self.notes is not None,
            CheckInput.OWNS: self.outside is not None,
            CheckInput.SUPER_USERS: bool(self.config.super_users),
            CheckInput.DEFAULT_DENY: not self.config.allow_everyone,
        }[need]


class Finding(NamedTuple):
    """``message`` is a clause to show beside ``acl``, or beside ``name`` without an ACL.

    The message mentions ``by``. ``advice`` says what to do besides ``remove`` and ``add``.
    ``effects`` has the decisions that change with another version of Kafka.
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
        """The kafka-acls commands, additions first; empty if one change has no command."""
        return Remedy(self.remove, self.add, ()).commands or ()


class Check(NamedTuple):
    """``title`` describes the findings in one sentence."""

    id: str
    title: str
    find: Callable[[LintSubject], Iterable[Finding]]
    needs: CheckInput | None = None


def check(
    id: str, title: str, needs: CheckInput | None = None
) -> Callable[[Callable[[LintSubject], Iterable[Finding]]], Check]:
    """A decorator that makes a ``Check`` of a function."""
    return lambda find: Check(id, title, find, needs)
