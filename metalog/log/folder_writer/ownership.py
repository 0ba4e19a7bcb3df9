"""Checks that a folder's node may write its log: the node must be the quorum's only voter.

In a quorum with other voters, a node with a batch in a new epoch would win the next election. The
other voters would then truncate committed records. The check also refuses a folder with a problem
that a crash does not explain. This module must not change anything.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Final, NamedTuple

from metalog.errors import CorruptLog, InvalidTarget
from metalog.ids import parse_uuid
from metalog.log.folder.directory import DirectoryLog
from metalog.log.folder.layout import MetaProperties
from metalog.log.quorum.voters import NOT_NAMED, Quorum, quorum_at

_INSTEAD: Final = "change the running cluster instead (cluster://HOST:PORT)"


class Owner(NamedTuple):
    """The owner of a log: ``node_id`` is the only voter of ``quorum``."""

    node_id: int
    quorum: Quorum


def check_ownership(log: DirectoryLog, configured: Collection[int] | None) -> Owner:
    """The owner of ``log``; ``InvalidTarget`` or ``CorruptLog`` if the log may not be written.

    ``configured`` are the static voters in ``controller.quorum.voters``, or None. Before a node's
    first start, the folder does not name these voters.
    """
    _check_soundness(log)
    properties = _properties(log)
    node = properties.node_id
    if node is None:
        raise _refused(log, "meta.properties names no node.id", "format the folder")
    voters = log.voters.ids
    if log.voters == NOT_NAMED:
        voters = tuple(sorted(configured or ()))
    elif voters and configured is not None and set(configured) != set(voters):
        raise _refused(
            log,
            f"the configuration names the voters {_listed(configured)},"
            f" but {log.voters.why} names {_listed(voters)}",
            "configure the quorum's voters",
        )
    if not voters:
        raise _refused(
            log,
            f"the voters of its quorum are unknown: {log.voters.why}",
            "start its node once, or format it with --standalone"
            if log.voters == NOT_NAMED
            else _INSTEAD,
        )
    if node not in voters:
        raise _refused(
            log,
            f"node {node} does not vote in its quorum (voters {_listed(voters)}): this is the"
            " copy of a broker or observer, whose next fetch would remove the new records",
            _INSTEAD,
        )
    if len(voters) > 1:
        raise _refused(
            log,
            f"node {node} is one of {len(voters)} voters ({_listed(voters)}): with new records it"
            " would win the next election, and committed records would be lost",
            _INSTEAD,
        )
    quorum = find_quorum(log)
    _check_directory(log, properties, quorum)
    return Owner(node, quorum)


def find_quorum(log: DirectoryLog) -> Quorum:
    """The quorum's state in the log; ``voters`` is None if the voters are static."""
    state = log.quorum_state
    if state is not None and state.data_version == 0 and state.voters:
        return Quorum()
    return quorum_at(log, log.bounds().end)


def _properties(log: DirectoryLog) -> MetaProperties:
    properties = log.meta_properties
    if log.folder.log_dir is None or properties is None:
        raise _refused(
            log,
            "no meta.properties has its node.id",
            "give the metadata.log.dir of the node itself",
        )
    return properties


def _check_soundness(log: DirectoryLog) -> None:
    if log.damage is not None:
        raise log.damage
    by_crash = {str(log.torn_tail)}
    if log.may_be_missing is not None:
        by_crash.add(log.may_be_missing.found)
    for problem in log.problems:
        if problem not in by_crash:
            raise CorruptLog(problem, advice="replace the folder by a sound copy first")


def _check_directory(log: DirectoryLog, properties: MetaProperties, quorum: Quorum) -> None:
    """In a dynamic quorum, a voter is a node id with a directory id (KIP-853)."""
    if quorum.voters is None or properties.directory_id is None:
        return
    for voter in quorum.voters.voters:
        if voter.voter_directory_id != parse_uuid(properties.directory_id):
            raise _refused(
                log,
                f"the voter {voter.voter_id} has another directory id than this folder,"
                f" which has {properties.directory_id}",
                _INSTEAD,
            )


def _refused(log: DirectoryLog, why: str, instead: str) -> InvalidTarget:
    return InvalidTarget(f"{log.path}: not written to: {why}; {instead}")


def _listed(voters: Collection[int]) -> str:
    return ", ".join(map(str, sorted(voters)))
