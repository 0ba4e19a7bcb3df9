"""A log's rows in Spark equal the records that Kafka's own tools find in it."""

from __future__ import annotations

import json
import re
import shutil
from base64 import b64decode
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from functools import reduce
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.datasource import (
    EqualTo,
    Filter,
    GreaterThan,
    GreaterThanOrEqual,
    In,
    IsNotNull,
    LessThan,
    LessThanOrEqual,
    Not,
)
from pyspark.sql.types import StructType

from metalog.acl import Acl
from metalog.errors import CorruptLog, InvalidRequest, InvalidSource
from metalog.records.frame import decode_value
from metalog_spark.follow.log import FollowedLog
from metalog_spark.history import rows
from metalog_spark.history.datasource import (
    LogPartition,
    LogReader,
    LogStreamReader,
    MetalogDataSource,
    UnfilteredLogReader,
    read_options,
    register,
)
from metalog_spark.history.rows import RecordFilter
from metalog_spark.history.splits import LogHole
from tests.support.command.runs import run_python
from tests.support.kafka.cases import DamagedCase, KafkaCase, kafka_case

pytestmark = pytest.mark.once

Row = dict[str, Any]


def texts(*names: str) -> StructType:
    return reduce(lambda struct, name: struct.add(name, "string"), names, StructType())


SCHEMA = (
    StructType()
    .add("offset", "long")
    .add("epoch", "integer")
    .add("timestamp", "timestamp")
    .add("type", "string")
    .add("version", "integer")
    .add("control", "string")
    .add("access_control_entry", texts("id", *Acl._fields))
    .add("remove_access_control_entry", texts("id"))
    .add(
        "user_scram_credential",
        texts("name", "mechanism")
        .add("iterations", "integer")
        .add("salt", "string")
        .add("stored_key", "string")
        .add("server_key", "string"),
    )
    .add("remove_user_scram_credential", texts("name", "mechanism"))
    .add("data", "string")
    .add("undecodable", "string")
    .add("value", "binary")
    .add("missing", "string")
)
STRUCTS = {
    "access_control_entry": "ACCESS_CONTROL_ENTRY_RECORD",
    "remove_access_control_entry": "REMOVE_ACCESS_CONTROL_ENTRY_RECORD",
    "user_scram_credential": "USER_SCRAM_CREDENTIAL_RECORD",
    "remove_user_scram_credential": "REMOVE_USER_SCRAM_CREDENTIAL_RECORD",
}
CODES = {
    "resourceType": "UNKNOWN ANY TOPIC GROUP CLUSTER TRANSACTIONAL_ID DELEGATION_TOKEN USER",
    "patternType": "UNKNOWN ANY MATCH LITERAL PREFIXED",
    "operation": "UNKNOWN ANY ALL READ WRITE CREATE DELETE ALTER DESCRIBE CLUSTER_ACTION"
    " DESCRIBE_CONFIGS ALTER_CONFIGS IDEMPOTENT_WRITE CREATE_TOKENS DESCRIBE_TOKENS"
    " TWO_PHASE_COMMIT",
    "permissionType": "UNKNOWN ANY DENY ALLOW",
    "mechanism": "UNKNOWN SCRAM-SHA-256 SCRAM-SHA-512",
}
"""Kafka's names of the codes in records, from 0 on."""


def in_words(field: str, value: Any) -> Any:
    if field not in CODES:
        return value
    names = CODES[field].split()
    return names[value] if 0 <= value < len(names) else "UNKNOWN"


def camel(name: str) -> str:
    head, *rest = name.split("_")
    return head + "".join(map(str.capitalize, rest))


def as_kafka_says(row: Mapping[str, Any]) -> Row:
    """The line of ``records.jsonl`` for a row, with names for the codes in a struct, and without
    the reason for an undecodable record, which has our words."""
    line: Row = {name: row[name] for name in ("offset", "epoch")}
    line["timestamp"] = round(row["timestamp"].timestamp() * 1000)
    assert row["missing"] is None
    if row["undecodable"] is not None:
        return line | {"value": bytes(row["value"])}
    data = None if row["data"] is None else json.loads(row["data"])
    if row["control"] is not None:
        return line | {"control": row["control"], "data": data}
    for column, kind in STRUCTS.items():
        assert (row[column] is not None) is (row["type"] == kind)
        if row[column] is not None:
            fields = {camel(name): value for name, value in row[column].items()}
            data = fields | {
                name: in_words(name, value)
                for name, value in (data or {}).items()
                if name not in fields or in_words(name, value) != fields[name]
            }
    return line | {"type": row["type"], "version": row["version"], "data": data}


