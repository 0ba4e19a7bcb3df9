"""Bad input gets one clear line and exit code 2, and nothing on disk changes."""

from __future__ import annotations

import hashlib
import os
import shutil
import struct
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from metalog.log.folder.directory import DirectoryLog
from metalog.records.batch import Batch, assemble_batch, batch_bytes, build_batch
from metalog.records.messages import FeatureLevelRecord
from metalog.records.primitives.checksum import crc32c
from metalog.records.record import RawRecord
from tests.support.command.runs import Run
from tests.support.kafka.cases import DEMO, REPOSITORY, damaged_cases, kafka_case, kafka_cases

LOG_DIR = DEMO / "log-dir"
PARTITION = "__cluster_metadata-0"
READING = {
    "status": [],
    "acls": [],
    "users": [],
    "dump": [],
    "can": ["User:admin", "read", "topic:orders"],
    "explain": ["User:billing", "read", "topic:payments"],
    "who-can": ["read", "topic:payments"],
    "access": ["User:billing"],
    "history": [],
    "diff": ["--from", "-1s"],
    "lint": [],
    "test": [str(REPOSITORY / "docs" / "guide" / "expectations.yaml")],
    "shell": ["--", "ls", "/acl"],
}


@pytest.fixture
def log_dir(tmp_path: Path) -> Path:
    """A copy for damage."""
    return Path(shutil.copytree(LOG_DIR, tmp_path / "log-dir"))


def fingerprint(folder: Path) -> dict[str, tuple[str, int, int]]:
    """Every path below ``folder`` with its contents, mode and modification time."""
    found = {}
    for path in sorted(folder.rglob("*")):
        status = path.lstat()
        content = hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else ""
        found[str(path.relative_to(folder))] = (content, status.st_mode, status.st_mtime_ns)
    return found


Refused = Callable[..., str]


@pytest.fixture
def refused(run: Run) -> Refused:
    """The one line on stderr of a command without an answer."""

    def refused(*arguments: str | Path) -> str:
        done = run(*arguments)
        assert done.returncode == 2, done
        assert done.stdout == ""
        [line] = [line for line in done.stderr.splitlines() if not line.startswith("note: ")]
        assert line.startswith("metalog: ")
        return line

    return refused


@pytest.mark.parametrize("verb", ["status", "acls", "dump"])
def test_a_folder_that_is_no_log(verb: str, tmp_path: Path, refused: Refused) -> None:
    (tmp_path / "notes.txt").write_text("hello")
    assert str(tmp_path) in refused(verb, tmp_path)


@pytest.mark.parametrize("verb", ["status", "acls", "dump"])
def test_an_empty_folder(verb: str, tmp_path: Path, refused: Refused) -> None:
    assert str(tmp_path) in refused(verb, tmp_path)


def test_nothing_there(tmp_path: Path, refused: Refused) -> None:
    assert "no such file or folder" in refused("acls", tmp_path / "nowhere")


