"""``metalog export``: its output reads back completely, with the same bytes, and has no secret."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
import yaml

from metalog import DirectoryLog
from metalog.acl import Acl
from metalog.disk.files import LOCAL_FILES
from metalog.log.folder.single_file import read_checkpoint
from metalog.records.batch import batch_bytes
from metalog.records.messages import KRaftVersionRecord, SnapshotHeaderRecord, VotersRecord
from metalog.scram import ScramMechanism
from metalog_sources.replay import Replayed, replay_source
from metalog_sources.source import open_source
from shell.main import main
from tests.support.disk.tiny_log import ace, batch
from tests.support.kafka.cases import DEMO, OWN_KAFKA, kafka_case

LOG = DEMO / "log-dir"
BASIC = kafka_case("basic-4.3").log_dir
SUFFIXES = {"yaml": ".yaml", "json": ".json", "csv": ".csv", "avro": ".avro", "commands": ".sh"}


def replayed(source: Path) -> Replayed:
    return replay_source(open_source(str(source), environ={}), tolerant=True)


def acls(source: Path) -> set[Acl]:
    return set(replayed(source).image.acls.by_id.values())


def secrets(source: Path) -> list[bytes]:
    """The salts and keys of the source, raw, in base64 and in hex."""
    from base64 import b64encode

    return [
        spelt
        for users in replayed(source).image.scram.mechanisms.values()
        for credential in users.values()
        for raw in credential[:3]
        for spelt in (raw, b64encode(raw), raw.hex().encode())
    ]


@pytest.mark.parametrize("source", [LOG, BASIC], ids=["demo", "basic"])
@pytest.mark.parametrize("format", SUFFIXES)
def test_what_is_written_is_read_back_and_stays(
    source: Path, format: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target = tmp_path / f"a{SUFFIXES[format]}"
    again = tmp_path / f"again{SUFFIXES[format]}"
    export = ["export", str(source), "-o", format, "--to", str(target)]
    assert main(export) == 0
    warned = capsys.readouterr().err.count("warning: left out")
    first = target.read_bytes()
    assert main(export) == 0
    assert target.read_bytes() == first
    assert main(["export", str(target), "-o", format, "--to", str(again)]) == 0
    assert again.read_bytes() == first
    assert len(acls(source) - acls(target)) == warned
    assert acls(target) <= acls(source)
    assert not any(secret in first for secret in secrets(source))


ODD = ["-1+1", "a\x1b[2J", "'=x", 'b\n# missing: no\n"c', "d\r# e", "plain"]


@pytest.mark.parametrize("format", ["yaml", "json", "csv", "avro", "commands"])
def test_odd_names_are_read_back(
    format: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A line break before the marker of missing entries made a CSV file unreadable."""
    rule = {"principal": "User:a", "operation": "Read", "resourceType": "Group"}
    source, target = tmp_path / "a.jsonl", tmp_path / f"b{SUFFIXES[format]}"
    source.write_text("".join(json.dumps(rule | {"resourceName": name}) + "\n" for name in ODD))
    assert main(["export", str(source), "-o", format, "--to", str(target)]) == 0
    assert acls(target) == acls(source)
    assert main(["can", str(target), "User:a", "Read", "group:plain", "--super-users", ""]) == 0
    printed = capsys.readouterr().err
    assert ("kafka-security-manager reads the escaped name" in printed) is (format == "csv")
    if format == "csv":
        assert "a spreadsheet or a terminal would interpret a name in 5 ACLs" in printed


def test_to_standard_output(capfdbinary: pytest.CaptureFixture[bytes], tmp_path: Path) -> None:
    assert main(["export", str(LOG)]) == 0
    printed = capfdbinary.readouterr().out
    assert main(["export", str(LOG), "--to", str(tmp_path / "a.yaml")]) == 0
    assert (tmp_path / "a.yaml").read_bytes() == printed
    assert printed.startswith(b"acls:\n")


@pytest.mark.shows_credentials
def test_users_are_named_and_their_credentials_only_when_asked_for(tmp_path: Path) -> None:
    target = tmp_path / "a.yaml"
    assert main(["export", str(BASIC), "--to", str(target)]) == 0
    wanted = replayed(BASIC).image.scram.mechanisms
    named = replayed(target).image.scram.mechanisms
    for mechanism in ScramMechanism:
        assert {user: each.iterations for user, each in named[mechanism].items()} == {
            user: each.iterations for user, each in wanted[mechanism].items()
        }
    assert target.stat().st_mode & 0o044
    assert main(["export", str(BASIC), "--to", str(target), "--include-credentials"]) == 0
    assert replayed(target).image.scram.mechanisms == wanted
    assert not target.stat().st_mode & 0o077