def printed_by_kafka(case: KafkaCase, name: str = "records.jsonl") -> Iterator[Row]:
    for line in case.json_lines(name):
        if line.get("type") in STRUCTS.values():
            line["data"] = {name: in_words(name, value) for name, value in line["data"].items()}
        if "undecodable" in line:
            line["value"] = b64decode(line["value"])
            del line["undecodable"]
        yield line


def rows_of(reader: UnfilteredLogReader) -> list[Row]:
    parts = reader.partitions()
    return [row for part in parts for batch in reader.read(part) for row in batch.to_pylist()]


def reader(
    source: Path | str, *filters: Filter, schema: StructType = SCHEMA, **given: str
) -> LogReader:
    """A reader as Spark makes one, after the push-down of its filters."""
    made = LogReader(read_options({"path": str(source), **given}), schema)
    assert list(made.pushFilters(list(filters))) == []
    return made


@pytest.mark.shows_credentials
def test_every_record_of_every_log(kafka_case: KafkaCase) -> None:
    found = rows_of(reader(kafka_case.log_dir, secrets="true"))
    assert list(map(as_kafka_says, found)) == list(printed_by_kafka(kafka_case))


@pytest.mark.shows_credentials
def test_every_record_of_a_snapshot(kafka_case: KafkaCase) -> None:
    for expected in kafka_case.expected.glob("snapshot-*.records.jsonl"):
        name = expected.name.removeprefix("snapshot-").removesuffix(".records.jsonl")
        found = rows_of(reader(kafka_case.metadata_dir / f"{name}.checkpoint", secrets="true"))
        assert list(map(as_kafka_says, found)) == list(printed_by_kafka(kafka_case, expected.name))


def test_secrets_are_left_out_unless_asked_for() -> None:
    """The suite's check for secrets also covers this test's output."""
    rows = rows_of(reader(kafka_case("basic-4.3").log_dir))
    credentials = [row["user_scram_credential"] for row in rows if row["user_scram_credential"]]
    assert credentials
    for each in credentials:
        assert each["iterations"] >= 4096
        assert (each["salt"], each["stored_key"], each["server_key"]) == (None, None, None)
    print(rows)


def at(milliseconds: int) -> datetime:
    return datetime.fromtimestamp(milliseconds / 1000, UTC)


def test_filters_leave_the_rows_that_they_say() -> None:
    source = kafka_case("trimmed-4.3").log_dir
    everything = rows_of(reader(source))
    middle, time = 800, everything[150]["timestamp"]
    acl, partition = "ACCESS_CONTROL_ENTRY_RECORD", "PARTITION_RECORD"
    for filters, passes in {
        (EqualTo(("offset",), middle),): lambda row: row["offset"] == middle,
        (LessThan(("offset",), middle),): lambda row: row["offset"] < middle,
        (LessThanOrEqual(("offset",), middle),): lambda row: row["offset"] <= middle,
        (GreaterThan(("offset",), middle),): lambda row: row["offset"] > middle,
        (GreaterThanOrEqual(("timestamp",), time),): lambda row: row["timestamp"] >= time,
        (GreaterThan(("timestamp",), time),): lambda row: row["timestamp"] > time,
        (LessThan(("timestamp",), time),): lambda row: row["timestamp"] < time,
        (EqualTo(("timestamp",), time),): lambda row: row["timestamp"] == time,
        (EqualTo(("type",), acl),): lambda row: row["type"] == acl,
        (In(("type",), (acl, partition)),): lambda row: row["type"] in (acl, partition),
        (In(("type",), (acl, partition)), EqualTo(("type",), acl)): lambda row: row["type"] == acl,
        (GreaterThan(("offset",), 700), LessThan(("offset",), middle), IsNotNull(("offset",))): (
            lambda row: 700 < row["offset"] < middle
        ),
        (EqualTo(("type",), "NO_SUCH_RECORD"),): lambda row: False,
    }.items():
        found = rows_of(reader(source, *filters))
        assert found == list(filter(passes, everything)), filters


