"""Makes a case: drives a real Kafka, copies its log directory, and computes the expected results.

The expected results come from Kafka's own DumpLogSegments and from the simplest replay of its
output (a dict, one record at a time), never from the code under test. The ACLs found this way must
be those that the running node lists.
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from tests.support.kafka.tools import KafkaTools, RealKafka

JsonObject = dict[str, Any]

BATCH_LINE = re.compile(
    r"baseOffset: (\d+) lastOffset: (\d+) .* partitionLeaderEpoch: (\d+) .* isControl: (\w+)"
    r" .* position: (\d+) \w+: (\d+) size: (\d+) .* compresscodec: (\w+) crc: (\d+)"
)
RECORD_LINE = re.compile(r"\| offset: (\d+) \w+: (\d+) .*? headerKeys: \[\] (\w+):? (\{.*\})")
LISTED_PATTERN = re.compile(
    r"resourceType=(\w+), name=(.*), patternType=(\w+)\)`: ?$", re.MULTILINE
)
LISTED_ENTRY = re.compile(
    r"\(principal=(.*), host=(.*), operation=(\w+), permissionType=(\w+)\)$", re.MULTILINE
)

MECHANISMS = {1: "SCRAM_SHA_256", 2: "SCRAM_SHA_512"}
RESOURCE_TYPES = dict(
    enumerate(
        ("TOPIC", "GROUP", "CLUSTER", "TRANSACTIONAL_ID", "DELEGATION_TOKEN", "USER"), start=2
    )
)
PATTERN_TYPES = {3: "LITERAL", 4: "PREFIXED"}
PERMISSION_TYPES = {2: "DENY", 3: "ALLOW"}
OPERATIONS = dict(
    enumerate(
        (
            "ALL", "READ", "WRITE", "CREATE", "DELETE", "ALTER", "DESCRIBE",
            "CLUSTER_ACTION", "DESCRIBE_CONFIGS", "ALTER_CONFIGS", "IDEMPOTENT_WRITE",
            "CREATE_TOKENS", "DESCRIBE_TOKENS", "TWO_PHASE_COMMIT",
        ),
        start=2,
    )
)  # fmt: skip


class Decoded(NamedTuple):
    """One file as Kafka's DumpLogSegments reads it."""

    batches: list[JsonObject]
    records: list[JsonObject]


class State(NamedTuple):
    """ACLs by id and SCRAM iterations by user and mechanism."""

    acls: dict[str, JsonObject]
    scram: dict[tuple[str, int], JsonObject]


def make_case(
    tools: KafkaTools,
    scratch: Path,
    target: Path,
    story: Callable[[RealKafka], None],
    *,
    overrides: dict[str, str] | None = None,
    format_options: Sequence[str] = (),
) -> RealKafka:
    """Run ``story`` on a new Kafka in ``scratch``, and leave the case in ``target``."""
    scratch.mkdir(parents=True, exist_ok=True)
    started = RealKafka.started(tools, scratch, overrides=overrides, format_options=format_options)
    with started as kafka:
        story(kafka)
        listing = kafka.acls("--list")
    if target.exists():
        shutil.rmtree(target)
    shutil.copytree(
        scratch / "log-dir",
        target / "log-dir",
        ignore=_only_metadata,
        copy_function=shutil.copyfile,
    )
    _write_expected(tools, target, listing)
    return kafka


def _only_metadata(folder: str, names: list[str]) -> list[str]:
    """Names of files that are not the metadata log's own: topics' partitions, locks."""
    partitions = [name for name in names if (Path(folder) / name / "partition.metadata").is_file()]
    return [name for name in (*partitions, ".lock") if name != "__cluster_metadata-0"]


def _write_expected(tools: KafkaTools, target: Path, listing: str) -> None:
    expected = target / "expected"
    expected.mkdir()
    metadata = target / "log-dir" / "__cluster_metadata-0"
    segments = [(path.name, decode(tools, path)) for path in sorted(metadata.glob("*.log"))]
    snapshots = sorted(metadata.glob("*.checkpoint"))
    records = [record for _, decoded in segments for record in decoded.records]
    batches = [{"file": name, **batch} for name, decoded in segments for batch in decoded.batches]

    if records[0]["offset"] != 0:
        raise RuntimeError("the log no longer begins at offset 0; make the story shorter")
    state = replay(records)
    listed = sorted(bindings_listed(listing))
    if listed != sorted(map(_binding, state.acls.values())):
        raise RuntimeError("the node's own listing differs from the replay of its log")

    end = records[-1]["offset"] + 1
    offsets = sorted({0, end, *(record["offset"] + 1 for record in records if _changes(record))})
    write_lines(expected / "records.jsonl", records)
    write_lines(expected / "batches.jsonl", batches)
    write_list(expected / "acls.json", sorted_acls(state))
    write_list(expected / "scram.json", sorted_scram(state))
    at = {str(offset): sorted(replay(records, offset).acls) for offset in offsets}
    (expected / "acls-at.json").write_text(json.dumps(at, indent=1) + "\n", encoding="utf-8")
    bootstrap = decode(tools, target / "log-dir" / "bootstrap.checkpoint")
    write_lines(expected / "bootstrap.records.jsonl", bootstrap.records)
    for path in snapshots:
        snapshot = decode(tools, path).records
        write_lines(expected / f"snapshot-{path.stem}.records.jsonl", snapshot)
        if replay(snapshot) != replay(records, int(path.stem.partition("-")[0])):
            raise RuntimeError(f"{path.name} differs from the replay of the log")
    summary = {
        "logStartOffset": 0,
        "logEndOffset": end,
        "committedBefore": end,
        "replayedFrom": 0,
        "records": len(records),
        "acls": len(state.acls),
        "scram": len(state.scram),
        "snapshots": [path.name for path in snapshots],
    }
    (expected / "summary.json").write_text(json.dumps(summary, indent=2) + "\n", encoding="utf-8")


