"""Errors that the local disk shows are reported before Spark starts."""

from __future__ import annotations

import gzip
import json
import os
import sys
import tracemalloc
from collections.abc import Iterable, Mapping
from errno import ENOLCK
from pathlib import Path
from typing import Any

import pytest

from metalog.errors import InvalidRequest, InvalidSource, InvalidTarget
from metalog_spark.ingest.audit_files import BLOCK_BYTES
from metalog_spark.ingest.audit_preflight import check_audit, check_has_line
from metalog_spark.store.commit_log import VERSION
from metalog_spark.store.preflight import (
    PACKED,
    check_can_be_filled,
    check_can_be_followed,
    check_can_be_read,
    is_small,
    passed_over,
    taken,
)
from tests.support.command.runs import run_here
from tests.support.disk.archive_folders import ArchiveFolder
from tests.support.disk.tiny_log import ace
from tests.support.kafka.cases import kafka_case

LINE = (
    "[2026-01-01 00:00:00,000] INFO Principal = User:a is Allowed operation = READ from host ="
    " 10.0.0.1 on resource = Topic:LITERAL:t for request = Fetch with resourceRefCount = 1\n"
)
MADE = {"kind": "kraft-metalog pipeline", "version": VERSION}


def listed(folder: Path, *changes: Mapping[str, Any], serials: Iterable[int] = range(1, 9)) -> Path:
    """A folder with a commit log, one change in each file as Spark writes them, and its own
    marks."""
    (folder / "changes").mkdir(parents=True)
    (folder / "changes" / "_SUCCESS").touch()
    for serial, change in zip(serials, (MADE, *changes), strict=False):
        line = json.dumps({"serial": serial, **change}) + "\n"
        (folder / "changes" / f"part-{serial}.txt").write_text(line)
    return folder


def test_a_folder_is_read_as_spark_reads_it(tmp_path: Path) -> None:
    (tmp_path / "usage" / "place=b").mkdir(parents=True)
    folder = str(listed(tmp_path, {"places": {"usage": "usage/place=b"}}, {"facts": {"a": 1}}))
    check_can_be_read(folder)
    contents = check_can_be_filled(folder)
    assert contents is not None
    assert (contents.facts, contents.places_of("usage")) == ({"a": 1}, ["usage/place=b"])
    (tmp_path / "usage" / "place=b").rmdir()
    for check in check_can_be_read, check_can_be_filled:
        with pytest.raises(InvalidSource, match=f"^{folder}: its table usage is gone; restore the"):
            check(folder)


def test_a_folder_that_is_none_or_not_whole(tmp_path: Path) -> None:
    torn = str(listed(tmp_path / "torn", {}, serials=(1, 3)))
    for check in check_can_be_read, check_can_be_filled:
        with pytest.raises(InvalidSource, match=f"^{torn}/changes: line 2 is missing"):
            check(torn)
    (tmp_path / "new" / ".hidden").mkdir(parents=True)
    (tmp_path / "new" / ".hidden" / "file").touch()
    for new in tmp_path / "new", tmp_path / "nowhere":
        assert check_can_be_filled(str(new)) is None
        with pytest.raises(InvalidSource, match=f"^{new}: not a pipeline's folder"):
            check_can_be_read(str(new))
    (tmp_path / "other" / "in").mkdir(parents=True)
    thesis = tmp_path / "other" / "in" / "thesis.txt"
    thesis.touch()
    for path, said in {tmp_path / "other": "holds files that are", thesis: "is a file;"}.items():
        with pytest.raises(InvalidTarget, match=f"^{path}: {said}"):
            check_can_be_filled(str(path))


