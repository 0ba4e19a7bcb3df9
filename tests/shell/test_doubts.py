"""No verb answers from a source with a doubt: all verbs, and all kinds of doubt. A new verb must be
listed in ``ANSWERS``, ``SHOWS`` or ``ELSEWHERE``."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable, Iterator
from io import StringIO
from pathlib import Path

import pytest

from metalog.errors import CorruptLog
from metalog.loader import Loader, feed
from metalog.log.folder.directory import DirectoryLog
from metalog.records.batch import Batch, assemble_batch, encode_batch
from metalog.records.messages import (
    FeatureLevelRecord,
    RemoveAccessControlEntryRecord,
    UserScramCredentialRecord,
)
from metalog.records.record import Header, RawRecord
from shell.main import TABLE
from shell.output.output import Output
from tests.support.command.runs import Run
from tests.support.disk.tiny_log import ABORT, BEGIN, END, ace, batch, raw, snapshot, uuid, values
from tests.support.disk.written_log import files_in, formatted
from tests.support.node.running import running_in

ACL = raw(ace(9, "secret"))
USER = raw(UserScramCredentialRecord("a\ufffdb", 1, b"s", b"k", b"v", 4096))
SEGMENT = f"{0:020d}.log"
SOURCE = Path("SOURCE")


ANSWERS = {
    "can": ("can SOURCE User:a Read topic:t", "can SOURCE User:a Read topic:t -o json"),
    "explain": ("explain SOURCE User:a Read topic:t", "explain SOURCE User:a --consumer --topic t"),
    "who-can": ("who-can SOURCE Read topic:t",),
    "access": ("access SOURCE User:a",),
    "acls": ("acls SOURCE", "acls SOURCE -o json", "acls SOURCE -o csv", "acls SOURCE -o markdown"),
    "users": ("users SOURCE",),
    "topics": ("topics SOURCE", "topics SOURCE --describe --topic t -o json"),
    "history": ("history SOURCE", "history SOURCE User:a Read topic:t"),
    "diff": (
        "diff SOURCE OTHER --exit-code",
        "diff OTHER SOURCE -o commands",
        "diff SOURCE OTHER --meaning",
    ),
    "lint": (
        "lint SOURCE --only redundant",
        "lint SOURCE -o sarif",
        "lint SOURCE -o junit",
        "lint SOURCE -o github",
    ),
    "test": ("test SOURCE EXPECTATIONS", "test SOURCE EXPECTATIONS -o junit"),
    "minimize": ("minimize SOURCE", "minimize SOURCE -o commands", "minimize SOURCE -o yaml"),
    "prove": ("prove SOURCE CLAIM", "prove SOURCE CLAIM -o json"),
    "plan": ("plan SOURCE OTHER", "plan OTHER SOURCE"),
    "export": tuple(f"export SOURCE -o {each}" for each in ("yaml", "json", "csv", "strimzi")),
}
WRITES = {
    "apply": ("apply SOURCE OTHER --yes --allow-lockout", "apply TARGET SOURCE --yes"),
    "export": (
        "export SOURCE -o avro --to NEW",
        "export SOURCE -o checkpoint --to NEW",
        "export SOURCE -o avro-snapshot --to NEW",
    ),
    "format": ("format NEW --import SOURCE",),
    "kafka-acls": (
        "kafka-acls SOURCE --list",
        "kafka-acls SOURCE --add --allow-principal User:b --operation Read --topic t",
        "kafka-acls SOURCE --remove --force --allow-principal User:b --operation Read --topic t",
    ),
    "passwd": ("passwd SOURCE alice --password-file PASSWORD",),
}
SHOWS = {
    "status": ("status SOURCE",),
    "dump": ("dump SOURCE",),
    "shell": ("shell SOURCE -- ls /acl",),
}
ELSEWHERE = {
    "archive": "keeps the bytes of a log as they are, with what nobody can read in them",
    "serve": "its replica is strict: see test_where_an_answer_stops_a_strict_loader_stops",
    "completion": "reads no source",
    "mcp": "asks the other verbs: see tests/shell/test_mcp.py",
    "schema": "reads no source",
    "exporter": "asks the other verbs: see tests/shell/test_exporter.py",
    "man": "reads no source",
    "pipeline build": "an archive ends where a strict loader stops: tests/metalog_spark",
    "pipeline unused": "reads what build wrote",
    "pipeline least-privilege": "reads what build wrote",
    "pipeline what-if": "reads what build wrote, and files of ACLs as plan does",
    "pipeline report": "reads what build wrote",
    "pipeline export": "reads what build wrote",
    "pipeline requests": "reads what build wrote",
    "pipeline shell": "asks the other verbs of the pipeline",
    "pipeline follow": "as build",
    "pipeline demo": "makes what it reads",
}


def record(**changed: object) -> Callable[[int], Batch]:
    plain = RawRecord(0, 0, 0, None, ACL, ())._replace(**changed)  # type: ignore[arg-type]
    return lambda base: assemble_batch(base, 1, 1000, [plain])


def of_values(*of_records: bytes) -> Callable[[int], Batch]:
    return lambda base: values(base, *of_records)


def control(base: int) -> Batch:
    unknown = RawRecord(0, 0, 0, struct.pack(">hh", 0, 99), b"\0\0", ())
    return assemble_batch(base, 1, 1000, [unknown], is_control=True)


DOUBTS: dict[str, Callable[[int], Batch]] = {
    "an ACL of version 9": of_values(bytes((1, 18, 9))),
    "an ACL cut short": of_values(ACL[:-3]),
    "a removal of version 9": of_values(bytes((1, 19, 9))),
    "a removal of nothing": of_values(raw(RemoveAccessControlEntryRecord(uuid(77)))),
    "a user of version 9": of_values(bytes((1, 11, 9))),
    "a token cut short": of_values(bytes((1, 10, 0))),
    "a record without a type": of_values(b"\x07"),
    "a record without a value": of_values(b""),
    "a type that none can be": of_values(b"\x01\x92\x80\x04" + ACL[2:]),
    "a name that is not UTF-8": of_values(ACL.replace(b"secret", b"secre\xff")),
    "half a surrogate pair": of_values(ACL.replace(b"secret", b"sec\xed\xa0\x80")),
    "a user that is not UTF-8": of_values(USER.replace("\ufffd".encode(), b"\xff\xfe\xfd")),
    "operation 16": of_values(ACL[:-3] + b"\x10" + ACL[-2:]),
    "permission 9": of_values(ACL[:-2] + b"\x09" + ACL[-1:]),
    "a key": record(key=b"k"),
    "a header": record(headers=(Header("h", b"v"),)),
    "a time of its own": record(timestamp_delta=5),
    "a control record of type 99": control,
    "an unreadable ACL in a transaction": of_values(raw(BEGIN), bytes((1, 18, 9)), raw(END)),
    "an unreadable end of a transaction": of_values(raw(BEGIN), bytes((1, 24, 9))),
}


class World:
    """A node's folder without a doubt, and a command's words for another folder with one."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.plain = self.folder("plain", ())
        (folder / "expectations.yaml").write_text(
            "allow:\n- {principal: User:a, operation: Read, resource: topic:t}\n"
        )
        (folder / "password.txt").write_text("alice-secret\n")
        (folder / "other.yaml").write_text(
            "acls:\n- {principal: User:b, operation: Read, resourceType: TOPIC, resourceName: t}\n"
        )

    def folder(self, name: str, batches: tuple[Batch, ...]) -> Path:
        """ACLs on topics t and u, then ``batches``."""
        path = formatted(self._folder / name)
        first = batch(0, FeatureLevelRecord("metadata.version", 30), ace(1), ace(2, "u"))
        (path / "__cluster_metadata-0" / SEGMENT).write_bytes(
            b"".join(map(encode_batch, (first, *batches)))
        )
        return path

    def doubtful(self, doubt: Callable[[int], Batch], name: str = "doubtful") -> Path:
        """With a doubt at offset 3, and records after it."""
        odd = doubt(3)
        return self.folder(name, (odd, batch(odd.next_offset, ace(5, "v"))))

    def words(self, line: str, source: Path) -> list[str]:
        meant = {
            "SOURCE": source,
            "OTHER": self._folder / "other.yaml",
            "TARGET": self.plain,
            "NEW": self.new,
            "PASSWORD": self._folder / "password.txt",
            "EXPECTATIONS": self._folder / "expectations.yaml",
            "CLAIM": "never: {principal: any, operation: Read, resource: topic:t}",
        }
        return [str(meant.get(word, word)) for word in line.split()]

    @property
    def new(self) -> Path:
        return self._folder / "new"


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


