"""The kinds of SOURCE, and which of them a verb takes: one table for help and for refusals.

What a verb's help lists is opened; any other kind is refused before anything is connected to.
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
"""By the ``kind`` of an opened SOURCE: how it is written."""


class SourceKinds(NamedTuple):
    """The kinds that a verb takes, with how each is written; ``lacks`` is why it takes no other."""

    forms: Mapping[str, str]
    lacks: str
    is_target: bool = False

    def __str__(self) -> str:
        return ", ".join(self.forms.values())

    def check(self, kind: str, text: str) -> None:
        """Raises the ``refusal`` of ``text`` where that is of another ``kind``."""
        if kind not in self.forms:
            raise self.refusal(text)

    def refusal(self, text: str) -> InvalidSource | InvalidTarget:
        """One line: why ``text`` is not taken, and what is."""
        *others, last = self.forms.values()
        error = InvalidTarget if self.is_target else InvalidSource
        return error(f"{text}: {self.lacks}; give {', '.join(others)} or {last}")


def _of(*kinds: str) -> dict[str, str]:
    return {kind: FORMS[kind] for kind in kinds}


_LOG_KINDS: Final = ("folder", "folders", "segment", "snapshot", "quorum", "topic")
_STOPPED: Final = {"folder": "a stopped node's folder"}

ANY: Final = SourceKinds(FORMS, "is not known")
ON_THIS_MACHINE: Final = SourceKinds(
    _of("folder", "folders", "segment", "snapshot", "file", "files"), "is not on this machine"
)
LOGS: Final = SourceKinds(
    _of(*_LOG_KINDS), "has only the present state, without offsets and history"
)
ARCHIVED: Final = SourceKinds(
    _of(*(kind for kind in _LOG_KINDS if kind != "segment")),
    "cannot prove that records are committed",
)
FOLLOWED: Final = SourceKinds(
    _of(*(kind for kind in _LOG_KINDS if kind != "snapshot")), "is not a log that goes on"
)
WITH_TOPICS: Final = SourceKinds(_of(*_LOG_KINDS, "cluster"), "knows no topics")
ACL_TARGETS: Final = SourceKinds(
    _of("cluster", "zookeeper") | _STOPPED, "cannot be written to", is_target=True
)
USER_TARGETS: Final = SourceKinds(
    _of("cluster") | _STOPPED, "SCRAM users cannot be changed there", is_target=True
)