@pytest.mark.parametrize("bound", [0, 50, 100, 178, 179, 722, 723, 724])
def test_filters_count_the_records_of_a_snapshot_by_their_places(bound: int) -> None:
    """Their positions begin at 0, though the log that the snapshot replaces begins at its end."""
    [source] = kafka_case("trimmed-4.3").metadata_dir.glob(f"{723:020d}-*.checkpoint")
    everything = range(179)
    assert [row["offset"] for row in rows_of(reader(source))] == list(everything)
    for filters, left in {
        (EqualTo(("offset",), bound),): everything[bound : bound + 1],
        (GreaterThan(("offset",), bound),): everything[bound + 1 :],
        (GreaterThanOrEqual(("offset",), bound),): everything[bound:],
        (LessThan(("offset",), bound),): everything[:bound],
        (LessThanOrEqual(("offset",), bound),): everything[: bound + 1],
        (GreaterThan(("offset",), 20), LessThan(("offset",), bound)): everything[21:bound],
    }.items():
        found = [row["offset"] for row in rows_of(reader(source, *filters))]
        assert found == list(left), filters
    for options, left in (
        ({"startingOffset": f"{bound}"}, everything[bound:]),
        ({"startingOffset": "20", "endingOffset": f"{bound}"}, everything[20:bound]),
        ({"startingOffset": "latest"}, []),
    ):
        found = [row["offset"] for row in rows_of(reader(source, **options))]
        assert found == list(left), options


def test_options_leave_the_rows_that_filters_would_leave() -> None:
    """Also if Spark's setting for filters of Python sources is off."""
    source = kafka_case("trimmed-4.3").log_dir
    acl, partition = "ACCESS_CONTROL_ENTRY_RECORD", "PARTITION_RECORD"
    for options, filters in (
        ({"types": acl}, [EqualTo(("type",), acl)]),
        ({"types": f"{acl}, {partition.lower()}"}, [In(("type",), (acl, partition))]),
        ({"startingOffset": "800"}, [GreaterThanOrEqual(("offset",), 800)]),
        (
            {"startingOffset": "700", "endingOffset": "800", "types": acl},
            [
                GreaterThanOrEqual(("offset",), 700),
                LessThan(("offset",), 800),
                EqualTo(("type",), acl),
            ],
        ),
        ({"startingOffset": "latest"}, [GreaterThanOrEqual(("offset",), 835)]),
    ):
        given = read_options({"path": str(source), **options})
        assert rows_of(UnfilteredLogReader(given, SCHEMA)) == rows_of(reader(source, *filters))
    assert rows_of(reader(source, EqualTo(("type",), acl), types=partition)) == []
    with pytest.raises(InvalidRequest, match="give an offset from 608 to 835, or"):
        reader(source, startingOffset="607").partitions()


def test_types_keep_the_records_that_may_be_of_them() -> None:
    """Those that cannot be decoded; also beside a filter on times, but not one on types."""
    source = kafka_case("frames-crafted/body-cut-short").log_dir
    acl = "ACCESS_CONTROL_ENTRY_RECORD"
    undecodable = [row for row in rows_of(reader(source)) if row["undecodable"]]
    assert undecodable
    first = GreaterThan(("timestamp",), at(0))
    for found in reader(source, types=acl), reader(source, first, types=acl):
        assert [row for row in rows_of(found) if row["type"] != acl] == undecodable
    assert not any(row["undecodable"] for row in rows_of(reader(source, EqualTo(("type",), acl))))
    others = rows_of(reader(source, types="TOPIC_RECORD"))
    assert not any(row["undecodable"] for row in others), "its bytes begin with another type"


def test_records_of_other_types_are_not_decoded(monkeypatch: pytest.MonkeyPatch) -> None:
    decoded: list[bytes] = []

    def decode(value: bytes) -> Any:
        decoded.append(value)
        return decode_value(value)

    monkeypatch.setattr(rows, "decode_value", decode)
    found = rows_of(reader(kafka_case("demo").log_dir, types="ACCESS_CONTROL_ENTRY_RECORD"))
    assert found
    assert len(decoded) == len(found)


def test_a_filter_that_is_not_carried_out_is_left_to_spark() -> None:
    made = LogReader(read_options({"path": str(kafka_case("demo").log_dir)}), SCHEMA)
    left = [Not(EqualTo(("type",), "X")), EqualTo(("type",), 5), EqualTo(("epoch",), 1)]
    assert list(made.pushFilters([EqualTo(("offset",), 3), *left])) == left
    assert [row["offset"] for row in rows_of(made)] == [3]