def lines(verbs: dict[str, tuple[str, ...]]) -> list[str]:
    return [line for each in verbs.values() for line in each]


def test_every_verb_has_its_place() -> None:
    found = {words for words, _, _ in TABLE.commands()}
    assert found == {*ANSWERS, *WRITES, *SHOWS, *ELSEWHERE}
    for verbs in (ANSWERS, WRITES, SHOWS):
        for verb, of_verb in verbs.items():
            assert all(line.split()[0] == verb for line in of_verb)


@pytest.mark.parametrize("line", lines(ANSWERS | SHOWS))
def test_without_a_doubt_each_answers(line: str, world: World, run: Run) -> None:
    assert run(*world.words(line, world.plain)).returncode in (0, 1)


@pytest.mark.once
@pytest.mark.parametrize("line", [*lines(ANSWERS), *lines(WRITES)])
def test_with_a_doubt_none_answers(line: str, world: World, run: Run) -> None:
    for number, (kind, doubtful) in enumerate(DOUBTS.items()):
        source = world.doubtful(doubtful, str(number))
        before = files_in(source)
        done = run(*world.words(line, source))
        assert (done.returncode, done.stdout) == (2, ""), (kind, done.stdout)
        last = done.stderr.splitlines()[-1]
        assert last.startswith("metalog: "), kind
        is_nobodys = f"{source}: not written to: the voters of its quorum are unknown" in last
        assert is_nobodys or f"{source}/__cluster_metadata-0/{SEGMENT}, offset " in last, kind
        assert files_in(source) == before
        assert not world.new.exists()


