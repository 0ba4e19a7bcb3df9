"""``zookeeper://`` without an answer: the url, missing parts, unreachable servers.
``tests/compat/test_zookeeper.py`` has a real ZooKeeper."""

from __future__ import annotations

import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from metalog.errors import InvalidSource
from metalog_sources.live import zookeeper_session
from metalog_sources.live.zookeeper import ZookeeperStore
from metalog_sources.source import open_source
from shell.main import main
from tests.support.kafka.cases import REPOSITORY


@pytest.mark.parametrize(
    "url", ["zookeeper://a:1", "zookeeper://a:1,b:2/kafka/prod", "zookeeper://[::1]:2181/"]
)
def test_opening_connects_to_nothing(url: str) -> None:
    source = open_source(url, environ={})
    assert isinstance(source.store, ZookeeperStore)
    assert (source.kind, source.describe) == ("zookeeper", url)


@pytest.mark.parametrize("rest", ["", "a", "a:", ":1", "a:1,", "a:1//x", "a:x", "/kafka", "a:1,b"])
def test_a_url_without_host_and_port(rest: str) -> None:
    with pytest.raises(InvalidSource, match=r"give zookeeper://HOST:PORT\[,HOST:PORT\]\[/CHROOT\]"):
        open_source(f"zookeeper://{rest}", environ={})


def test_nobody_there_is_one_line_at_once(capsys: pytest.CaptureFixture[str]) -> None:
    for host in ("127.0.0.1", "[::1]"):
        assert main(["acls", f"zookeeper://{host}:1"]) == 2
        said = f"metalog: zookeeper://{host}:1: {host}:1: "
        assert capsys.readouterr().err.startswith(said)
        assert main(["acls", f"zookeeper://{host}:1,127.0.0.1:2"]) == 2
        assert "none of 2 addresses can be used" in capsys.readouterr().err


def test_a_silent_port_is_one_line_within_the_stated_time(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """kazoo alone waits for 15 s; anything above 0.5 s here is the machine's."""
    assert zookeeper_session.CONNECT_S <= 5
    monkeypatch.setattr(zookeeper_session, "CONNECT_S", 0.5)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"zookeeper://127.0.0.1:{silent.getsockname()[1]}"
        before = time.monotonic()
        assert main(["acls", url]) == 2
        assert time.monotonic() - before < 15
    said = (
        f"metalog: {url}: connected, but no answer within 0.5 s; is this "
        "ZooKeeper's port without TLS?\n"
    )
    assert tuple(capsys.readouterr()) == ("", said)


def test_a_verb_that_needs_offsets_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["dump", "zookeeper://127.0.0.1:1"]) == 2
    assert "without offsets and history; give a metadata.log.dir" in capsys.readouterr().err


def test_without_kazoo_it_says_what_to_install(tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text("import sys\nsys.modules['kazoo'] = None\n")
    done = subprocess.run(
        [sys.executable, "-m", "shell.main", "acls", "zookeeper://127.0.0.1:1"],
        capture_output=True,
        text=True,
        cwd=REPOSITORY,
        env={"PYTHONPATH": str(tmp_path)},
        check=False,
    )
    assert done.returncode == 2
    assert done.stderr == (
        "metalog: zookeeper://127.0.0.1:1: needs kazoo, which is not installed; "
        "pip install 'kraft-metalog[zookeeper]'\n"
    )


def test_a_node_shows_nothing_that_it_holds() -> None:
    node = zookeeper_session.Znode(b"salt=secret", 3)
    assert repr(node) == "Znode(data=[11 bytes], version=3)"