def test_a_file_for_each_principal(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "User").mkdir()
    (tmp_path / "User" / "gone.yaml").write_text("acls: []\n")
    export = ["export", str(BASIC), "--split", "principal", "--to", str(tmp_path)]
    assert main(export) == 0
    assert capsys.readouterr().err == (
        f"warning: {tmp_path / 'User' / 'gone.yaml'}: not written by this export, because"
        " the source has nothing for this file\n"
    )
    first = {path: path.read_bytes() for path in tmp_path.rglob("*.yaml")}
    assert main(export) == 0
    assert {path: path.read_bytes() for path in tmp_path.rglob("*.yaml")} == first
    assert acls(tmp_path) == acls(BASIC)
    for path in first:
        assert len({acl.principal for acl in acls(path)}) <= 1


def test_a_name_cannot_leave_the_folder(tmp_path: Path) -> None:
    names = ["User:../../x", "User:.", "User:", "User:a/b", "..:a", "User:a%2Fb", "User:*"]
    names += [f"User:{'é' * 90}{end}" for end in "abc"] + [f"{'.' * 300}:a"]
    lines = [
        {"resourceType": "TOPIC", "resourceName": "t", "principal": name, "operation": "READ"}
        for name in names
    ]
    source = tmp_path / "a.json"
    source.write_text("".join(json.dumps(line) + "\n" for line in lines))
    folder = tmp_path / "deep" / "er"
    assert main(["export", str(source), "--split", "principal", "--to", str(folder)]) == 0
    written = {path for path in tmp_path.rglob("*.yaml") if path.is_relative_to(folder)}
    assert written == set(tmp_path.rglob("*.yaml"))
    assert len(written) == len(names)
    assert acls(folder) == acls(source)


def test_a_checkpoint(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    export = ["export", str(BASIC), "-o", "checkpoint", "--to", str(tmp_path)]
    assert main(export) == 0
    assert "left out without --include-credentials: " in capsys.readouterr().err
    [path] = tmp_path.glob("*.checkpoint")
    first = path.read_bytes()
    assert not any(secret in first for secret in secrets(BASIC))
    assert main(export) == 0
    assert path.read_bytes() == first
    kept = replayed(path).image
    wanted = replayed(BASIC).image
    assert (kept.acls, kept.topics) == (wanted.acls, wanted.topics)
    assert main([*export, "--include-credentials"]) == 0
    assert replayed(path).image._replace(provenance=wanted.provenance) == wanted


def test_a_snapshot_has_what_kafka_would_not_create_and_says_nothing_of_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = tmp_path / "00000000000000000000.log"
    log.write_bytes(batch_bytes(batch(0, ace(1), ace(2)._replace(resource_type=4))))
    for form in ("checkpoint", "avro-snapshot"):
        folder = tmp_path / form
        assert main(["export", str(log), "-o", form, "--to", str(folder)]) == 0
        assert "warning: left out" not in capsys.readouterr().err
        [path] = folder.iterdir()
        assert acls(path) == acls(log)
        assert len(acls(path)) == 2
    assert main(["export", str(log), "-o", "yaml"]) == 0
    assert "left out, because Kafka would refuse to create it" in capsys.readouterr().err


@pytest.mark.parametrize(("at", "voters"), [("60", (1,)), ("161", (1, 2))])
def test_a_checkpoint_names_the_voters_that_there_were(
    tmp_path: Path, at: str, voters: tuple[int, ...]
) -> None:
    """In the header's batch, as in Kafka's own: the log has other voters from offset 68 on."""
    log = OWN_KAFKA / "dynamic-4.3" / "node-2-running" / "log-dir"
    assert main(["export", str(log), "--at", at, "-o", "checkpoint", "--to", str(tmp_path)]) == 0
    [path] = tmp_path.glob("*.checkpoint")
    header, version, said = next(read_checkpoint(path, LOCAL_FILES)).messages()
    assert isinstance(header, SnapshotHeaderRecord)
    assert version == KRaftVersionRecord(0, 1)
    batches = DirectoryLog(log).batches(0)
    named = [each for b in batches for each in b.messages() if isinstance(each, VotersRecord)]
    assert [said] == [each for each in named if tuple(v.voter_id for v in each.voters) == voters]


def test_a_snapshot_in_avro_is_a_source(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    export = ["export", str(BASIC), "-o", "avro-snapshot", "--include-credentials"]
    assert main(export) == 2
    assert "a snapshot is written to a folder; give --to FOLDER" in capsys.readouterr().err
    assert main([*export, "--to", str(tmp_path)]) == 0
    [path] = tmp_path.glob("*.avro")
    assert replayed(path).image == replayed(BASIC).image
    path.write_bytes(path.read_bytes()[:-40])
    assert main(["acls", str(path)]) == 2
    said = capsys.readouterr().err
    assert f"{path}, byte " in said
    assert "not a whole snapshot in Avro" in said


def test_a_checkpoint_of_a_store(tmp_path: Path) -> None:
    assert main(["export", str(LOG), "--to", str(tmp_path / "a.yaml")]) == 0
    export = ["export", str(tmp_path / "a.yaml"), "-o", "checkpoint", "--to", str(tmp_path)]
    assert main(export) == 0
    [path] = tmp_path.glob("*.checkpoint")
    assert acls(path) == acls(LOG)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["-o", "checkpoint"], "a checkpoint is written to a folder; give --to FOLDER"),
        (["--split", "principal"], "--split principal is written to a folder"),
        (["-o", "avro", "--split", "principal", "--to", "x"], "-o avro is one file"),
        (["--split", "principal", "--to", __file__], "a file; --split principal needs a folder"),
        (["-o", "checkpoint", "--to", __file__], "is a file; a checkpoint needs a folder"),
        (["-o", "csv", "--to", str(Path(__file__).parent)], "is a folder; -o csv needs a file"),
    ],
)
def test_what_is_refused(
    arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["export", str(LOG), *arguments]) == 2
    assert said in capsys.readouterr().err


