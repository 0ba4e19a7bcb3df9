"""File names and small files of a log's folder are read as Kafka reads them."""

import json
from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metalog.errors import CorruptLog
from metalog.ids import METADATA_TOPIC_ID, SnapshotId
from metalog.log.epochs import EpochStart
from metalog.log.folder.layout import (
    MetaProperties,
    QuorumState,
    parse_leader_epochs,
    parse_meta_properties,
    parse_partition_metadata,
    parse_quorum_state,
    segment_name,
    segments,
    snapshot_name,
    snapshots,
)

KEYS = st.sampled_from(
    ["leaderId", "leaderEpoch", "votedId", "currentVoters", "voterId", "data_version"]
)

LEFTOVERS = [
    "00000000000000000000.index",
    "00000000000000000000.timeindex",
    "00000000000000000000.log.deleted",
    "00000000000000000000.snapshot",
    "00000000000000000140-0000000001.checkpoint.deleted",
    "00000000000000000140-0000000001.checkpoint.part",
    "00000000000000000140-0000000001-123.checkpoint.part",
    "0.log",
    "99999999999999999999.log",
    "00000000000000000140-9999999999.checkpoint",
    "leader-epoch-checkpoint",
    "quorum-state",
]


def test_segments_are_told_from_leftovers() -> None:
    assert segments(["00000000000000000170.log", *LEFTOVERS, segment_name(0)]) == [0, 170]


def test_snapshots_are_told_from_leftovers() -> None:
    newest = SnapshotId(9, 2)
    assert snapshots([snapshot_name(newest), *LEFTOVERS, f"{8:020}-{3:010}.checkpoint"]) == [
        SnapshotId(8, 3),
        newest,
    ]


def test_leader_epochs() -> None:
    epochs = parse_leader_epochs(b"0\n2\n1 608\n4 723\n", "f")
    assert epochs.starts == (EpochStart(1, 608), EpochStart(4, 723))
    assert [epochs.epoch_at(offset) for offset in (0, 608, 722, 723, 9999)] == [None, 1, 1, 4, 4]
    assert parse_leader_epochs(b"", "f").starts == ()
    assert parse_leader_epochs(b"0\n0\n", "f").starts == ()


@pytest.mark.parametrize(
    "data",
    [
        b"1\n0\n",
        b"0\n1\n",
        b"0\n1\n1 0\n2 5\n",
        b"0\n2\n2 0\n1 5\n",
        b"0\n2\n1 5\n2 5\n",
        b"0\n1\n1\n",
        b"0\n1\n1 2 3\n",
        b"0\nx\n",
        b"\n",
        b"0",
        b"\xff\x00",
    ],
)
def test_damaged_leader_epochs_are_refused_by_name(data: bytes) -> None:
    with pytest.raises(CorruptLog, match="some/leader-epoch-checkpoint"):
        parse_leader_epochs(data, "some/leader-epoch-checkpoint")


def test_quorum_state_of_both_versions() -> None:
    static = (
        b'{"clusterId":"","leaderId":12,"leaderEpoch":3,"votedId":-1,"appliedOffset":0,'
        b'"currentVoters":[{"voterId":11},{"voterId":12}],"data_version":0}'
    )
    assert parse_quorum_state(static, "f") == QuorumState(12, 3, -1, (11, 12), 0)
    dynamic = (
        b'{"leaderId":1,"leaderEpoch":1,"votedId":-1,'
        b'"votedDirectoryId":"AAAAAAAAAAAAAAAAAAAAAA","data_version":1}'
    )
    assert parse_quorum_state(dynamic, "f") == QuorumState(1, 1, -1, (), 1)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"{",
        b"[]",
        b"{}",
        b'{"leaderId":"x","leaderEpoch":1}',
        b'{"leaderId":1,"leaderEpoch":1,"currentVoters":[3]}',
        b'{"leaderId":1,"leaderEpoch":1,"currentVoters":5}',
        b'{"leaderId":1,"leaderEpoch":1,"data_version":2}',
        b"[" * 100_000,
        b"\xff",
    ],
)
def test_damaged_quorum_state_is_refused(data: bytes) -> None:
    with pytest.raises(CorruptLog):
        parse_quorum_state(data, "quorum-state")


def test_meta_properties() -> None:
    folder = "o_4CMkHkb9_BKRqMW_rAaw"
    data = f"#\nnode.id=1\ndirectory.id={folder}\nversion=1\ncluster.id=qpE8\n".encode()
    assert parse_meta_properties(data, "f") == MetaProperties("qpE8", 1, folder, "1")
    assert parse_meta_properties(b"", "f") == MetaProperties(None, None, None, None)
    for damaged in (b"node.id=one", b"directory.id=o_4C", b"directory.id=" + b"\xe9" * 22):
        with pytest.raises(CorruptLog):
            parse_meta_properties(damaged, "f")


def test_partition_metadata() -> None:
    data = b"version: 0\ntopic_id: AAAAAAAAAAAAAAAAAAAAAQ"
    assert parse_partition_metadata(data, "f") == METADATA_TOPIC_ID
    for damaged in (b"", data + b"\nx", data.replace(b"0", b"1"), data + b"A"):
        with pytest.raises(CorruptLog):
            parse_partition_metadata(damaged, "f")


@settings(deadline=None)
@given(
    st.binary()
    | st.text("0123456789 \n-x").map(str.encode)
    | st.recursive(
        st.none() | st.integers() | st.text(max_size=3),
        lambda inner: st.lists(inner) | st.dictionaries(KEYS, inner),
    ).map(lambda value: json.dumps(value).encode())
)
def test_nothing_but_corrupt_log_escapes_a_parser(data: bytes) -> None:
    for parse in (
        parse_leader_epochs,
        parse_quorum_state,
        parse_meta_properties,
        parse_partition_metadata,
    ):
        with suppress(CorruptLog):
            parse(data, "file")
