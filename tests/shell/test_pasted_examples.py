"""The examples of verbs that change something, run on, or prompt: pasted into a real bash. Only
addresses and paths are replaced: by a node that an example of serve started, and by paths in a
scratch folder. Examples of the pipeline run with Spark (as_printed), the ZooKeeper one in
tests/compat/test_zookeeper.py, reading ones in test_examples.py."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.support.command.help_examples import examples
from tests.support.command.terminal import at_a_terminal
from tests.support.disk.log_of_an_hour import an_hour
from tests.support.kafka.cases import DEMO, kafka_case

pytestmark = pytest.mark.once

LOG = str(DEMO / "log-dir")
METALOG = f"{shlex.quote(sys.executable)} -m shell.main"
OPEN = re.compile(r"Listener \S+ \(\S+\) is open on (\S+)\.")
NODE = """\
node.id=1
process.roles=broker,controller
metadata.log.dir=node
listeners=PLAINTEXT://127.0.0.1:0
authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer
super.users=User:ANONYMOUS
"""
ANSWERS = {
    "New password for alice: ": "alice-secret-1\n",
    "Once more: ": "alice-secret-1\n",
    "[y/N] ": "y\n",
    "(y/n)\r\n": "y\n",
}


def pasted(command: str, folder: Path, places: Mapping[str, str]) -> tuple[str, int]:
    """The output of a bash at a terminal, in ``folder``, and its exit code."""
    for place, here in places.items():
        command = re.sub(rf"(?<!\S){re.escape(place)}(?!\S)", here, command)
    script = (
        f'metalog() {{ {METALOG} "$@"; }}; pass() {{ echo alice-secret-2; }}\n'
        f"cd {folder}; set -o pipefail; {command}\n"
    )
    return at_a_terminal(["bash", "-c", script], answers=ANSWERS, environment={"NO_COLOR": "1"})


def test_what_changes_a_log_or_cluster(tmp_path: Path) -> None:
    (tmp_path / "users.txt").write_text("SCRAM-SHA-256=[name=alice,password=alice-secret]\n")
    (tmp_path / "server.properties").write_text(NODE)
    (tmp_path / "admin.properties").write_text("client.id=admin\n")
    (tmp_path / "acls").mkdir()
    (tmp_path / "acls" / "a.yaml").write_text(
        "acls:\n- {principal: User:app, operation: Read, resourceType: Topic, resourceName: git}\n"
    )
    [(_, formats)] = examples("format")
    printed, code = pasted(formats, tmp_path, {"/var/lib/node": "node"})
    assert code == 0, printed
    shutil.copytree(tmp_path / "node", tmp_path / "DIR")
    [_, (_, serves)] = examples("serve")
    serve = f"cd {tmp_path} && exec {serves.replace('metalog', METALOG, 1)}"
    with subprocess.Popen(["bash", "-c", serve], stdout=subprocess.PIPE, text=True) as node:
        assert node.stdout is not None
        found = OPEN.match(node.stdout.readline())
        try:
            assert found is not None
            address = f"cluster://{found[1]}"
            (tmp_path / "metalog.toml").write_text(f'[sources.prod]\nurl = "{address}"\n')
            places = {"cluster://broker:9092": address}
            for _, command in examples("plan"):
                if "--save" in command:
                    assert pasted(command, tmp_path, places)[1] == 0
            for verb, command in examples("apply", "passwd", "kafka-acls"):
                if "zookeeper://" in command:
                    continue
                printed, code = pasted(command, tmp_path, places)
                assert code == 0, (verb, command, printed)
        finally:
            node.terminate()
            node.communicate()
    assert node.returncode == 0


@pytest.mark.parametrize("log", ["demo", "an hour"])
def test_what_keeps_or_shows_a_log(log: str, tmp_path: Path) -> None:
    source = LOG if log == "demo" else str(an_hour(tmp_path / "log"))
    voters = [str(kafka_case(f"quorum-4.3/node-{node}").log_dir) for node in (11, 13)]
    places = {"/var/kafka/metadata": source, "node-1+node-2+node-3": "+".join(voters)}
    for verb, command in examples("archive", "shell"):
        kept = "of-voters" if "+" in command else "prod"
        typed = "" if verb == "archive" or "--" in command else "printf 'ls /\\n' | "
        printed, code = pasted(typed + command, tmp_path, places | {"/archive/prod": kept})
        assert code == 0, (command, printed)


def test_a_node_to_try(tmp_path: Path) -> None:
    """As printed, except for its port, which may be taken here."""
    [(_, command), _] = examples("serve")
    serve = f"cd {tmp_path} && exec {command.replace('metalog', METALOG, 1)} --port 0"
    with subprocess.Popen(["bash", "-c", serve], stdout=subprocess.PIPE, text=True) as node:
        assert node.stdout is not None
        said = node.stdout.readline() + node.stdout.readline()
        node.terminate()
        node.communicate()
    assert OPEN.search(said), said
    assert (node.returncode, (tmp_path / "metalog-data").is_dir()) == (0, True)