def test_strimzi_says_once_what_it_cannot_hold(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, more in (("users.yaml", []), ("users", ["--split", "principal"])):
        target = tmp_path / name
        assert main(["export", str(LOG), "-o", "strimzi", "--to", str(target), *more]) == 0
        said = capsys.readouterr().err
        number = len(acls(LOG)) - len(acls(target))
        left_out, *notes = said.splitlines()
        passwords, label = sorted(notes)
        assert left_out.startswith(f"warning: left out: {number} ACL")
        assert passwords.startswith("note: the operator makes new passwords")
        assert label.startswith("note: without --cluster NAME the resources have no label")
        assert acls(target) <= acls(LOG)


USERS = """\
acls:
  - {principal: User:both, operation: Read, resourceType: Topic, resourceName: t}
  - {principal: User:nobody, operation: Read, resourceType: Topic, resourceName: t}
  - {principal: User:old, operation: Read, resourceType: Topic, resourceName: t}
users:
  - {user: both, mechanism: SCRAM_SHA_256, iterations: 4096}
  - {user: both, mechanism: SCRAM_SHA_512, iterations: 4096}
  - {user: idle, mechanism: SCRAM_SHA_512, iterations: 4096}
  - {user: old, mechanism: SCRAM_SHA_256, iterations: 4096}
  - {user: Upper_Case, mechanism: SCRAM_SHA_512, iterations: 4096}
"""


@pytest.mark.parametrize("version", ["v1", "v1beta2"])
def test_strimzi_keeps_the_credentials_of_users(
    tmp_path: Path, version: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its operator deletes the credentials of a user whose resource has no authentication, or that
    has no resource."""
    source, target = tmp_path / "source.yaml", tmp_path / "users.yaml"
    source.write_text(USERS)
    asked = ["--cluster", "prod", "--to", str(target)]
    asked += [] if version == "v1" else ["--api-version", version]
    assert main(["export", str(source), "-o", "strimzi", *asked]) == 0
    assert capsys.readouterr().err == (
        "warning: left out: 1 SCRAM user (Upper_Case): a Kubernetes resource cannot have this "
        "name; 1 SCRAM user (old): Strimzi's only SCRAM mechanism is SCRAM-SHA-512\n"
        "note: the operator makes new passwords, unless spec.authentication.password names a "
        "Secret\n"
    )
    resources = {each["metadata"]["name"]: each for each in yaml.safe_load_all(target.read_text())}
    assert {name: each["spec"].get("authentication") for name, each in resources.items()} == {
        "both": {"type": "scram-sha-512"},
        "idle": {"type": "scram-sha-512"},
        "nobody": None,
        "old": None,
    }
    assert "authorization" not in resources["idle"]["spec"]
    for each in resources.values():
        assert each["apiVersion"] == f"kafka.strimzi.io/{version}"
        assert each["metadata"]["labels"] == {"strimzi.io/cluster": "prod"}
    assert acls(target) == acls(source)


def test_what_is_for_strimzi_alone(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["export", str(LOG), "--cluster", "prod"]) == 2
    assert "--cluster is for -o strimzi; leave it out" in capsys.readouterr().err
    for name in ("pr od", "Prod", "-prod", "p" * 64, "prod\n  name: other", "", "a..b", "a.-b"):
        assert main(["export", str(LOG), "-o", "strimzi", f"--cluster={name}"]) == 2
        assert "a Kafka resource cannot have this name" in capsys.readouterr().err


@pytest.mark.parametrize("how", [["-o", "checkpoint"], ["--split", "principal"]], ids=str)
def test_a_folder_that_root_makes_belongs_to_the_owner_of_the_folder_above(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: list[str]
) -> None:
    given: set[Path] = set()
    monkeypatch.setattr(os, "geteuid", lambda: 0)

    def fchown(descriptor: int, user: int, group: int) -> None:
        given.add(Path(f"/proc/self/fd/{descriptor}").readlink())

    monkeypatch.setattr(os, "fchown", fchown)
    target = tmp_path / "a" / "b"
    assert main(["export", str(BASIC), *how, "--to", str(target)]) == 0
    assert {path for path in tmp_path.rglob("*") if path.is_dir()} <= given