def of_partition(world: World) -> str:
    return str(world.doubtful(DOUBTS["a removal of nothing"]) / "__cluster_metadata-0")


def of_segment(world: World) -> str:
    return str(world.doubtful(DOUBTS["an ACL cut short"]) / "__cluster_metadata-0" / SEGMENT)


def of_two_folders(world: World) -> str:
    return "+".join(str(world.doubtful(DOUBTS["a key"], name)) for name in ("one", "two"))


def of_two_folders_that_prove_nothing(world: World) -> str:
    """The control record may have named other voters."""
    doubtful = DOUBTS["a control record of type 99"]
    return "+".join(str(world.doubtful(doubtful, name)) for name in ("one", "two"))


def of_checkpoint(world: World) -> str:
    head, data, foot = snapshot(ace(1), ace(2))
    odd = values(data.base_offset, raw(ace(1)), bytes((1, 18, 9)))
    path = world.plain.parent / f"{3:020d}-{1:010d}.checkpoint"
    path.write_bytes(b"".join(map(encode_batch, (head, odd, foot))))
    return str(path)


@pytest.mark.parametrize(
    "kind",
    [of_partition, of_segment, of_two_folders, of_two_folders_that_prove_nothing, of_checkpoint],
)
def test_with_a_doubt_no_kind_of_source_answers(
    kind: Callable[[World], str], world: World, run: Run
) -> None:
    source = kind(world)
    for verb in (*ANSWERS, *WRITES):
        line = (WRITES if verb in WRITES else ANSWERS)[verb][-1]
        if kind is of_checkpoint and verb == "history":
            continue
        done = run(*(source if word == str(SOURCE) else word for word in world.words(line, SOURCE)))
        assert (done.returncode, done.stdout) == (2, ""), (line, done.stdout)
        assert not world.new.exists()