def test_segments_without_the_offsets_are_not_opened(tmp_path: Path) -> None:
    shutil.copytree(kafka_case("trimmed-4.3").log_dir, tmp_path / "log")
    [first, second] = sorted((tmp_path / "log").rglob("*.log"))
    asked = reader(tmp_path / "log", LessThan(("offset",), 811))
    [part] = asked.partitions()
    second.unlink()
    assert [row["offset"] for batch in asked.read(part) for row in batch.to_pylist()] == list(
        range(608, 811)
    )
    assert first.is_file()


def test_only_the_columns_that_are_asked_for() -> None:
    asked = StructType([SCHEMA["type"], SCHEMA["offset"]])
    found = rows_of(reader(kafka_case("demo").log_dir, schema=asked))
    assert all(row.keys() == {"type", "offset"} for row in found)
    with pytest.raises(InvalidRequest, match="a log has no column spam; it has offset, epoch"):
        reader("x", schema=texts("spam"))
    acl = StructType().add("access_control_entry", texts("principal", "host"))
    rows = rows_of(reader(kafka_case("demo").log_dir, schema=acl))
    acls = [row["access_control_entry"] for row in rows if row["access_control_entry"]]
    assert {each["principal"].partition(":")[0] for each in acls} == {"User"}
    said = "the column access_control_entry has no field Host; it has id, resource_type"
    with pytest.raises(InvalidRequest, match=said):
        reader("x", schema=StructType().add("access_control_entry", texts("principal", "Host")))
    with pytest.raises(InvalidRequest, match="the column data has no field spam; it has none"):
        reader("x", schema=StructType().add("data", texts("spam")))


def test_damage_stops_the_reading_or_stands_in_a_row(damaged_case: DamagedCase) -> None:
    """Both show everything before the damage, and the error names the file. The only voter's
    records are committed, damaged or not."""
    facts = damaged_case.facts
    if facts["kind"] != "log" or facts["expect"] not in ("stop", "torn-tail"):
        return
    source = damaged_case.log_dir
    if facts["expect"] == "torn-tail":
        assert rows_of(reader(source))[-1]["offset"] == facts["goodUntilOffset"] - 1
        return
    with pytest.raises(CorruptLog) as caught:
        rows_of(reader(source))
    with pytest.raises(CorruptLog, match=re.escape(str(caught.value))):
        rows_of(reader(source, committed="true"))
    found = rows_of(reader(source, skipDamaged="true"))
    assert rows_of(reader(source, skipDamaged="true", committed="true")) == found
    missing = [row for row in found if row["missing"] is not None]
    acls = "ACCESS_CONTROL_ENTRY_RECORD"
    by_type = [row for row in found if row["type"] == acls]
    assert rows_of(reader(source, skipDamaged="true", types=acls))[-1:] == missing
    assert rows_of(reader(source, EqualTo(("type",), acls), skipDamaged="true")) == by_type
    assert [row["missing"] for row in missing] == [str(caught.value)]
    assert facts["source"] in missing[0]["missing"]
    good = [row["offset"] for row in found if row["missing"] is None]
    assert [each for each in good if each < missing[0]["offset"]] == list(
        range(facts["goodUntilOffset"])
    )


def cut(target: Path, *, keep: tuple[str, ...]) -> Path:
    """The demo's log in a folder with only these segments and snapshots."""
    shutil.copytree(kafka_case("trimmed-4.3").log_dir, target)
    for path in (target / "__cluster_metadata-0").iterdir():
        is_other = path.suffix in (".log", ".checkpoint") and not path.name.startswith(keep)
        if is_other or (path.suffix == ".snapshot" and path.name > f"{max(keep)}.snapshot"):
            path.unlink()
    return target


FIRST, SECOND = f"{608:020d}", f"{811:020d}"


def test_folders_of_one_log_are_read_as_one(tmp_path: Path) -> None:
    """Each offset once, also if two folders have it."""
    whole = rows_of(reader(kafka_case("trimmed-4.3").log_dir))
    cut(tmp_path / "b-old", keep=(FIRST,))
    cut(tmp_path / "a-new", keep=(SECOND,))
    assert rows_of(reader(tmp_path / "?-*")) == whole
    cut(tmp_path / "c-all", keep=(FIRST, SECOND))
    assert rows_of(reader(tmp_path / "*")) == whole