def as_an_ordinary_user(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """``metalog ARGUMENTS`` as a user with limited permissions."""
    command = [sys.executable, "-m", "shell.main", *map(str, arguments)]
    if os.geteuid() == 0:
        command = ["setpriv", "--bounding-set=-all", "--inh-caps=-all", "--", *command]
    environment = {key: value for key, value in os.environ.items() if key != "HOME"}
    return subprocess.run(
        command,
        capture_output=True,
        text=True,
        encoding="utf-8",
        env=environment,
        cwd=REPOSITORY,
        check=False,
    )


@pytest.fixture
def unreadable(log_dir: Path) -> Iterator[Path]:
    (log_dir / PARTITION).chmod(0)
    yield log_dir
    (log_dir / PARTITION).chmod(0o700)


def test_a_folder_without_read_permission(unreadable: Path) -> None:
    done = as_an_ordinary_user("acls", unreadable)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.count("\n") == 1
    assert "permission" in done.stderr


def test_the_log_of_an_ordinary_topic(tmp_path: Path, refused: Refused) -> None:
    segment = tmp_path / "00000000000000000000.log"
    segment.write_bytes(ordinary_batch(b"any value"))
    assert "ordinary topic" in refused("acls", segment)
    topic = tmp_path / "payments-0"
    topic.mkdir()
    shutil.copy(segment, topic)
    (topic / "partition.metadata").write_text("version: 0\ntopic_id: 5vxaQ0WUQK6d0vGC7Qq8Xg\n")
    assert str(topic) in refused("acls", topic)


def ordinary_batch(value: bytes) -> bytes:
    """A batch of one record in message format v2, without metadata."""
    body = b"\x00\x00\x00" + b"\x01" + bytes([len(value) * 2]) + value + b"\x00"
    record = bytes([len(body) * 2]) + body
    checked = struct.pack(">hiqqqhii", 0, 0, 0, 0, -1, -1, -1, 1) + record
    rest = struct.pack(">ibI", 0, 2, crc32c(checked)) + checked
    return struct.pack(">qi", 0, len(rest)) + rest


@pytest.mark.parametrize("verb", ["acls", "users", "dump", "status"])
def test_a_log_that_is_damaged_at_its_first_byte(
    verb: str, tmp_path: Path, refused: Refused
) -> None:
    folder = Path(shutil.copytree(LOG_DIR, tmp_path / "log"))
    [segment] = (folder / PARTITION).glob("*.log")
    segment.write_bytes(b"this is not a batch of Kafka's metadata log, but it is long enough" * 9)
    assert f"{segment}, offset 0, byte 0: " in refused(verb, folder)


@pytest.mark.parametrize("verb", ["acls", "users", "dump", "status"])
def test_a_truncated_snapshot(verb: str, tmp_path: Path, refused: Refused) -> None:
    [whole, *_] = (LOG_DIR / PARTITION).glob("*.checkpoint")
    cut = tmp_path / whole.name
    cut.write_bytes(whole.read_bytes()[:-40])
    assert str(cut) in refused(verb, cut)
    assert cut.stat().st_size == whole.stat().st_size - 40


@pytest.mark.parametrize("verb", ["status", "acls", "dump"])
def test_a_snapshot_that_lost_its_last_batch(verb: str, tmp_path: Path, refused: Refused) -> None:
    case = next(case for case in damaged_cases() if case.name == "snapshot-no-footer")
    [path] = case.log_dir.rglob("0*.checkpoint")
    line = refused(verb, Path(shutil.copy(path, tmp_path)))
    assert "the snapshot has no footer" in line
    assert "--salvage" in line


def test_a_truncated_snapshot_can_be_salvaged(tmp_path: Path, run: Run) -> None:
    [whole, *_] = (LOG_DIR / PARTITION).glob("*.checkpoint")
    cut = tmp_path / whole.name
    cut.write_bytes(whole.read_bytes()[:-40])
    done = run("acls", cut, "--salvage")
    assert done.returncode == 0
    assert "ALLOW" in done.stdout
    assert "warning: " in done.stderr


def test_salvaged_damage_is_one_problem(run: Run, refused: Refused) -> None:
    damaged = next(each.log_dir for each in damaged_cases() if each.name == "bit-middle-body-0")
    assert "the checksum of the batch does not match" in refused("status", damaged)
    done = run("status", damaged, "--salvage")
    assert done.returncode == 1
    assert done.stdout.count("the checksum of the batch does not match") == 1


def test_dump_prints_the_records_before_damage(run: Run) -> None:
    damaged = next(each.log_dir for each in damaged_cases() if each.name == "bit-middle-body-0")
    records = []
    for form in "text", "json":
        done = run("dump", damaged, "-o", form)
        assert done.returncode == 2
        assert "the checksum of the batch does not match" in done.stderr
        records.append(len(done.stdout.splitlines()))
    assert records[0] == records[1] > 0


COPIED_WHILE_KAFKA_RAN = [
    case.name for case in kafka_cases() if case.name.endswith(("-running", "-uncommitted"))
]


@pytest.mark.parametrize("case", COPIED_WHILE_KAFKA_RAN)
def test_a_folder_that_a_live_kafka_writes(case: str, run: Run) -> None:
    running = kafka_case(case).log_dir
    before = fingerprint(running)
    for verb, arguments in READING.items():
        assert run(verb, running, *arguments).returncode in (0, 1), verb
    assert fingerprint(running) == before


@pytest.mark.parametrize("moment", ["99999999", "@99999999999999", "2999-01-01", "1999-01-01"])
def test_a_moment_that_the_log_does_not_reach(moment: str, refused: Refused) -> None:
    line = refused("acls", LOG_DIR, "--at", moment)
    assert "future" in line or "before the log starts" in line


def test_milliseconds_without_their_sign_are_told_it(refused: Refused) -> None:
    line = refused("acls", LOG_DIR, "--at", "1795286697336")
    assert line.endswith("as milliseconds write @1795286697336")


def test_yes_or_no_is_not_said_past_a_record_that_may_be_an_acl(run: Run) -> None:
    log_dir = kafka_case("frames-crafted/acl-record-version-1").log_dir
    question = ("User:x", "read", "topic:y")
    done = run("can", log_dir, *question)
    assert (done.returncode, done.stdout) == (2, "")
    assert "offset 23: a record was left out: " in done.stderr
    assert "so no answer is certain; --salvage answers from what can be read" in done.stderr
    assert run("can", log_dir, *question, "--super-users", "User:x").returncode == 0
    explained = run("explain", log_dir, *question)
    assert (explained.returncode, explained.stdout) == (2, "")
    salvaged = run("explain", log_dir, *question, "--salvage")
    assert salvaged.returncode == 0
    assert "warning: missing in the output: " in salvaged.stderr
    assert ", offset 23: " in salvaged.stderr
    known = kafka_case("frames-crafted/unknown-record-type").log_dir
    assert run("can", known, *question).returncode == 1


def append(log_dir: Path, batch: Batch) -> int:
    """Appends ``batch`` in the log's epoch; returns the new end offset."""
    log = DirectoryLog(log_dir)
    last = log.folder.segment_path(log.folder.segments[-1])
    end, epoch = log.bounds().end, log.bounds().epoch
    placed = batch._replace(base_offset=end, last_offset=end, epoch=epoch)
    last.write_bytes(last.read_bytes() + batch_bytes(placed))
    return end


def test_nor_past_a_control_record_that_cannot_be_read(log_dir: Path, run: Run) -> None:
    """It may stand for any other; ``test_control_records`` has those that Kafka refuses."""
    record = RawRecord(0, 0, 0, struct.pack(">hh", 0, 99), b"\0\0", ())
    end = append(log_dir, assemble_batch(0, 0, 0, [record], is_control=True))
    reason = f"offset {end}: a record was left out: control type 99 is unknown"
    done = run("can", log_dir, "User:billing", "read", "topic:payments")
    assert (done.returncode, done.stdout) == (2, "")
    assert reason in done.stderr
    shown = run("status", log_dir)
    assert shown.returncode == 1
    assert reason in shown.stdout
    assert "1  unreadable control record" in shown.stdout


@pytest.mark.parametrize(
    ("level", "said"), [(99, "a newer Kafka"), (0, "no Kafka has"), (6, "an older Kafka")]
)
def test_a_metadata_version_that_kafka_refuses_is_said(
    level: int, said: str, log_dir: Path, run: Run
) -> None:
    append(log_dir, build_batch(0, 0, 0, [(FeatureLevelRecord("metadata.version", level), 0)]))
    done = run("can", log_dir, "User:billing", "read", "topic:payments", "--host", "10.0.4.12")
    assert done.returncode == 0
    assert f"warning: metadata.version {level} is not between 7 and 34" in done.stderr
    assert said in done.stderr
    assert run("status", log_dir).returncode == 1


def test_a_record_that_may_mislead_is_pointed_out(run: Run) -> None:
    log_dir = kafka_case("frames-crafted/name-not-utf8").log_dir
    assert run("acls", log_dir).returncode == 2
    done = run("acls", log_dir, "--salvage")
    assert (done.returncode, done.stdout.count("\n")) == (0, 1)
    assert "the record's meaning is uncertain" in done.stderr


@pytest.mark.parametrize(
    ("case", "said"),
    [
        ("quorum-4.3/node-11", "records at offset 229 and later are not proven to be committed"),
        ("quorum-4.3/node-12-uncommitted", "nothing is proven to be committed: no snapshot"),
    ],
)
def test_what_is_not_proven_to_be_committed_is_never_shown_silently(
    case: str, said: str, run: Run
) -> None:
    log_dir = kafka_case(case).log_dir
    for verb, arguments in (
        ("acls", ()),
        ("users", ()),
        ("explain", ("User:a", "read", "topic:t")),
    ):
        assert f"note: {said}" in run(verb, log_dir, *arguments).stderr
    assert "proven" not in run("acls", log_dir, "--quiet").stderr
    assert "proven" not in run("acls", kafka_case("basic-4.3").log_dir).stderr


def test_what_is_proven_to_be_committed_is_shown_without_a_word(run: Run) -> None:
    log_dir = kafka_case("quorum-4.3/node-11").log_dir
    for option in ("--committed", "--at=229"):
        assert "proven" not in run("acls", log_dir, option).stderr


def test_a_moment_that_is_none(refused: Refused) -> None:
    assert "is not a moment" in refused("acls", LOG_DIR, "--at", "yesterday")


def test_a_moment_before_a_trimmed_log_starts(refused: Refused) -> None:
    trimmed = kafka_case("trimmed-4.3").log_dir
    assert "is too early" in refused("acls", trimmed, "--at", "100")


@pytest.mark.parametrize(
    ("arguments", "nearest"),
    [
        (["can", LOG_DIR, "User:a", "raed", "topic:t"], "READ"),
        (["can", LOG_DIR, "User:a", "read", "topc:t"], "TOPIC"),
        (["acls", LOG_DIR, "--operation", "Wriet"], "WRITE"),
        (["acls", LOG_DIR, "--permission", "alow"], "ALLOW"),
        (["acls", LOG_DIR, "--resource-pattern-type", "prefix"], "PREFIXED"),
        (["can", LOG_DIR, "User:a", "--api", "Prodce", "--topic", "t"], "Produce"),
    ],
)
def test_an_unknown_word_is_told_the_nearest(
    arguments: list[str | Path], nearest: str, refused: Refused
) -> None:
    assert f"did you mean {nearest}?" in refused(*arguments)


@pytest.mark.parametrize("line", ["hello there", "x" * 10_000])
def test_a_pasted_line_that_is_no_audit_line(line: str, refused: Refused) -> None:
    assert "not an audit line" in refused("explain", LOG_DIR, line)


def test_a_pasted_line_that_is_cut_off(refused: Refused) -> None:
    assert "broken audit line" in refused("explain", LOG_DIR, "Principal = User:a is Denied")


@pytest.mark.parametrize("option", ["--audit", "--requests"])
def test_a_file_without_questions_is_pointed_out(option: str, run: Run) -> None:
    done = run("can", "@demo", option, "/dev/null")
    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr.startswith("note: /dev/null has no lines, so there is no question")


def test_a_broken_requests_line_is_named_and_the_others_go_on(run: Run) -> None:
    lines = [
        '{"principal":"User:admin","operation":"READ","resourceType":"TOPIC","resourceName":"t"}',
        '{"principal":"User:admin"',
        "",
        '{"principal":"User:nobody","operation":"Read","resourceType":"topic","resourceName":"t"}',
    ]
    done = run("can", "@demo", "--requests", "-", "--json", stdin="\n".join(lines))
    assert done.returncode == 2
    assert [line.count('"ALLOWED"') for line in done.stdout.splitlines()] == [1, 0]
    assert done.stderr.startswith("metalog: stdin, line 2: this is not JSON: ")
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("option", "line", "said"),
    [
        ("--requests", b'{"principal":"User:\xff","host":"a"}', "byte 19 is not UTF-8"),
        ("--requests", b'{"host":"10.0.0.1","host":"10.0.0.2"}', "a key is repeated"),
        ("--audit", b"INFO Principal = User:Ren\xe9 is Denied", "byte 25 is not UTF-8"),
    ],
)
def test_a_line_that_may_ask_something_else_is_not_answered(
    option: str, line: bytes, said: str, tmp_path: Path, refused: Refused
) -> None:
    """A line with an unknown name, and one that fits two hosts."""
    (tmp_path / "asked").write_bytes(line)
    assert said in refused("can", LOG_DIR, option, tmp_path / "asked")


def test_a_missing_requests_file(tmp_path: Path, refused: Refused) -> None:
    assert "No such file" in refused("can", LOG_DIR, "--requests", tmp_path / "none")


def test_a_missing_configuration(tmp_path: Path, refused: Refused) -> None:
    missing = tmp_path / "server.properties"
    assert str(missing) in refused("can", LOG_DIR, "--config", missing, "User:a", "read", "topic:a")


@pytest.mark.once
@pytest.mark.parametrize("verb", READING)
def test_a_read_only_folder_and_no_home(verb: str, log_dir: Path) -> None:
    """Every reading verb works without write permission, and changes nothing."""
    folders = [log_dir, log_dir / PARTITION]
    for path in log_dir.rglob("*"):
        if path.is_file():
            path.chmod(0o444)
    for folder in folders:
        folder.chmod(0o555)
    before = fingerprint(log_dir.parent)
    try:
        done = as_an_ordinary_user(verb, log_dir, *READING[verb])
        assert done.returncode in (0, 1), done.stderr
        assert done.stdout
        assert fingerprint(log_dir.parent) == before
    finally:
        for folder in folders:
            folder.chmod(0o755)