@pytest.mark.parametrize("line", lines(SHOWS))
def test_what_shows_goes_on_and_says_it(line: str, world: World, run: Run) -> None:
    for number, (kind, doubtful) in enumerate(DOUBTS.items()):
        done = run(*world.words(line, world.doubtful(doubtful, str(number))))
        assert done.stdout, kind
        assert done.returncode == (1 if line.startswith("status") else 0), kind
        assert line.startswith("dump") or "offset" in done.stdout + done.stderr, kind


def test_a_log_with_a_doubt_is_not_ready(world: World, run: Run) -> None:
    for number, doubtful in enumerate(DOUBTS.values()):
        source = str(world.doubtful(doubtful, str(number)))
        assert "\nready             no: no answer is certain" in run("status", source).stdout
        assert json.loads(run("status", source, "-o", "json").stdout)["ready"] is False
    assert json.loads(run("status", str(world.plain), "-o", "json").stdout)["ready"] is True


@pytest.mark.parametrize("line", lines(ANSWERS))
def test_salvage_answers_and_says_what_is_missing(line: str, world: World, run: Run) -> None:
    source = world.doubtful(DOUBTS["an ACL of version 9"])
    done = run(*world.words(line, source), "--salvage")
    assert done.returncode in (0, 1)
    place = f"{source}/__cluster_metadata-0/{SEGMENT}, offset 3: "
    assert f"warning: missing in the output: {place}" in done.stderr
    written = line.partition(" -o ")[2]
    if not written:
        return
    if written == "json":
        first, *_ = map(json.loads, done.stdout.splitlines())
        assert [each["offset"] for each in first["missing"]] == [3]
    elif written in LEADS:
        assert done.stdout.startswith(f"{LEADS[written]}{place}")
    else:
        assert place in done.stdout


LEADS = {
    "csv": "# missing: ",
    "yaml": "# missing: ",
    "strimzi": "# missing: ",
    "commands": "# missing: ",
    "markdown": "**missing**: ",
    "github": "::warning title=metalog --salvage::missing: ",
}


@pytest.mark.parametrize("format", ["markdown", "json", "commands"])
def test_what_is_missing_is_said_once(format: str, world: World, run: Run) -> None:
    """Also if two sides of a comparison lack it."""
    source = world.doubtful(DOUBTS["an ACL of version 9"])
    done = run("diff", source, source, "--salvage", "-o", format)
    if format == "json":
        lacks = json.loads(done.stdout)["missing"]
    else:
        lacks = [line for line in done.stdout.splitlines() if line.startswith(LEADS[format])]
    assert (len(lacks), done.stderr.count("missing in the output: ")) == (1, 1)


def test_what_is_missing_later_is_said_alone() -> None:
    out = StringIO()
    output = Output(out, StringIO(), format="markdown")
    output.say_missing(["one"], [{"offset": 1}])
    output.line("text")
    output.say_missing(["one", "two"], [{"offset": 1}, {"offset": 2}])
    output.flush()
    assert out.getvalue() == "**missing**: one\ntext\n**missing**: two\n"


@pytest.mark.parametrize("format", ["avro", "checkpoint", "avro-snapshot"])
def test_what_cannot_say_that_it_lacks_something_is_not_written(
    format: str, world: World, run: Run
) -> None:
    source = world.doubtful(DOUBTS["an ACL of version 9"])
    done = run("export", source, "--salvage", "-o", format, "--to", world.new)
    assert done.returncode == 2
    assert "cannot express what is missing" in done.stderr
    assert not world.new.exists()


SUFFIXES = {"yaml": ".yaml", "json": ".json", "csv": ".csv", "commands": ".sh"}


