"""A snapshot that arrives in parts equals the whole, wherever it is divided; damage is found."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metalog.errors import CorruptSnapshot, InvalidSource
from metalog.ids import SnapshotId
from metalog.log.quorum.snapshot_download import Download
from metalog.records.batch import encode_batch
from metalog.wire.fetch import Chunk
from tests.support.disk.tiny_log import ace, snapshot

ID = SnapshotId(9, 1)
WHOLE = b"".join(map(encode_batch, snapshot(ace(1), ace(2), ace(3))))


def downloaded(data: bytes, *cuts: int) -> list[bytes]:
    download = Download(ID, "quorum://a:1")
    found = []
    for end in (*sorted(cuts), len(data)):
        if end > download.position:
            piece = data[download.position : end]
            chunk = Chunk(0, len(data), download.position, piece)
            found += map(encode_batch, download.take(chunk))
    assert download.is_done
    return found


@given(st.lists(st.integers(1, len(WHOLE)), max_size=6))
def test_however_it_is_cut(cuts: list[int]) -> None:
    assert b"".join(downloaded(WHOLE, *cuts)) == WHOLE


def test_byte_by_byte() -> None:
    assert b"".join(downloaded(WHOLE, *range(1, len(WHOLE)))) == WHOLE


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (WHOLE[:-1], "the snapshot ends inside a batch"),
        (WHOLE[:30] + b"\xff" + WHOLE[31:], "checksum"),
        (WHOLE + WHOLE, "offset 0 where 5 must follow"),
    ],
)
def test_damage_is_named_with_its_place(data: bytes, said: str) -> None:
    with pytest.raises(CorruptSnapshot, match=f"quorum://a:1 {ID}, offset .*, byte .*: .*{said}"):
        downloaded(data, 40)


@pytest.mark.parametrize(
    "chunk",
    [
        Chunk(0, len(WHOLE), 11, WHOLE[11:]),
        Chunk(0, len(WHOLE) + 1, 10, WHOLE[10:]),
        Chunk(0, len(WHOLE), 10, b""),
        Chunk(0, len(WHOLE), 10, WHOLE[10:] + b"x"),
    ],
)
def test_pieces_that_do_not_fit_are_refused(chunk: Chunk) -> None:
    download = Download(ID, "quorum://a:1")
    assert list(download.take(Chunk(0, len(WHOLE), 0, WHOLE[:10]))) == []
    with pytest.raises(CorruptSnapshot, match="do not fit together"):
        download.take(chunk)


def test_a_snapshot_that_is_gone_says_so() -> None:
    with pytest.raises(
        InvalidSource, match="cannot be fetched: SNAPSHOT_NOT_FOUND; retry, because"
    ):
        Download(ID, "quorum://a:1").take(Chunk(98))