def test_a_gap_between_folders_is_a_row(tmp_path: Path) -> None:
    shutil.copytree(kafka_case("quorum-4.3/node-11").log_dir, tmp_path / "early")
    properties = tmp_path / "early" / "meta.properties"
    other = (kafka_case("trimmed-4.3").log_dir / "meta.properties").read_text()
    properties.write_text(other)
    cut(tmp_path / "later", keep=(FIRST, SECOND))
    found = rows_of(reader(tmp_path / "*"))
    [gap] = [row for row in found if row["missing"] is not None]
    assert gap["offset"] == 265
    assert gap["missing"] == "records 265 to 607 are in none of the folders"
    parts = reader(tmp_path / "*").partitions()
    holes = [part.part for part in parts if isinstance(part, LogPartition)]
    assert [hole.is_damage for hole in holes if isinstance(hole, LogHole)] == [False]


def test_folders_of_two_logs_are_refused(tmp_path: Path) -> None:
    for name in ("basic-4.3", "trimmed-4.3"):
        shutil.copytree(kafka_case(name).log_dir, tmp_path / name)
    with pytest.raises(InvalidSource, match=r"is of cluster .* and .* of"):
        reader(tmp_path / "*").partitions()
    for name in ("basic-4.3", "trimmed-4.3"):
        (tmp_path / name / "meta.properties").unlink()
    shutil.rmtree(tmp_path / "trimmed-4.3")
    shutil.copytree(kafka_case("quorum-4.3/node-11").log_dir, tmp_path / "other")
    (tmp_path / "other" / "meta.properties").unlink()
    with pytest.raises(InvalidSource, match="are not of one log"):
        reader(tmp_path / "*").partitions()


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({}, "SOURCE is missing"),
        ({"path": "x", "comitted": "true"}, "unknown option comitted; known are path"),
        ({"path": "x", "committed": "maybe"}, "the option committed is true or false, not maybe"),
        ({"path": "x", "maxOffsetsPerTrigger": "-1"}, "is -1; give a whole number, 1 or more"),
        ({"path": "x", "maxOffsetsPerTrigger": "0"}, "is 0; give a whole number, 1 or more"),
        ({"path": "x", "startingOffset": "newest"}, "; give earliest or latest or a whole number"),
        ({"path": "x", "types": "ACL"}, "unknown record type ACL; known are ABORT_"),
    ],
)
def test_options_that_cannot_be_used(given: dict[str, str], said: str) -> None:
    with pytest.raises(InvalidRequest, match=said):
        read_options(given)


def stream(source: Path, **given: str) -> LogStreamReader:
    return LogStreamReader(read_options({"path": str(source), **given}), SCHEMA)


def test_where_a_stream_begins_and_how_far_a_batch_of_it_goes(tmp_path: Path) -> None:
    source = cut(tmp_path / "log", keep=(FIRST, SECOND))
    for starting, offset in {"earliest": 608, "LATEST": 835, "608": 608, "700": 700}.items():
        assert stream(source, startingOffset=starting).initialOffset() == {"offset": offset}
    for starting in "0", "607", "836":
        said = f"^{source}: starting.* is {starting}; give an offset from 608 to 835,"
        with pytest.raises(InvalidRequest, match=said):
            stream(source, startingOffset=starting).initialOffset()
    with pytest.raises(InvalidRequest, match="endingOffset is for batch queries"):
        MetalogDataSource({"path": "x", "endingOffset": "9"}).streamReader(SCHEMA)
    [acls] = stream(source, types="ACCESS_CONTROL_ENTRY_RECORD").partitions(
        {"offset": 700}, {"offset": 811}
    )
    assert isinstance(acls, LogPartition)
    types = frozenset({"ACCESS_CONTROL_ENTRY_RECORD"})
    assert acls.wanted == RecordFilter(700, 811, types=types)
    few = stream(source, maxOffsetsPerTrigger="100")
    limit = few.getDefaultReadLimit()
    assert few.latestOffset({"offset": 700}, limit) == {"offset": 800}
    assert few.latestOffset({"offset": 800}, limit) == {"offset": 835}


