"""The guide for people who are locked out, followed on a copy of the demo without its super
user."""

from __future__ import annotations

import re
import shlex
import shutil
from pathlib import Path

import pytest
import yaml

from tests.support.command.runs import Run
from tests.support.kafka.cases import DEMO, REPOSITORY

PAGE = (REPOSITORY / "docs" / "guide" / "locked-out.md").read_text("utf-8")
CONFIG = "authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    shutil.copytree(DEMO / "log-dir", tmp_path / "metadata", copy_function=shutil.copyfile)
    (tmp_path / "server.properties").write_text(CONFIG)
    (tmp_path / "password.txt").write_text("admin-secret\n")
    [acl] = re.findall(r"^```yaml\n(.*?)^```", PAGE, re.M | re.S)
    (tmp_path / "admin.yaml").write_text(acl)
    assert yaml.safe_load(acl)
    return tmp_path


def test_its_commands_give_the_cluster_back(folder: Path, run: Run) -> None:
    blocks = re.findall(r"^```sh\n(.*?)^```", PAGE, re.M | re.S)
    found = []
    for command in "".join(blocks).splitlines():
        text = command.replace("/var/lib/kafka/metadata", str(folder / "metadata"))
        for name in ("server.properties", "admin.yaml", "password.txt", "before.yaml"):
            text = re.sub(rf"(?<= ){re.escape(name)}", str(folder / name), text)
        done = run(*shlex.split(text)[1:])
        assert done.returncode < 2, done.stderr
        found.append((command.split()[1], done.returncode, done.stdout))
    verbs = [verb for verb, _, _ in found]
    assert verbs == ["who-can", "users", "history", "apply", "passwd", "who-can", "export", "plan"]
    assert [code for verb, code, _ in found if verb == "who-can"] == [1, 0]
    assert "User:admin" in found[5][2]
    assert "+  ALLOW User:billing READ on topic names that begin with payments" in found[7][2]