def decode(tools: KafkaTools, path: Path) -> Decoded:
    """``path`` in the form of the fixtures' ``batches.jsonl`` and ``records.jsonl``."""
    return decoded(tools.dump_log(path))


def decoded(dump: str) -> Decoded:
    batches: list[JsonObject] = []
    records: list[JsonObject] = []
    for line in dump.split("\n"):
        if batch := BATCH_LINE.match(line):
            base, last, epoch, control, position, time, size, codec, crc = batch.groups()
            batches.append(
                {
                    "position": int(position),
                    "size": int(size),
                    "baseOffset": int(base),
                    "lastOffset": int(last),
                    "epoch": int(epoch),
                    "isControl": control == "true",
                    "compression": codec,
                    "maxTimestamp": int(time),
                    "crc": int(crc),
                }
            )
        elif record := RECORD_LINE.match(line):
            offset, time, word, text = record.groups()
            place = {"offset": int(offset), "epoch": batches[-1]["epoch"], "timestamp": int(time)}
            data = json.loads(text)
            records.append(
                {**place, **data}
                if word == "payload"
                else {**place, "control": _control_name(word), "data": data}
            )
    return Decoded(batches, records)


def _control_name(word: str) -> str:
    """``LEADER_CHANGE`` for ``LeaderChange``; ``KRAFT_VERSION`` for ``KRaftVersion``."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", word.replace("KRaft", "Kraft")).upper()


def replay(records: Sequence[JsonObject], end: int | None = None) -> State:
    """The state after all committed records below offset ``end``."""
    state = State({}, {})
    transaction: list[JsonObject] | None = None
    for record in records:
        if end is not None and record["offset"] >= end:
            break
        kind = record.get("type")
        if kind == "BEGIN_TRANSACTION_RECORD":
            transaction = []
        elif kind == "END_TRANSACTION_RECORD":
            for each in transaction or ():
                _apply(state, each)
            transaction = None
        elif kind == "ABORT_TRANSACTION_RECORD":
            transaction = None
        elif transaction is not None:
            transaction.append(record)
        else:
            _apply(state, record)
    return state


def _apply(state: State, record: JsonObject) -> None:
    data = record["data"]
    match record.get("type"):
        case "ACCESS_CONTROL_ENTRY_RECORD":
            state.acls[data["id"]] = {
                "id": data["id"],
                "resourceType": RESOURCE_TYPES[data["resourceType"]],
                "resourceName": data["resourceName"],
                "patternType": PATTERN_TYPES[data["patternType"]],
                "principal": data["principal"],
                "host": data["host"],
                "operation": OPERATIONS[data["operation"]],
                "permissionType": PERMISSION_TYPES[data["permissionType"]],
            }
        case "REMOVE_ACCESS_CONTROL_ENTRY_RECORD":
            del state.acls[data["id"]]
        case "USER_SCRAM_CREDENTIAL_RECORD":
            state.scram[data["name"], data["mechanism"]] = {
                "user": data["name"],
                "mechanism": MECHANISMS[data["mechanism"]],
                "iterations": data["iterations"],
            }
        case "REMOVE_USER_SCRAM_CREDENTIAL_RECORD":
            del state.scram[data["name"], data["mechanism"]]


def _changes(record: JsonObject) -> bool:
    kind = record.get("type", "")
    return kind.endswith(("ACCESS_CONTROL_ENTRY_RECORD", "TRANSACTION_RECORD"))


def bindings_listed(listing: str) -> Iterator[tuple[str, ...]]:
    """The output of kafka-acls --list as pattern and entry of each ACL, as texts."""
    parts = LISTED_PATTERN.split(listing)
    for start in range(1, len(parts), 4):
        pattern = parts[start : start + 3]
        for entry in LISTED_ENTRY.findall(parts[start + 3]):
            yield (*pattern, *entry)


def _binding(acl: JsonObject) -> tuple[str, ...]:
    return tuple(value for key, value in acl.items() if key != "id")


def sorted_acls(state: State) -> list[JsonObject]:
    return [state.acls[key] for key in sorted(state.acls)]


def sorted_scram(state: State) -> list[JsonObject]:
    return [state.scram[key] for key in sorted(state.scram)]


def write_lines(path: Path, values: Sequence[JsonObject]) -> None:
    path.write_text("".join(f"{compact(value)}\n" for value in values), encoding="utf-8")


def write_list(path: Path, values: Sequence[JsonObject]) -> None:
    body = ",\n ".join(compact(value) for value in values)
    path.write_text(f"[{body}]\n", encoding="utf-8")


def compact(value: JsonObject) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)