@pytest.mark.usefixtures("no_spark")
def test_two_do_not_write_to_one_folder_at_once(
    given: dict[str, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    """The stale lock of an ended process does not block the folder."""
    new = given["NEW"]
    words = ("--log", given["LOG"], "--audit", given["AUDIT"], "--out", new)
    with taken(str(new)):
        for verb, *how in ("build",), ("follow",), ("build", "--spark-conf=spark.driver.memory=8g"):
            done = run_here(capsys, "pipeline", verb, *words, *how)
            assert (done.returncode, done.stdout) == (2, "")
            said = f"{new}: another metalog pipeline build or follow writes to this folder; wait"
            assert f"metalog: {said}" in done.stderr
    assert not new.exists()
    new.mkdir()
    (new / ".lock").touch()
    with taken(str(new)):
        assert check_can_be_filled(str(new)) is None
    assert [each.name for each in new.iterdir()] == [".lock"]


@pytest.mark.usefixtures("no_spark")
def test_where_no_file_can_be_locked_nothing_is_written(
    given: dict[str, Path], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """For example, NFS without a lock daemon."""

    def locked(*_: object) -> None:
        raise OSError(ENOLCK, "No locks available")

    monkeypatch.setattr("fcntl.lockf", locked)
    for verb in "build", "follow":
        words = ("--log", given["LOG"], "--audit", given["AUDIT"], "--out", given["NEW"])
        done = run_here(capsys, "pipeline", verb, *words)
        assert (done.returncode, done.stdout) == (2, "")
        said = f"{given['NEW']}: files cannot be locked there (No locks available), so two programs"
        assert f"metalog: {said} could write there at once; name a folder on" in done.stderr
        assert not given["NEW"].exists()


def test_a_folder_to_follow(tmp_path: Path) -> None:
    check_can_be_followed(str(tmp_path))
    check_can_be_followed(str(tmp_path / "host-*" / "audit"))
    (tmp_path / "a[1]").mkdir()
    with pytest.raises(InvalidRequest, match="part of a pattern; name a folder without"):
        check_can_be_followed(str(tmp_path / "a[1]"))


def test_names_that_spark_does_not_see(tmp_path: Path) -> None:
    for name in b"b1.log", "bäcker.log".encode(), b".part\xf6", b"b\xf6se.log":
        Path(os.fsdecode(bytes(tmp_path) + b"/" + name)).touch()
    for audit in tmp_path, tmp_path.parent / f"{tmp_path.name}*":
        assert [os.fsencode(each.name) for each in passed_over(str(audit))] == [b"b\xf6se.log"]


@pytest.mark.parametrize("pattern", [".", "*", "*/*.log", "**/*.log"])
def test_the_checks_of_audit_files_take_the_memory_of_one_folder(
    tmp_path: Path, pattern: str
) -> None:
    def least_peak(folders: int) -> int:
        """The least of several: in one of them Python's own table of interned strings may grow."""
        files = [f"b{folder:02}/{hour:02}.log" for folder in range(folders) for hour in range(50)]
        for path in (tmp_path / str(folders) / file for file in files):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("a line\n")
        patterns, out = [str(tmp_path / str(folders) / pattern)], str(tmp_path / "out")
        return min(peak_of_check(patterns, out) for _ in range(3))

    def peak_of_check(patterns: list[str], out: str) -> int:
        tracemalloc.start()
        check_audit(patterns, out, None)
        found = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return found

    assert least_peak(30) < 1.5 * least_peak(3)


@pytest.mark.parametrize("pattern", ["**/*.gz", "**/b1.*", "a/**/*.gz", "a/*/c/b1.gz"])
def test_a_pattern_finds_files_at_any_depth(tmp_path: Path, pattern: str) -> None:
    """As Spark does, in any local check that looks for files."""
    deep = tmp_path / "a" / "b" / "c" / "b1.gz"
    deep.parent.mkdir(parents=True)
    deep.touch()
    assert check_audit([str(tmp_path / pattern)], str(tmp_path / "out"), None) == [str(deep)]


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_an_audit_line_is_found_wherever_a_block_ends(tmp_path: Path, pack: Any) -> None:
    """Files are searched in blocks. A name that two files share between them is none."""
    at = LINE.index("Principal ")
    for split in range(len("Principal ") + 1):
        path = tmp_path / "b1.log"
        path.write_bytes(pack(b"\n" * (BLOCK_BYTES - at - split) + LINE.encode()))
        check_has_line([str(path)])
    for name, content in {"x.log": b"Princi", "y.log": b"pal "}.items():
        (tmp_path / name).write_bytes(pack(content))
    with pytest.raises(InvalidRequest, match="no audit line in them"):
        check_has_line([str(tmp_path / name) for name in ("x.log", "y.log")])


@pytest.fixture
def given(tmp_path: Path) -> dict[str, Path]:
    """The values of the words in capitals below."""
    ArchiveFolder(tmp_path / "voter").segment(0, ace(1), ace(2)).snapshot(2, ace(1))
    damaged = ArchiveFolder(tmp_path / "damaged").segment(0, ace(1)).segment_path(0)
    damaged.write_bytes(damaged.read_bytes()[:-1] + b"?")
    (tmp_path / "empty").mkdir()
    (tmp_path / "audit").mkdir()
    (tmp_path / "audit" / "b1.log").write_text(LINE)
    (tmp_path / "idle" / "log").mkdir(parents=True)
    (tmp_path / "idle" / "log" / "b1.log").touch()
    listed(tmp_path / "demo" / "tables")
    ArchiveFolder(tmp_path / "demo" / "log").segment(0, ace(1))
    (tmp_path / "acls.yaml").write_text("acls: []\n")
    (tmp_path / "secrets").mkdir()
    (tmp_path / "secrets" / "x.parquet").write_bytes(b"PARE, and what nobody can read, PARE")
    followed = {"facts": {"followed": {"log": "l", "audit": "a"}}}
    return {
        "LOG": kafka_case("basic-4.3").log_dir,
        "VOTER": tmp_path / "voter",
        "BAD": tmp_path / "damaged",
        "AUDIT": tmp_path / "audit",
        "IDLE": tmp_path / "idle",
        "DEMO": tmp_path / "demo",
        "EMPTY": tmp_path / "empty",
        "FILE": tmp_path / "audit" / "b1.log",
        "ACLS": tmp_path / "acls.yaml",
        "SECRETS": tmp_path / "secrets",
        "SECRET": tmp_path / "secrets" / "x.parquet",
        "NEW": tmp_path / "new",
        "NOW": listed(tmp_path / "now", followed),
        "BUILT": listed(tmp_path / "built"),
        "TORN": listed(tmp_path / "torn", {"places": {"usage": "usage/place=a"}}),
    }


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("build --log /nowhere --audit AUDIT --out NEW", "/nowhere: there is no such file or"),
        ("build --log /nowhere/* --audit AUDIT --out NEW", "/nowhere/*: nothing matches this pat"),
        ("build --log topic:///t --audit AUDIT --out NEW", "topic:///t: give topic://HOST:PORT"),
        ("build --log ACLS --audit AUDIT --out NEW", "not a log: it has only the present state"),
        ("build --log LOG --audit /nowhere/x* --out NEW", "/nowhere/x*: no file has this name"),
        ("build --log LOG --audit= --out NEW", "metalog: --audit: the name is empty: is a variab"),
        ("build --log LOG --audit EMPTY --out NEW", "empty: the folder has no file"),
        ("build --log LOG --audit ACLS --out NEW", "acls.yaml: no audit line in it; name the"),
        ("build --log LOG --audit ACLS IDLE --out NEW", "and 1 more file: no audit line in them;"),
        ("build --log DEMO --audit AUDIT --out NEW", "; did you mean {DEMO}/log?"),
        ("build --log IDLE --audit AUDIT --out NEW", "give a controller's metadata.log.dir"),
        (
            "build --log LOG FILE --audit AUDIT --out NEW",
            "b1.log: did the shell expand a pattern? Put the pattern in quotes; see metalog"
            " pipeline",
        ),
        ("build --log LOG /nowhere --audit AUDIT --out NEW", "arguments: /nowhere; see metalog"),
        ("unused DEMO", "; did you mean {DEMO}/tables?"),
        ("build --log LOG --audit AUDIT --out NEW --broker-from x(.)y", "'x(.)y' finds no broker"),
        (
            "build --log LOG --audit topic://b:9/a --out NEW",
            "a topic has no end, and Kafka deletes its records",
        ),
        ("build --log LOG --requests /nowhere --out NEW", "--requests /nowhere: there is no such"),
        ("build --log LOG --requests FILE --out NEW", "b1.log: not Parquet; name audit logs by"),
        ("build --log LOG --requests SECRET --out NEW", "x.parquet: encrypted Parquet, and Spa"),
        ("build --log LOG --requests SECRETS --out NEW", "secrets: encrypted Parquet, and Spark"),
        ("build --log LOG --audit SECRET --out NEW", "--audit {SECRET}: encrypted Parquet, an"),
        (
            "build --log LOG --audit SECRETS/* --out NEW",
            "x.parquet is Parquet; name a Parquet table by its folder or file, without a pattern",
        ),
        ("build --log LOG --audit AUDIT --out NOW", "metalog pipeline follow fills it; build into"),
        ("build --log LOG --audit NOW --out NOW", "metalog pipeline follow fills it; build into"),
        ("build --log LOG --audit BUILT/changes --out BUILT", "a file of the pipeline's folder"),
        ("build --log LOG --audit TORN --out TORN", "torn: its table usage is gone"),
        (
            "build --log LOG --audit AUDIT --out AUDIT",
            "audit: holds files that are not a pipeline's",
        ),
        ("build --log LOG --audit AUDIT --out FILE", "b1.log: is a file; name a new or empty"),
        ("follow --log /nowhere --audit AUDIT --out NEW", "/nowhere: there is no such file or"),
        (
            "build --log BAD --audit AUDIT --out NEW",
            "from another copy, or leave out the damage by --skip-",
        ),
        ("follow --log BAD --audit AUDIT --out NEW --uncommitted", "take the log from another"),
        ("follow --log topic:///t --audit AUDIT --out NEW", "topic:///t: give topic://HOST:PORT"),
        ("follow --log LOG --audit /nowhere --out NEW", "--audit /nowhere: there is no such fold"),
        ("follow --log LOG --audit FILE --out NEW", "b1.log: this is a file; name the folder"),
        ("follow --log LOG --audit AUDIT --out NOW", "now: follows --log l --audit a, not --log "),
        ("follow --log LOG --audit AUDIT --out AUDIT/new", "new: lies in --audit "),
        ("follow --log VOTER --audit AUDIT --out VOTER/new", "new: lies in --log "),
        ("build --log VOTER --audit FILE --out VOTER/new", "new: lies in --log "),
        ("build --log LOG --audit AUDIT* --out AUDIT/new", "audit; name another folder"),
        ("follow --log LOG --audit AUDIT --out AUDIT", "holds files that are not a pipeline's"),
        (
            "follow --log LOG --audit AUDIT --out NEW --audit-config c",
            "is not a topic; leave out --audit-config",
        ),
        ("unused TORN", "torn: its table usage is gone; restore the whole folder from a backup"),
        ("report TORN --compare AUDIT", "audit: not a pipeline's folder; metalog pipeline build"),
        (
            "requests TORN --matches orders",
            "orders is not the id of an ACL; metalog pipeline unused {TORN} --json prints the ids",
        ),
        ("what-if TORN /nowhere", "/nowhere: there is no such file or folder"),
        ("what-if TORN ACLS --super-users root", "--super-users: 'root' has no type; write it as"),
        ("what-if TORN ACLS", "torn: its table usage is gone; restore the whole folder"),
    ],
)
@pytest.mark.usefixtures("no_spark")
def test_the_verbs_say_it_in_a_line(
    given: dict[str, Path], words: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, path in given.items():
        words = words.replace(name, str(path))
        said = said.replace(f"{{{name}}}", str(path))
    done = run_here(capsys, "pipeline", *words.split())
    assert (done.returncode, done.stdout) == (2, "")
    [line] = [each for each in done.stderr.splitlines() if each.startswith("metalog: ")]
    assert said in line
    assert not given["NEW"].exists()


@pytest.mark.usefixtures("no_spark")
def test_what_build_leaves_out_and_follow_waits_for_is_said_first(
    given: dict[str, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    said = f"{given['VOTER']}: only up to offset 2 of 3 proven to be committed (a snapshot ends"
    words = ("--log", given["VOTER"], "--audit", given["AUDIT"], "--out", given["NEW"])
    for verb, rest in (("build", ("--committed",)), ("follow", ()), ("build", ())):
        done = run_here(capsys, "pipeline", verb, *words, *rest, "--spark-conf", "x")
        assert "metalog: --spark-conf x: write it as KEY=VALUE" in done.stderr
        assert (f"warning: {said}" in done.stderr) is bool(rest or verb == "follow")


@pytest.mark.usefixtures("no_spark")
def test_a_source_of_acls_is_no_audit_log(
    given: dict[str, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    words = ("--log", given["LOG"], "--audit", "cluster://b:9092", "--out", given["NEW"])
    for verb in "build", "follow":
        done = run_here(capsys, "pipeline", verb, *words)
        assert (done.returncode, done.stdout) == (2, "")
        assert "--audit cluster://b:9092: ACLs and not audit lines; name the" in done.stderr
    assert not given["NEW"].exists()


@pytest.mark.usefixtures("no_spark")
def test_settings_of_a_client_are_refused_if_no_log_is_on_a_cluster(
    given: dict[str, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    words = ("--log", given["LOG"], "--audit", given["AUDIT"], "--out", given["NEW"])
    for verb in "build", "follow":
        done = run_here(capsys, "pipeline", verb, *words, "--command-config", "client.properties")
        assert (done.returncode, done.stdout) == (2, "")
        assert "--command-config: no source is a Kafka cluster; leave it out" in done.stderr


@pytest.mark.parametrize("verb", ["build", "unused", "report", "follow", "demo"])
@pytest.mark.parametrize("lacking", ["pyspark", "pyarrow"])
@pytest.mark.usefixtures("no_spark")
def test_what_is_not_installed_is_said_with_what_brings_it(
    given: dict[str, Path],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    verb: str,
    lacking: str,
) -> None:
    words = {
        "build": ["--log", given["LOG"], "--audit", given["AUDIT"], "--out", given["NEW"]],
        "follow": ["--log", given["LOG"], "--audit", given["AUDIT"], "--out", given["NEW"]],
        "demo": ["--out", given["NEW"]],
    }
    monkeypatch.setitem(sys.modules, lacking, None)
    done = run_here(capsys, "pipeline", verb, *words.get(verb, [given["BUILT"]]))
    said = (
        f"metalog: the pipeline needs {lacking}: pip install 'kraft-metalog[spark]', or in a clone"
        " pip install '.[spark]'\n"
    )
    assert (done.returncode, done.stderr) == (2, said)
    assert not given["NEW"].exists()


def test_input_is_small_if_its_files_are_few_and_small(tmp_path: Path) -> None:
    """Sparse files have a size, and take no space."""

    def grown(name: str, size: int, suffix: str = ".log") -> str:
        path = tmp_path / name / f"audit{suffix}"
        path.parent.mkdir()
        with path.open("wb") as file:
            file.truncate(size)
        return str(path.parent)

    half = 8 << 20
    one, other, more = grown("one", half), grown("other", half), grown("more", 1)
    assert is_small([one, other, str(tmp_path / "nowhere")])
    assert not is_small([one, f"{tmp_path}/o*er", more])
    assert is_small([f"{one}+{other}"])
    assert not is_small([f"{one}+{other}+{more}"])
    assert not is_small([str(tmp_path)])
    for suffix in PACKED:
        packed = [grown(f"{name}{suffix}", half // 20, suffix) for name in ("one", "two", "more")]
        assert [is_small(packed[:count]) for count in (1, 2, 3)] == [True, True, False]
    for number in range(1_000):
        (tmp_path / "more" / f"{number}.log").touch()
    assert not is_small([more])
    (tmp_path / "more" / "0.log").unlink()
    assert is_small([more])


def test_a_file_that_is_removed_meanwhile_counts_nothing(tmp_path: Path) -> None:
    """``follow`` merges the files of a folder that is opened. A link to nothing is such a file."""
    (tmp_path / "gone.parquet").symlink_to(tmp_path / "nowhere")
    assert is_small([str(tmp_path)])


@pytest.mark.usefixtures("no_cluster")
@pytest.mark.parametrize(
    ("more", "has_small_input"),
    [((), True), (("--audit", "table:lake.audit"), False), (("--requests", "table:lake.r"), False)],
)
def test_a_build_from_a_table_is_not_small(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    more: tuple[str, ...],
    has_small_input: bool,
) -> None:
    """Nobody knows a table's size before Spark starts."""
    started: list[bool] = []

    def refuse(**options: Any) -> None:
        started.append(options["has_small_input"])
        raise InvalidRequest("no Spark here")

    monkeypatch.setattr("metalog_spark.session.open_session", refuse)
    monkeypatch.setattr("shell.arguments.pipeline._active_session", lambda: None)
    audit = tmp_path / "audit"
    audit.mkdir()
    (audit / "b1.log").write_text(LINE)
    log, out = kafka_case("basic-4.3").log_dir, tmp_path / "out"
    done = run_here(
        capsys, "pipeline", "build", "--log", log, "--audit", audit, *more, "--out", out
    )
    assert (done.stderr.splitlines()[-1], started) == ("metalog: no Spark here", [has_small_input])
