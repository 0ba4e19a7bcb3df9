"""Every kind of damage ends in one error with its position, or in a torn tail. The log is Kafka's,
cut into three segments at batch boundaries; each test changes one thing. Everything before the
damage is still read, nothing after it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from metalog.errors import CorruptLog
from metalog.log.folder.directory import DirectoryLog
from metalog.log.folder.layout import segment_name
from metalog.log.folder.segment import TornTail
from metalog.ports import Appended
from metalog.records.batch import Batch, decode_batch, encode_batch
from tests.support.disk.memory_disk import MemoryDisk
from tests.support.kafka.cases import DamagedCase, kafka_case

ROOT = Path("/log-dir")
FOLDER = ROOT / "__cluster_metadata-0"
CUTS = (0, 80, 204)


class Sound(NamedTuple):
    """The undamaged log: its batches, with the segment and byte where each begins."""

    disk: MemoryDisk
    batches: list[Batch]
    places: list[tuple[Path, int]]

    def segment(self, number: int) -> bytearray:
        return self.disk.contents[FOLDER / segment_name(CUTS[number])]

    def offsets(self, number: int) -> list[int]:
        """The indexes in ``batches`` of those in a segment."""
        path = FOLDER / segment_name(CUTS[number])
        return [place for place, (where, _) in enumerate(self.places) if where == path]


@pytest.fixture
def sound() -> Sound:
    case = kafka_case("quorum-4.3/node-11")
    contents = {ROOT / "meta.properties": (case.log_dir / "meta.properties").read_bytes()}
    for name in ("leader-epoch-checkpoint", "quorum-state", "partition.metadata"):
        contents[FOLDER / name] = (case.metadata_dir / name).read_bytes()
    log = (case.metadata_dir / segment_name(0)).read_bytes()
    batches, places, position = [], [], 0
    while position < len(log):
        batch = decode_batch(log, position)
        path = FOLDER / segment_name(max(cut for cut in CUTS if cut <= batch.base_offset))
        places.append((path, len(contents.get(path, b""))))
        contents[path] = contents.get(path, b"") + log[position : position + batch.size]
        batches.append(batch)
        position += batch.size
    return Sound(MemoryDisk(contents), batches, places)


def read(disk: MemoryDisk) -> tuple[list[Batch], CorruptLog | TornTail | None]:
    """The batches that a reader gets, and why it ended."""
    batches: list[Batch] = []
    try:
        log = DirectoryLog(ROOT, files=disk)
        for event in log.read(0):
            if isinstance(event, Appended):
                batches.append(event.batch)
    except CorruptLog as error:
        return batches, error
    return batches, log.torn_tail


def bare(batches: list[Batch]) -> list[Batch]:
    return [batch._replace(file=None, position=0) for batch in batches]


def reencoded(batch: Batch, **changes: int) -> bytes:
    return encode_batch(batch._replace(**changes))


def test_the_sound_log_reads_whole(sound: Sound) -> None:
    batches, end = read(sound.disk)
    assert end is None
    assert bare(batches) == bare(sound.batches)


def flip(position: int, mask: int) -> Callable[[bytearray, int], None]:
    def change(segment: bytearray, byte: int) -> None:
        segment[byte + position] ^= mask

    return change


IN_PLACE = {
    "base offset forward": (flip(7, 1), "offset"),
    "base offset far off": (flip(0, 0x40), "offset"),
    "base offset negative": (flip(0, 0x80), "base offset"),
    "length shorter": (flip(11, 2), "checksum"),
    "length past the end": (flip(8, 0x01), ""),
    "length negative": (flip(8, 0x80), "bytes"),
    "epoch": (flip(15, 0x08), "epoch"),
    "epoch negative": (flip(12, 0x80), "epoch"),
    "magic": (flip(16, 1), "magic"),
    "crc": (flip(17, 1), "checksum"),
    "attributes": (flip(22, 1), "checksum"),
    "record count": (flip(60, 1), "checksum"),
    "body": (flip(65, 1), "checksum"),
}


@pytest.mark.once
@pytest.mark.parametrize("number", [0, 1, 2])
@pytest.mark.parametrize("kind", IN_PLACE)
def test_one_changed_field_stops_at_its_batch(sound: Sound, kind: str, number: int) -> None:
    change, said = IN_PLACE[kind]
    victim = sound.offsets(number)[len(sound.offsets(number)) // 2]
    path, byte = sound.places[victim]
    change(sound.segment(number), byte)
    _, end = read(sound.disk)
    assert isinstance(end, CorruptLog)
    assert end.file == str(path)
    assert end.byte == byte
    assert end.offset is not None
    assert said in end.problem


@pytest.mark.parametrize("number", [0, 1])
def test_what_precedes_the_damage_is_read(sound: Sound, number: int) -> None:
    victim = sound.offsets(number)[3]
    sound.segment(number)[sound.places[victim][1] + 70] ^= 1
    batches, end = read(sound.disk)
    assert isinstance(end, CorruptLog)
    assert bare(batches) == bare(sound.batches[:victim])


@pytest.mark.parametrize(
    ("what", "tail"),
    [
        ("one byte", lambda data: data[:1]),
        ("half a base offset", lambda data: data[:5]),
        ("half a header", lambda data: data[:30]),
        ("a header", lambda data: data[:61]),
        ("half a body", lambda data: data[: len(data) - 7]),
        ("all but a byte", lambda data: data[:-1]),
        ("zeros", lambda data: bytes(500)),
        ("a few zeros", lambda data: bytes(3)),
    ],
)
def test_a_torn_tail_is_left_out_and_reported(
    sound: Sound, what: str, tail: Callable[[bytes], bytes]
) -> None:
    last = sound.batches[-1]
    path, byte = sound.places[-1]
    segment = sound.segment(2)
    torn = tail(bytes(segment[byte:]))
    segment[byte:] = torn
    batches, end = read(sound.disk)
    assert end == TornTail(str(path), byte, len(torn), last.base_offset)
    assert bare(batches) == bare(sound.batches[:-1])


@pytest.mark.parametrize("number", [0, 1])
def test_only_the_last_segment_may_be_torn(sound: Sound, number: int) -> None:
    victim = sound.offsets(number)[-1]
    path, byte = sound.places[victim]
    del sound.segment(number)[-3:]
    batches, end = read(sound.disk)
    assert isinstance(end, CorruptLog)
    assert (end.file, end.byte, end.offset) == (str(path), byte, sound.batches[victim].base_offset)
    assert bare(batches) == bare(sound.batches[:victim])


@pytest.mark.parametrize("garbage", [b"\xff" * 200, b"x", bytes(100) + b"\x01", b"0123456789" * 30])
def test_garbage_at_the_end_is_no_torn_tail(sound: Sound, garbage: bytes) -> None:
    length = len(sound.segment(2))
    sound.segment(2).extend(garbage)
    _, end = read(sound.disk)
    assert isinstance(end, CorruptLog)
    assert end.byte == length


def test_batches_out_of_their_order(sound: Sound) -> None:
    one, two = (sound.places[place][1] for place in sound.offsets(1)[2:4])
    end_of_two = two + sound.batches[sound.offsets(1)[3]].size
    segment = sound.segment(1)
    segment[one:end_of_two] = segment[two:end_of_two] + segment[one:two]
    _, end = read(sound.disk)
    assert isinstance(end, CorruptLog)
    assert (end.byte, end.file) == (one, str(FOLDER / segment_name(80)))


def test_a_batch_that_comes_twice(sound: Sound) -> None:
    victim = sound.offsets(1)[2]
    byte, size = sound.places[victim][1], sound.batches[victim].size
    segment = sound.segment(1)
    segment[byte:byte] = segment[byte : byte + size]
    _, end = read(sound.disk)
    assert isinstance(end, CorruptLog)
    assert end.byte == byte + size


def test_a_batch_that_is_missing(sound: Sound) -> None:
    victim = sound.offsets(1)[2]
    byte, size = sound.places[victim][1], sound.batches[victim].size
    del sound.segment(1)[byte : byte + size]
    _, end = read(sound.disk)
    assert isinstance(end, CorruptLog)
    assert (end.byte, end.offset) == (byte, sound.batches[victim].base_offset)


@pytest.mark.parametrize(("epoch", "said"), [(1, "falls"), (9, "without a leader change")])
def test_an_epoch_that_falls_or_rises_alone(sound: Sound, epoch: int, said: str) -> None:
    victim = sound.offsets(1)[4]
    byte, size = sound.places[victim][1], sound.batches[victim].size
    changed = reencoded(sound.batches[victim], epoch=epoch)
    sound.segment(1)[byte : byte + size] = changed
    _, end = read(sound.disk)
    assert isinstance(end, CorruptLog)
    assert said in end.problem
    assert end.byte == byte


def test_an_epoch_that_leader_epoch_checkpoint_knows_otherwise(sound: Sound) -> None:
    sound.disk.contents[FOLDER / "leader-epoch-checkpoint"][:] = b"0\n3\n1 0\n2 80\n3 120\n"
    _, end = read(sound.disk)
    assert isinstance(end, CorruptLog)
    assert "leader-epoch-checkpoint" in end.problem


def test_a_missing_segment_in_the_middle(sound: Sound) -> None:
    del sound.disk.contents[FOLDER / segment_name(80)]
    batches, end = read(sound.disk)
    assert isinstance(end, CorruptLog)
    assert (end.file, end.offset) == (str(FOLDER / segment_name(204)), 80)
    assert "records 80 to 203 are missing" in end.problem
    assert bare(batches) == bare([batch for batch in sound.batches if batch.base_offset < 80])


def test_segments_that_overlap(sound: Sound) -> None:
    first = sound.offsets(1)[0]
    size = sound.batches[first].size
    sound.segment(0).extend(sound.segment(1)[:size])
    _, end = read(sound.disk)
    assert isinstance(end, CorruptLog)
    assert "overlaps" in end.problem
    assert end.file == str(FOLDER / segment_name(80))


def test_a_segment_under_another_name(sound: Sound) -> None:
    contents = sound.disk.contents
    contents[FOLDER / segment_name(90)] = contents.pop(FOLDER / segment_name(80))
    _, end = read(sound.disk)
    assert isinstance(end, CorruptLog)
    assert end.offset == 80


def test_an_empty_last_segment_is_a_rolled_one(sound: Sound) -> None:
    end_offset = sound.batches[-1].next_offset
    sound.disk.contents[FOLDER / segment_name(end_offset)] = bytearray()
    batches, end = read(sound.disk)
    assert end is None
    assert bare(batches) == bare(sound.batches)
    assert DirectoryLog(ROOT, files=sound.disk).bounds()[:3] == (0, end_offset, 4)


def test_an_empty_last_segment_past_the_end_is_a_hole(sound: Sound) -> None:
    sound.disk.contents[FOLDER / segment_name(sound.batches[-1].next_offset + 1)] = bytearray()
    _, end = read(sound.disk)
    assert isinstance(end, CorruptLog)
    assert "missing" in end.problem


def test_the_shared_examples_of_damage(damaged_case: DamagedCase) -> None:
    facts = damaged_case.facts
    if facts["kind"] == "snapshot":
        return
    log = DirectoryLog(damaged_case.log_dir)
    batches, end = [], None
    try:
        for event in log.read(0):
            if isinstance(event, Appended):
                batches.append(event.batch)
        end = log.torn_tail
    except CorruptLog as error:
        end = error
    if facts["expect"] == "torn-tail":
        assert isinstance(end, TornTail)
        assert batches[-1].next_offset == facts["goodUntilOffset"]
        assert (end.byte, end.size) == (
            facts["batchPosition"],
            facts["byte"] - facts["batchPosition"],
        )
    else:
        assert facts["expect"] == "stop"
        assert isinstance(end, CorruptLog)
        assert (end.offset, end.byte) == (facts["batchBaseOffset"], facts["batchPosition"])
        assert all(batch.next_offset <= facts["goodUntilOffset"] for batch in batches)