def test_a_stream_of_a_log_that_lost_records_says_which(tmp_path: Path) -> None:
    """Its tail, or a beginning that the stream had not read yet."""
    source = cut(tmp_path / "log", keep=(FIRST,))
    everything = stream(source).getDefaultReadLimit()
    said = f"^{source}: ends at offset 811, but .* up to 835: some records .* with another --out"
    with pytest.raises(InvalidSource, match=said):
        stream(source).latestOffset({"offset": 835}, everything)
    cut(tmp_path / "trimmed", keep=(SECOND,))
    said = "/trimmed: offsets 700 to 810 are gone, and .* also name .* with another --out"
    with pytest.raises(InvalidSource, match=said):
        stream(tmp_path / "trimmed").partitions({"offset": 700}, {"offset": 835})


def test_a_snapshot_is_no_stream() -> None:
    [source] = kafka_case("trimmed-4.3").metadata_dir.glob(f"{723:020d}-*.checkpoint")
    with pytest.raises(InvalidRequest, match=f"^{source}: a snapshot does not grow"):
        stream(source).initialOffset()
    with pytest.raises(
        InvalidSource, match=f"^{source}: is not a log that is still written; give "
    ):
        FollowedLog(str(source)).unproven()


def load(spark: SparkSession, source: Path | str) -> DataFrame:
    register(spark)
    return spark.read.format("metalog").load(str(source))


def test_in_spark(spark: SparkSession) -> None:
    """The rows after Spark has moved them, with filters that reach the reader."""
    source = kafka_case("trimmed-4.3").log_dir
    frame = load(spark, source)
    assert frame.schema == SCHEMA
    there = frame.orderBy("offset").toArrow().to_pylist()
    assert there == rows_of(reader(source))
    asked = frame.where("type = 'ACCESS_CONTROL_ENTRY_RECORD' and offset >= 811")
    assert asked.count() == sum(
        row["type"] == "ACCESS_CONTROL_ENTRY_RECORD" and row["offset"] >= 811 for row in there
    )


@pytest.mark.parametrize("pushes_filters", ["false", "true"])
def test_spark_finds_the_format_that_nobody_registered(
    spark: SparkSession, pushes_filters: str
) -> None:
    """By the package whose name begins with ``pyspark_``, for a batch and for a stream."""
    fresh = spark.newSession()
    fresh.conf.set("spark.sql.python.filterPushdown.enabled", pushes_filters)
    source = kafka_case("trimmed-4.3").log_dir
    rows = fresh.read.format("metalog").load(str(source))
    there = sum(row["offset"] >= 811 for row in rows_of(reader(source)))
    assert rows.where("offset >= 811").count() == there
    assert fresh.readStream.format("metalog").load(str(source)).schema == SCHEMA


def test_what_spark_imports_of_ours_before_it_is_used_is_next_to_nothing() -> None:
    """A failing import there would break Python sources for everyone."""
    code = "import pyspark_metalog, sys; print(*sys.modules)"
    loaded = {name.partition(".")[0] for name in run_python("-c", code).stdout.split()}
    assert not loaded & {"metalog", "metalog_spark", "authorizer", "kio", "cramjam"}


def test_in_spark_an_error_names_the_source(spark: SparkSession, tmp_path: Path) -> None:
    with pytest.raises(PySparkException, match="there is no such file or folder"):
        load(spark, tmp_path / "nothing").count()


def test_a_stream_goes_on_where_it_was_stopped(spark: SparkSession, tmp_path: Path) -> None:
    """A growing log, a few offsets at a time: each record once, over two starts."""
    source = kafka_case("trimmed-4.3")
    folder = cut(tmp_path / "log", keep=(FIRST,))
    out = str(tmp_path / "out")

    register(spark)

    def run() -> int:
        frame = spark.readStream.format("metalog").option("maxOffsetsPerTrigger", "150")
        query = (
            frame.load(str(folder))
            .select("offset", "type")
            .writeStream.format("parquet")
            .option("checkpointLocation", str(tmp_path / "checkpoint"))
            .trigger(availableNow=True)
            .start(out)
        )
        query.awaitTermination()
        return len([each for each in query.recentProgress if each.numInputRows])

    assert run() == 2
    for name in (f"{SECOND}.log", f"{SECOND}.index"):
        if (source.metadata_dir / name).is_file():
            shutil.copy(source.metadata_dir / name, folder / "__cluster_metadata-0" / name)
    assert run() == 1
    offsets = sorted(row.offset for row in spark.read.parquet(out).collect())
    assert offsets == list(range(608, 835))
