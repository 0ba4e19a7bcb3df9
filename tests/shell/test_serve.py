"""``metalog serve`` without a configuration: a node for trying things out."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from metalog_node.config.listeners import NO_ROLES
from tests.support.command.runs import Run, run_metalog
from tests.support.node.served import served

ADD = ("--add", "--allow-principal", "User:app", "--operation", "READ", "--topic", "orders")


@pytest.mark.once
def test_what_is_created_on_it_is_there_when_it_is_started_again(tmp_path: Path, run: Run) -> None:
    folder = tmp_path / "data"
    arguments = ("--dir", str(folder), "--port", "0")
    with served(*arguments) as addresses:
        target = f"cluster://{addresses['PLAINTEXT']}"
        assert run("kafka-acls", target, *ADD).returncode == 0
    with served(*arguments) as addresses:
        listed = run("acls", f"cluster://{addresses['PLAINTEXT']}")
    assert listed.stdout == "TOPIC  orders  LITERAL  ALLOW  READ  User:app  *\n"
    assert run("acls", folder, "--principal", "User:app").stdout.startswith("TOPIC  orders")


@pytest.mark.once
def test_it_listens_on_this_machine_alone(tmp_path: Path) -> None:
    with served("--dir", str(tmp_path / "data"), "--port", "0") as addresses:
        assert addresses["PLAINTEXT"].startswith("127.0.0.1:")


@pytest.mark.once
def test_a_port_that_is_taken_is_one_clear_line(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = run_metalog("serve", "--dir", tmp_path / "data", "--port", str(port))
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1] == (
        f"metalog: listener PLAINTEXT: 127.0.0.1:{port} cannot be opened: Address already in use"
    )


@pytest.mark.once
def test_a_configuration_that_cannot_be_used_names_the_key(tmp_path: Path) -> None:
    file = tmp_path / "server.properties"
    file.write_text("node.id=1\nlisteners=PLAINTEXT://:0\n")
    done = run_metalog("serve", "--config", file)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"metalog: {file}: process.roles: {NO_ROLES}\n"