@pytest.mark.parametrize("format", SUFFIXES)
def test_a_salvaged_file_is_a_source_with_a_doubt(format: str, world: World, run: Run) -> None:
    """A person who removes the line vouches for the rest."""
    target = world.new.with_suffix(SUFFIXES[format])
    source = world.doubtful(DOUBTS["an ACL of version 9"])
    assert run("export", source, "--salvage", "-o", format, "--to", target).returncode == 0
    question = ("User:a", "Read", "topic:t")
    done = run("can", target, *question)
    assert (done.returncode, done.stdout) == (2, "")
    assert f"{target} is incomplete: {source}" in done.stderr
    assert ", offset 3: " in done.stderr
    assert run("plan", world.plain, target).returncode == 2
    assert run("can", target, *question, "--salvage").returncode == 0
    first, *others = target.read_text().splitlines()
    assert "missing" in first
    target.write_text("\n".join(others))
    assert run("can", target, *question).returncode == 0


def test_json_lines_of_a_listing_carry_their_doubt(world: World, run: Run) -> None:
    done = run("acls", world.doubtful(DOUBTS["a key"]), "--salvage", "-o", "json")
    target = world.new.with_suffix(".jsonl")
    target.write_text(done.stdout)
    assert run("acls", target).returncode == 2
    assert run("acls", target, "--salvage").returncode == 0


def test_a_plan_from_what_was_salvaged_removes_nothing_and_is_not_saved(
    world: World, run: Run
) -> None:
    source = world.doubtful(DOUBTS["an ACL of version 9"])
    for options in (("--prune",), ("--save", world.new)):
        done = run("plan", world.plain, source, "--salvage", *options)
        assert (done.returncode, done.stdout.count("Done")) == (2, 0)
    assert not world.new.exists()


def test_a_segment_without_what_came_before_is_one(world: World, run: Run) -> None:
    """Its folder has a DENY that the segment lacks."""
    folder = world.folder("two", ())
    later = folder / "__cluster_metadata-0" / f"{3:020d}.log"
    later.write_bytes(encode_batch(batch(3, ace(5, "v"))))
    question = ("User:a", "Read", "topic:v")
    assert run("can", folder, *question).returncode == 0
    done = run("can", later, *question)
    assert (done.returncode, done.stdout) == (2, "")
    assert "records 0 to 2 are missing" in done.stderr
    assert run("can", later, *question, "--salvage").returncode == 0


def test_history_answers_where_the_doubt_is_not_in_its_range(world: World, run: Run) -> None:
    source = world.doubtful(DOUBTS["an ACL of version 9"])
    question = ("User:a", "Read", "topic:t")
    assert run("history", source, "--to", "3").returncode == 0
    assert run("history", source, *question, "--to", "3").returncode == 0
    assert run("history", source, "--from", "4").returncode == 0
    assert run("history", source, "--from", "3").returncode == 2
    assert run("history", source, *question, "--from", "4").returncode == 2


def test_a_doubt_below_the_snapshot_concerns_only_history(world: World, run: Run) -> None:
    source = world.doubtful(DOUBTS["an ACL of version 9"])
    write_snapshot_at(source, 5, ace(1), ace(2, "u"), ace(5, "v"))
    question = ("User:a", "Read", "topic:t")
    assert run("can", source, *question).returncode == 0
    explained = run("explain", source, *question)
    assert explained.returncode == 0
    assert "the start of the log, offset 5" in explained.stdout
    assert run("history", source).returncode == 2
    assert run("history", source, *question).returncode == 2
    assert run("history", source, "--from", "4").returncode == 0


def write_snapshot_at(folder: Path, end: int, *records: object) -> None:
    path = folder / "__cluster_metadata-0" / f"{end:020d}-{1:010d}.checkpoint"
    path.write_bytes(b"".join(map(encode_batch, snapshot(*records))))


