"""The kinds of SOURCE, and the kinds that a verb accepts: one table for help and for errors.

This module must not know any verb, nor how a SOURCE is opened.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

from metalog.errors import InvalidSource, InvalidTarget

FORMS: Final = {
    "folder": "a metadata.log.dir or its __cluster_metadata-0",
    "folders": "several voters' folders joined by +",
    "segment": "a .log file",
    "snapshot": "a .checkpoint file",
    "quorum": "quorum://HOST:PORT of controllers",
    "topic": "topic://HOST:PORT/TOPIC",
    "file": "a file of ACLs",
    "files": "a folder of YAML",
    "cluster": "cluster://HOST:PORT",
    "zookeeper": "zookeeper://HOST:PORT",
}
"""The ``kind`` of an opened SOURCE -> how a user writes such a SOURCE."""
_LOG_KINDS: Final = ("folder", "folders", "segment", "snapshot", "quorum", "topic")
NO_HISTORY: Final = "not a log: it has only the present state, without offsets and history"


class SourceKinds(NamedTuple):
    """The kinds of SOURCE that a verb accepts.

    ``forms`` maps kinds as ``FORMS`` does. ``reason`` says why other kinds are refused. A verb that
    accepts only logs refuses a store with the reason ``NO_HISTORY``.
    """

    forms: Mapping[str, str]
    reason: str
    is_target: bool = False

    def __str__(self) -> str:
        return ", ".join(self.forms.values())

    def check(self, kind: str, text: str) -> None:
        """Raise the ``refusal`` if the verb does not accept ``kind``."""
        if kind not in self.forms:
            raise self.refusal(kind, text)

    def refusal(self, kind: str, text: str) -> InvalidSource | InvalidTarget:
        """The error (one line): why ``text`` is refused, and the accepted kinds."""
        *others, last = self.forms.values()
        error = InvalidTarget if self.is_target else InvalidSource
        only_logs = self.forms.keys() <= set(_LOG_KINDS) and not self.is_target
        why = NO_HISTORY if only_logs and kind not in _LOG_KINDS else self.reason
        return error(f"{text}: {why}; give {', '.join(others)} or {last}")


def _of(*kinds: str) -> dict[str, str]:
    return {kind: FORMS[kind] for kind in kinds}


_STOPPED: Final = {"folder": "a stopped node's folder"}

ANY: Final = SourceKinds(FORMS, "is not supported")
ON_THIS_MACHINE: Final = SourceKinds(
    _of("folder", "folders", "segment", "snapshot", "file", "files"), "is not on this machine"
)
LOGS: Final = SourceKinds(_of(*_LOG_KINDS), NO_HISTORY)
ARCHIVED: Final = SourceKinds(
    _of(*(kind for kind in _LOG_KINDS if kind != "segment")),
    "cannot prove that records are committed",
)
FOLLOWED: Final = SourceKinds(
    _of(*(kind for kind in _LOG_KINDS if kind != "snapshot")), "is not a log that is still written"
)
WITH_TOPICS: Final = SourceKinds(_of(*_LOG_KINDS, "cluster"), "does not list topics")
ACL_TARGETS: Final = SourceKinds(
    _of("cluster", "zookeeper") | _STOPPED, "cannot be the first argument (TARGET)", is_target=True
)
USER_TARGETS: Final = SourceKinds(
    _of("cluster") | _STOPPED, "SCRAM users cannot be changed there", is_target=True
)
