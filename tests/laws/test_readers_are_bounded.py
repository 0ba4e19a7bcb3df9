"""A reader's cost grows linearly with its input, for any input: docs/formats/limits.md."""

from __future__ import annotations

import time
import tracemalloc
import zlib
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from itertools import cycle, islice
from pathlib import Path
from typing import Any

import cramjam
import pyarrow as pa
import pytest

from authorizer.audit.layouts import read_entry
from authorizer.audit.line import parse_line
from authorizer.config import from_properties
from metalog.acl import PatternType, ResourceType
from metalog.config.jaas import login_modules
from metalog.config.properties import parse_properties, properties_mapping
from metalog.errors import MetalogError
from metalog.ids import SnapshotId
from metalog.log.continuity import Continuity
from metalog.log.folder import layout
from metalog.log.folder.extent import find_extents
from metalog.log.folder.segment import SegmentReader
from metalog.records.avro.codec import from_avro, to_avro
from metalog.records.avro.snapshot import avro_snapshot, read_avro_snapshot
from metalog.records.batch import Batch, assemble_batch, batch_bytes
from metalog.records.checkpoint import check_snapshot, snapshot_batches
from metalog.records.control import decode_control
from metalog.records.frame import decode_value
from metalog.records.messages import ClientQuotaRecord
from metalog.records.primitives.varint import write_unsigned_varint
from metalog.records.record import RawRecord, write_records
from metalog_sources.formats.avro import read_avro
from metalog_sources.formats.commands.kafka_acls import read_kafka_acls
from metalog_sources.formats.csv import read_csv
from metalog_sources.formats.json import read_json
from metalog_sources.formats.yaml import read_yaml
from metalog_sources.formats.zookeeper import znodes
from metalog_sources.live.client_file import wire_settings
from metalog_sources.names import sources_in
from metalog_sources.targets.plan import VERSION, read_saved
from metalog_spark.ingest.audit_files import unpacked, whole_lines
from shell.arguments.yaml_files.expectations import expectations_of
from shell.inputs.batch_questions import read_json_line
from tests.support.disk.memory_disk import MemoryDisk, MemoryReadable
from tests.support.disk.tiny_log import ace

PAGE = Path(__file__).parents[2] / "docs" / "formats" / "limits.md"
SMALL, TIMES = 5_000, 8
ALWAYS = 1 << 20
INFLATED = 64 << 20
LINES = 8 << 20
SLOWEST = 4 * TIMES
"""For eight times the input, a linear reader takes eight times as long, and a quadratic one
sixty-four times."""
RESOURCE = ResourceType.TOPIC, "t", PatternType.LITERAL
Reader = Callable[[bytes], Any]
Hostile = Callable[[int], bytes]


