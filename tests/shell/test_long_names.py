"""Names longer than Kafka's limit are accepted nowhere, and a log that has one is reported."""

from __future__ import annotations

from pathlib import Path

import pytest

from metalog.records.batch import assemble_batch, batch_bytes
from shell.main import main
from tests.support.disk.long_names import MAX, raw_record
from tests.support.disk.written_log import formatted

LONG = "n" * (MAX + 1)
TOO_LONG = "has 32,768 bytes in UTF-8, and Kafka takes at most 32,767"
FILES = {
    "a.yaml": f"acls:\n- principal: User:a\n  operation: READ\n  resourceType: TOPIC\n"
    f"  resourceName: {LONG}\n",
    "a.jsonl": '\n{"resourceType":"TOPIC","resourceName":"t","patternType":"LITERAL","principal":'
    f'"User:{LONG[5:]}","host":"*","operation":"READ","permissionType":"ALLOW"}}\n',
    "a.csv": "KafkaPrincipal,ResourceType,PatternType,ResourceName,Operation,PermissionType,Host"
    f"\nUser:a,Topic,LITERAL,t,Read,Allow,{LONG}\n",
    "a.sh": f"\nkafka-acls --add --allow-principal User:a --topic {LONG}\n",
    "u.yaml": f"users:\n- user: {LONG}\n  mechanism: SCRAM_SHA_256\n  iterations: 4096\n",
}


@pytest.mark.parametrize("name", FILES)
def test_a_file_with_one_is_refused_with_its_line(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / name
    file.write_text(FILES[name])
    assert main(["export", str(file), "-o", "json"]) == 2
    said = capsys.readouterr().err
    assert TOO_LONG in said
    assert f"{name}, line 2" in said
    assert len(said) < 1000


@pytest.mark.parametrize(
    "options",
    [
        ("--add-acl", f"ALLOW User:a READ topic:{LONG}"),
        ("--add-scram", f"SCRAM-SHA-256=[name={LONG},password=al-secret]"),
    ],
)
def test_no_cluster_begins_with_one(
    options: tuple[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["format", str(tmp_path / "node"), *options]) == 2
    assert TOO_LONG in capsys.readouterr().err
    assert not (tmp_path / "node").exists()


def test_no_verb_writes_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = str(formatted(tmp_path / "node"))
    password = tmp_path / "password.txt"
    password.write_text("al-secret")
    for command in (
        ["kafka-acls", folder, "--add", "--allow-principal", "User:a", "--topic", LONG],
        ["passwd", folder, LONG, "--password-file", str(password)],
    ):
        assert main(command) == 2
        assert TOO_LONG in capsys.readouterr().err


def test_no_user_is_made_who_could_not_log_in_at_a_node(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Kafka would take the name; a node refuses such a login."""
    name, password, users = "n" * 1025, tmp_path / "password.txt", tmp_path / "users.jsonl"
    password.write_text("al-secret")
    users.write_text(
        f'{{"user":"{name}","mechanism":"SCRAM_SHA_256","iterations":4096,'
        '"salt":"c2FsdA==","storedKey":"c2FsdA==","serverKey":"c2FsdA=="}\n'
    )
    folder, new = str(formatted(tmp_path / "node")), str(tmp_path / "new")
    for command in (
        ["passwd", folder, name, "--password-file", str(password)],
        ["format", new, "--add-scram", f"SCRAM-SHA-256=[name={name},password=al-secret]"],
        ["format", new, "--import", str(users)],
        ["apply", folder, str(users), "--include-credentials", "--yes"],
    ):
        assert main(command) == 2
        assert "Username has 1,025 bytes in UTF-8; at most 1,024 are accepted" in (
            capsys.readouterr().err
        )


def test_a_log_that_holds_one_is_said_to(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Kafka's reader throws at it, so no verb answers from the rest."""
    log = tmp_path / "00000000000000000000.log"
    log.write_bytes(
        batch_bytes(assemble_batch(0, 1, 0, [raw_record(0, MAX), raw_record(1, MAX + 1)]))
    )
    assert main(["can", str(log), "User:a", "READ", "topic:t"]) == 2
    said = capsys.readouterr().err
    assert "offset 1" in said
    assert "a string of 32,768 bytes; Kafka takes at most 32,767" in said
