"""Credentials are copied with ACLs only on request, to a folder, and are never shown."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from metalog.log.folder.directory import DirectoryLog
from metalog.ports import Appended
from metalog.records.messages import (
    BeginTransactionRecord,
    EndTransactionRecord,
    UserScramCredentialRecord,
)
from metalog.scram import ScramCredential, ScramMechanism
from metalog_sources.replay import replay_source
from metalog_sources.source import open_source
from shell.main import main
from tests.support.disk.written_log import formatted

pytestmark = pytest.mark.shows_credentials

SECRETS = ("c2FsdA==", "c3RvcmVk", "c2VydmVy")
KEYS = ", ".join(
    f"{key}: {value}"
    for key, value in zip(("salt", "storedKey", "serverKey"), SECRETS, strict=True)
)
WANTED = f"""\
acls: [{{principal: User:a, operation: Read, resourceType: Topic, resourceName: t}}]
users:
  - {{user: a, mechanism: SCRAM_SHA_256, iterations: 4096, {KEYS}}}
  - {{user: a, mechanism: SCRAM_SHA_512, iterations: 8192, {KEYS}}}
  - {{user: named, mechanism: SCRAM_SHA_256, iterations: 4096}}
"""
CREDENTIAL = ScramCredential(b"salt", b"stored", b"server", 4096)
MOVE = ("--include-credentials", "--yes", "--super-users", "User:root", "--no-allow-everyone")


@pytest.fixture
def wanted(tmp_path: Path) -> Path:
    (tmp_path / "wanted.yaml").write_text(WANTED)
    return tmp_path / "wanted.yaml"


def apply(capsys: pytest.CaptureFixture[str], *arguments: str | Path) -> tuple[int, str, str]:
    code = main(["apply", *map(str, arguments)])
    said = capsys.readouterr()
    for secret in (*SECRETS, "salt", "stored"):
        assert secret not in said.out + said.err
    return code, said.out, said.err


def credentials(folder: Path) -> dict[tuple[str, ScramMechanism], ScramCredential]:
    image = replay_source(open_source(str(folder), environ={})).image
    return {
        (user, mechanism): credential
        for mechanism, users in image.scram.mechanisms.items()
        for user, credential in users.items()
    }


def test_they_move_in_the_same_transaction(
    tmp_path: Path, wanted: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = formatted(tmp_path / "node")
    code, out, err = apply(capsys, folder, wanted, *MOVE)
    assert code == 0
    assert out == (
        "+  ALLOW User:a READ on topic t from any host\n"
        "+  SCRAM-SHA-256 credential of a, 4096 iterations\n"
        "+  SCRAM-SHA-512 credential of a, 8192 iterations\n"
        "1 to add, for User:a; 2 SCRAM credentials to set.\n"
        "Done.\n"
    )
    assert "left out: SCRAM-SHA-256 of SCRAM user named: its credential is not in" in err
    assert credentials(folder) == {
        ("a", ScramMechanism.SCRAM_SHA_256): CREDENTIAL,
        ("a", ScramMechanism.SCRAM_SHA_512): CREDENTIAL._replace(iterations=8192),
    }
    events = list(DirectoryLog(folder).read(0))
    *_, last = (event.batch.messages() for event in events if isinstance(event, Appended))
    kinds = list(map(type, last))
    assert (kinds[0], kinds[-1]) == (BeginTransactionRecord, EndTransactionRecord)
    assert kinds.count(UserScramCredentialRecord) == 2
    assert apply(capsys, folder, wanted, *MOVE)[:2] == (0, "Nothing to do.\n")


def test_another_credential_is_replaced_and_that_is_shown(
    tmp_path: Path, wanted: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = formatted(tmp_path / "node")
    apply(capsys, folder, wanted, *MOVE)
    wanted.write_text(WANTED.replace("4096", "5000").replace("c2FsdA==", "cGVwcGVy", 1))
    code, out, _ = apply(capsys, folder, wanted, *MOVE, "--json")
    assert (code, json.loads(out)) == (
        0,
        {"change": "set", "user": "a", "mechanism": "SCRAM_SHA_256", "iterations": 5000},
    )
    wanted.write_text(WANTED)
    _, out, _ = apply(capsys, folder, wanted, *MOVE)
    assert out.startswith("~  different SCRAM-SHA-256 credential of a, 4096 iterations\n1 SCRAM ")


def test_unasked_they_stay_and_that_is_said(
    tmp_path: Path, wanted: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = formatted(tmp_path / "node")
    code, _, err = apply(capsys, folder, wanted, *MOVE[1:])
    assert code == 0
    assert "2 SCRAM credentials are not copied; --include-credentials copies them too" in err
    assert credentials(folder) == {}


def test_two_for_one_user_are_refused(
    tmp_path: Path, wanted: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = tmp_path / "other.yaml"
    other.write_text(WANTED.replace("c2FsdA==", "cGVwcGVy", 1))
    folder = formatted(tmp_path / "node")
    code, _, err = apply(capsys, folder, wanted, other, *MOVE)
    assert code == 2
    assert "SCRAM user a has two credentials for SCRAM_SHA_256" in err.replace("-", "_")


def test_no_other_target_and_no_saved_plan_takes_them(
    tmp_path: Path, wanted: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = formatted(tmp_path / "node")
    plan = tmp_path / "plan.json"
    assert main(["plan", str(folder), str(wanted), *MOVE[2:], "--save", str(plan)]) == 0
    assert not any(secret in plan.read_text() for secret in SECRETS)
    code, _, err = apply(capsys, folder, plan, *MOVE)
    assert (code, "a saved plan has no credentials" in err) == (2, True)