def repeated(part: bytes, head: bytes = b"", tail: bytes = b"") -> Hostile:
    return lambda size: head + part * (size // len(part)) + tail


def numbered(part: str, head: str = "", tail: str = "") -> Hostile:
    count = len(part.format(10_000))
    return lambda size: (
        head + "".join(part.format(index) for index in range(size // count)) + tail
    ).encode()


def varint(value: int) -> bytes:
    out = bytearray()
    write_unsigned_varint(out, value)
    return bytes(out)


def tagged(size: int) -> bytes:
    """A NoOpRecord with as many unknown tagged fields as are read."""
    return bytes((1, 20, 0)) + varint(min(size // 2, 1_024)) + b"\0\0" * min(size // 2, 1_024)


def array(size: int) -> bytes:
    return bytes((1, 14, 0)) + varint(size // 3 + 1) + b"\1\0\0" * (size // 3)


def records(size: int) -> bytes:
    values = islice(cycle([tagged(200), b"", bytes((1, 20, 0, 0))]), size // 80)
    return write_records([RawRecord(0, 0, n, None, value, ()) for n, value in enumerate(values)])


def batch(code: int) -> Reader:
    def read(data: bytes) -> None:
        for count in (1, len(data) // 80):
            Batch(0, max(count - 1, 0), 1, code, 0, 0, data, 0).parts()

    return read


def zstd(data: bytes) -> bytes:
    return bytes(cramjam.zstd.compress(data))


def xerial(block: bytes) -> Hostile:
    """Kafka's snappy format: blocks with a size before each."""
    part = len(block).to_bytes(4) + block
    return repeated(part, b"\x82SNAPPY\0" + bytes(8))


def segment(data: bytes) -> None:
    file = MemoryReadable(data)
    for each in SegmentReader(file, "a.log", Continuity(0), may_be_torn=True):
        each.parts()


def checkpoint(data: bytes) -> None:
    batches = SegmentReader(MemoryReadable(data), "a.checkpoint", Continuity(0))
    for each in check_snapshot(batches, 1):
        each.parts()


def batches(size: int) -> bytes:
    """The smallest batches, one after the other."""
    return b"".join(
        batch_bytes(assemble_batch(base, 1, 0, [RawRecord(0, 0, 0, None, b"\1\x14\0\0", ())]))
        for base in range(size // 72)
    )


def whole_snapshot(size: int) -> bytes:
    pairs = ((ace(1, "t"), 0) for _ in range(size // 40))
    found = snapshot_batches(pairs, epoch=1, timestamp=1, last_contained_timestamp=1)
    return b"".join(map(batch_bytes, found))


def snapshot(size: int) -> bytes:
    return b"".join(avro_snapshot(SnapshotId(9, 1), 1, 1, [(ace(1, "t"), 0)] * (size // 40)))


def client_file(data: bytes) -> None:
    path = Path("client.properties")
    wire_settings(path, MemoryDisk({path: data}))


def server_file(data: bytes) -> None:
    from_properties(properties_mapping(parse_properties(data)))


def index_file(data: bytes) -> None:
    path = Path("p") / layout.index_name(0)
    find_extents(path.parent, [layout.segment_name(0), path.name], MemoryDisk({path: data}))


def packed_audit_file(data: bytes) -> None:
    deque(whole_lines(unpacked(pa.py_buffer(data))), maxlen=0)


def avro_value(data: bytes) -> object:
    return from_avro(FINGERPRINT, data)


REFUSING: dict[Reader, tuple[type[Exception], ...]] = {
    avro_value: (ValueError,),
    parse_properties: (ValueError,),
    server_file: (ValueError,),
    login_modules: (ValueError,),
}
"""The readers whose callers add the file's name to an error."""
FINGERPRINT, _ = to_avro(ClientQuotaRecord((), "k", 0.0, False), 0)
NESTED = (repeated(b"["), repeated(b'{"a":'), repeated(b"{"))
ACL = '{{"resourceType":"TOPIC","resourceName":"t{}","principal":"User:a","operation":"READ"}}'
EXPECTED = '{{"principal":"User:a","operation":"Read","resource":"topic:t{}"}}'
SAVED_ACL = (
    '{{"resourceType":"TOPIC","resourceName":"t{}","patternType":"LITERAL","principal":"User:a",'
    '"host":"*","operation":"READ","permissionType":"ALLOW"}}'
)
SAVED_HEAD = (
    f'{{"metalogPlan":"{VERSION}","target":"a","superUsers":[],"allowEveryone":"false",'
    '"kafkaVersion":"4.3","owns":[],'
)
SAVED_TAIL = '],"steps":[]}'
JAAS = "security.protocol=SASL_PLAINTEXT\nsasl.mechanism=PLAIN\nsasl.jaas.config=m required"
HEADER = "KafkaPrincipal,ResourceType,PatternType,ResourceName,Operation,PermissionType,Host\n"
LINE = "Principal = User:a is Denied operation = READ from host = h on resource = Topic:LITERAL:"
READERS: dict[str, tuple[Reader, tuple[Hostile, ...]]] = {
    "record batch": (batch(0), (records, repeated(b"\0"), repeated(b"\x0c\0\0\0\1\0\0"))),
    "record batch, gzip": (
        batch(1),
        (
            lambda size: zlib.compress(bytes(size * 300), wbits=31),
            lambda size: zlib.compress(records(size * 20), wbits=31),
        ),
    ),
    "record batch, zstd": (batch(4), (lambda size: zstd(records(size * 20)),)),
    "record batch, snappy": (
        batch(2),
        (
            lambda size: bytes(cramjam.snappy.compress_raw(bytes(size * 20))),
            xerial(bytes(cramjam.snappy.compress_raw(bytes(60_000)))),
            xerial(b"\0"),
        ),
    ),
    "record batch, lz4": (
        batch(3),
        (
            lambda size: bytes(cramjam.lz4.compress(bytes(size * 200))),
            lambda size: bytes(cramjam.lz4.compress(records(size * 20))),
        ),
    ),
    "segment": (segment, (batches, repeated(b"\0"), repeated(b"\0\0\0\1"), repeated(b"\xff"))),
    "checkpoint": (checkpoint, (whole_snapshot, batches, repeated(b"\0"))),
    "frame": (decode_value, (tagged, array, repeated(b"\1"), repeated(b"\xff"))),
    "control record": (lambda data: decode_control(b"\0\0\0\6", data), (repeated(b"\0"),)),
    "value in Avro": (
        avro_value,
        (repeated(b"\0"), repeated(b"\2"), repeated(b"\0\2", varint(1 << 30))),
    ),
    "snapshot in Avro": (
        lambda data: list(read_avro_snapshot(MemoryReadable(data), SnapshotId(9, 1), "a")),
        (snapshot, repeated(b"\xff", b"Obj\1"), repeated(b"\2\0", b"Obj\1")),
    ),
    "ACLs in Avro": (
        lambda data: read_avro(data, "a"),
        (repeated(b"\xff", b"Obj\1"), repeated(b"\2\0", b"Obj\1")),
    ),
    "ACLs in JSON": (
        lambda data: read_json(data.decode(), "a"),
        (
            numbered(ACL),
            numbered(ACL + ",", "[", f"{ACL.format(0)}]"),
            repeated(b"1", b'{"a":', b"}"),
            repeated(b"9", b"[", b"]"),
            numbered('"k{}":"v",', "{", '"k":1}'),
            *NESTED,
        ),
    ),
    "ACLs in YAML": (
        lambda data: read_yaml(data.decode(), "a"),
        (
            numbered("- " + ACL + "\n", "acls:\n"),
            numbered("k{}: v\n"),
            repeated(b"- *a\n", b"acls:\n- &a " + ACL.format(0).encode() + b"\n"),
            repeated(b"&a [", b"acls: "),
            *NESTED,
        ),
    ),
    "ACLs in CSV": (
        lambda data: read_csv(data.decode(), "a"),
        (
            numbered("User:a,Topic,LITERAL,t{},Read,Allow,*\n", HEADER),
            repeated(b"\n", HEADER.encode() + b'"'),
            repeated(b","),
        ),
    ),
    "kafka-acls commands": (
        lambda data: read_kafka_acls(data.decode(), "a"),
        (
            numbered("kafka-acls --add --allow-principal User:a --topic t{}\n"),
            numbered(" --topic t{}", "kafka-acls --add --allow-principal User:a"),
            repeated(b"\n"),
            repeated(b"\\\n", b"kafka-acls"),
            repeated(b"'a'", b"kafka-acls "),
            repeated(b'"\\$"', b"kafka-acls "),
            repeated(b"\\x41", b"kafka-acls $'"),
        ),
    ),
    "properties": (
        parse_properties,
        (numbered("k{}=v\n"), repeated(b"\\\n"), repeated(b"a\\\n"), repeated(b"\\u0041", b"a=")),
    ),
    "ACLs of a znode": (
        lambda data: znodes.read_acls(data, "a", RESOURCE),
        (repeated(b'"*",', b'{"version":1,"acls":[', b"]}"), *NESTED),
    ),
    "user of a znode": (
        lambda data: list(znodes.read_user(data, "a", "u")),
        (numbered('"k{}":"v",', '{"config":{', '"k":"v"}}'), *NESTED),
    ),
    "change of ACLs in ZooKeeper": (
        lambda data: znodes.read_event(data, "a"),
        (repeated(b"a", b"Topic:"), repeated(b"1", b'{"version":', b"}"), *NESTED),
    ),
    "audit line": (
        lambda data: parse_line(data.decode()),
        (
            repeated(b"Principal = "),
            repeated(b" is Denied operation = READ", b"Principal = a"),
            repeated(b" from host = ", LINE.encode()),
            repeated(b"1", LINE.encode() + b"t for request = Fetch with resourceRefCount = "),
        ),
    ),
    "audit line in a layout": (
        lambda data: read_entry(data.decode(), "UTC"),  # type: ignore[arg-type]
        (repeated(b"1"), repeated(b'{"a":"', tail=LINE.encode()), *NESTED),
    ),
    "archive.properties": (
        lambda data: layout.parse_archive_properties(data, "a"),
        (numbered("k{}=v\n"), repeated(b"\\\n")),
    ),
    "requests": (
        lambda data: read_json_line(data.decode()),
        (numbered('"k{}":"v",', "{", '"k":1}'), repeated(b"9"), *NESTED),
    ),
    "saved plan": (
        lambda data: read_saved(data.decode(), "a"),
        (
            numbered(SAVED_ACL + ",", SAVED_HEAD + '"before":[', SAVED_ACL.format(0) + SAVED_TAIL),
            repeated(b"[],", f'{SAVED_HEAD}"steps":['.encode()),
            *NESTED,
        ),
    ),
    "audit log, packed": (
        packed_audit_file,
        (
            lambda size: zlib.compress(bytes(size * 900), wbits=31),
            lambda size: zlib.compress(b"\n" * size * 900, wbits=31),
            repeated(zlib.compress(b"", wbits=31)),
            repeated(b"\0", zlib.compress(b"a\n", wbits=31)),
        ),
    ),
    "metalog.toml": (
        lambda data: sources_in(data, Path("metalog.toml")),
        (
            numbered("[sources.n{}]\nurl = 'a'\n"),
            numbered("k{}.a = 1\n", "[" + "a." * 30 + "a]\n"),
            repeated(b"a.", tail=b"a = 1"),
            repeated(b"'a' . ", tail=b"a = 1"),
            repeated(b"a.", b"[", b"a]"),
            repeated(b"a"),
            repeated(b"'"),
            repeated(b"[", b"a="),
            repeated(b"{a=", b"a="),
            repeated(b"9", b"a="),
        ),
    ),
    "client properties": (
        client_file,
        (
            numbered("ssl.truststore.locatio{}=v\n"),
            numbered(" a{}=b", JAAS, ";"),
            repeated(b"\\\n", JAAS.encode()),
        ),
    ),
    "JAAS": (
        lambda data: login_modules(data.decode()),
        (
            numbered("m{} required a=b;\n"),
            numbered(" a{}=b", "m required", ";"),
            repeated(b"\\", b'm required a="'),
            repeated(b"/*"),
            repeated(b"/", b"m "),
            repeated(b"'"),
        ),
    ),
    "server.properties": (
        server_file,
        (
            numbered("User:u{};", "super.users="),
            numbered("super.user{}=v\n"),
            repeated(b";", b"super.users="),
        ),
    ),
    "index": (index_file, (repeated(b"\1"), repeated(b"\0"))),
    "expectations": (
        lambda data: list(expectations_of(data.decode(), "a")),
        (
            numbered("- " + EXPECTED + "\n", "allow:\n"),
            repeated(b"- *a\n", b"allow:\n- &a " + EXPECTED.format(0).encode() + b"\n"),
            *NESTED,
        ),
    ),
    "meta.properties": (
        lambda data: layout.parse_meta_properties(data, "a"),
        (repeated(b"9", b"version=1\nnode.id="), numbered("k{}=v\n")),
    ),
    "quorum-state": (
        lambda data: layout.parse_quorum_state(data, "a"),
        (repeated(b"9", b'{"leaderId":', b"}"), *NESTED),
    ),
    "leader-epoch-checkpoint": (
        lambda data: layout.parse_leader_epochs(data, "a"),
        (numbered("{0} {0}\n", "0\n1\n"), repeated(b"9", b"0\n")),
    ),
}


def allowed() -> dict[str, int]:
    """The page's bytes of memory for each byte of input, by reader."""
    rows = (line.split("|") for line in PAGE.read_text().splitlines() if line.startswith("| "))
    found = {row[1].strip(): row[2].strip().replace(",", "") for row in rows}
    return {name: int(number) for name, number in found.items() if number.isdigit()}


def seconds(read: Reader, data: bytes) -> float:
    """Seconds of CPU; a refusal must be one of our errors."""
    began = time.process_time()
    with suppress(MetalogError, *REFUSING.get(read, ())):
        read(data)
    return time.process_time() - began


def test_the_page_has_every_reader() -> None:
    assert allowed().keys() == READERS.keys()


@pytest.mark.once
@pytest.mark.parametrize("name", READERS)
def test_hostile_input_costs_no_more_than_is_said(name: str) -> None:
    read, inputs = READERS[name]
    for hostile in inputs:
        small, large = hostile(SMALL), hostile(SMALL * TIMES)
        seconds(read, small)
        least = min(seconds(read, small) for _ in range(2))
        assert seconds(read, large) <= SLOWEST * max(least, 0.004), large[:60]
        half = hostile(SMALL * TIMES // 2)
        tracemalloc.start()
        try:
            seconds(read, half)
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
        always = INFLATED if name.startswith("record batch, ") else ALWAYS
        always = LINES if name == "audit log, packed" else always
        assert peak <= always + allowed()[name] * len(half), half[:60]