@pytest.mark.parametrize("doubtful", DOUBTS.values(), ids=DOUBTS)
def test_where_no_answer_is_given_a_strict_loader_stops(
    doubtful: Callable[[int], Batch], world: World
) -> None:
    """So does the replica of an embedded authorizer, and of a node."""
    log = DirectoryLog(world.doubtful(doubtful))
    with pytest.raises(CorruptLog) as stopped:
        feed(Loader(), log, log.read(0))
    assert stopped.value.offset in (3, 4)


def test_an_unreadable_record_in_a_transaction_that_is_open_is_said(world: World, run: Run) -> None:
    """It is not in force, so answers hold; at the transaction's end it is a doubt. Kafka stops
    there, which is a problem of the log."""
    begun = (raw(BEGIN), raw(ace(7, "held")), bytes((1, 18, 9)))
    source = world.folder("open", (values(3, *begun),))
    said = (
        "a transaction that began at offset 3 is open: its 2 records are not in force; if it is "
        "committed, no answer is certain, because of offset 5: ACCESS_CONTROL_ENTRY_RECORD version"
    )
    for line in ("can SOURCE User:a Read topic:t", "who-can SOURCE Read topic:t", "acls SOURCE"):
        done = run(*world.words(line, source))
        assert (done.returncode, f"note: {said}" in done.stderr) == (0, True), done.stderr
        assert "held" not in done.stdout
    done = run("status", source)
    assert (done.returncode, said in done.stdout) == (1, True), done.stdout
    waiting = json.loads(run("status", source, "--json").stdout)["openTransaction"]
    assert (waiting["offset"], [each["offset"] for each in waiting["unread"]]) == (3, [5])
    ended = world.folder("ended", (values(3, *begun, raw(END)),))
    assert run("can", ended, "User:a", "Read", "topic:t").returncode == 2
    assert json.loads(run("status", world.plain, "--json").stdout)["openTransaction"] is None


@pytest.fixture
def controller(tmp_path: Path) -> Iterator[str]:
    """A cluster with one ACL, whose listener does not list SCRAM users."""
    with running_in(formatted(tmp_path / "node")) as node:
        yield f"cluster://{node.addresses['CONTROLLER']}"


def test_users_that_a_store_has_and_that_are_not_read_are_a_doubt(
    controller: str, world: World, run: Run
) -> None:
    """Only for answers about users: ACLs are shown and used without them."""
    for line in (
        "users SOURCE",
        "export SOURCE",
        "export SOURCE -o json",
        "export SOURCE -o checkpoint --include-credentials --to NEW",
        "diff SOURCE TARGET",
        "diff TARGET SOURCE -o json",
        "apply TARGET SOURCE --include-credentials --yes",
        "format NEW --import SOURCE",
    ):
        words = line.replace("SOURCE", controller)
        done = run(*world.words(words, world.plain))
        assert (done.returncode, done.stdout) == (2, ""), line
        assert "cannot list SCRAM users: " in done.stderr.splitlines()[-1], line
        if not line.startswith(("apply", "format", "export SOURCE -o checkpoint")):
            done = run(*world.words(words, world.plain), "--salvage")
            assert done.returncode == 0, line
            assert "missing in the output: cluster:" in done.stderr, line
    for line in (
        "acls SOURCE",
        "can SOURCE User:a READ topic:bootstrapped",
        "export SOURCE -o csv",
        "export SOURCE -o checkpoint --to NEW",
        "diff SOURCE OTHER",
        "plan TARGET SOURCE",
        "lint SOURCE --only redundant",
    ):
        done = run(*world.words(line.replace("SOURCE", controller), world.plain))
        assert done.returncode in (0, 1), (line, done.stderr)
        assert "cannot list SCRAM users: " in done.stderr, line


def test_a_doubt_in_an_aborted_transaction_is_none(world: World, run: Run) -> None:
    """An aborted record hides nothing; but Kafka stops there."""
    source = world.doubtful(of_values(raw(BEGIN), bytes((1, 18, 9)), raw(ABORT)))
    done = run("can", source, "User:a", "Read", "topic:t")
    assert done.returncode == 0
    assert "warning: offset 4: a record was left out" in done.stderr
