"""The guide's tables of a node's keys and metrics are the code's, and its first node works."""

from __future__ import annotations

import re
import ssl
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from authorizer.config import from_properties
from authorizer.loading import load_authorizer
from authorizer.standard import StandardAuthorizer
from metalog.wire.client.security import client_settings
from metalog_node.auth.principals import principal_of
from metalog_node.config.node_config import read_config
from metalog_node.net.tls import ServerTls
from tests.support.kafka.cases import REPOSITORY
from tests.support.kafka.tools import free_ports
from tests.support.node.certificates import certified
from tests.support.node.served import served
from tests.support.pages.node_tables import key_table, metric_table

PAGE = (REPOSITORY / "docs" / "guide" / "operating.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```properties\n(.*?)^```", PAGE, re.M | re.S)
HOW = "python -m tests.support.pages.node_tables prints it"


def test_each_key_is_on_the_page() -> None:
    assert key_table() in PAGE, HOW


def test_each_metric_is_on_the_page() -> None:
    assert metric_table() in PAGE, HOW


@pytest.mark.once
def test_the_first_node_is_as_the_page_has_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All commands but the last, which is the node itself, with other ports."""
    monkeypatch.chdir(tmp_path)
    [commands] = re.findall(r"^```sh\n(.*?)^```", PAGE, re.M | re.S)
    node, client = BLOCKS[:2]
    [user] = re.findall(r"`(SCRAM-SHA-512=\[.*?\])`", PAGE)
    for written, port in zip((":9094", ":9093"), free_ports(2), strict=True):
        node = node.replace(written, f":{port}")
    Path("server.properties").write_text(node)
    Path("client.properties").write_text(client.replace("…", "admins-own"))
    Path("users.txt").write_text(user.replace("…", "admins-own") + "\n")
    prepared, serve = commands.rstrip().rsplit("\n", 1)
    typed(prepared)
    assert serve == "metalog serve --config server.properties"
    with served("--config", "server.properties", listeners=2) as addresses:
        target = f"cluster://localhost:{addresses['SASL_SSL'].rpartition(':')[2]}"
        listed = typed(f"metalog users {target} --command-config client.properties")
    assert listed == "admin  SCRAM-SHA-512  4096 iterations\n"


def test_a_node_of_several_is_as_the_page_has_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All its keys are used, and its own certificate makes it a super user of the others."""
    monkeypatch.chdir(tmp_path)
    made = certified(tmp_path, "/CN=node-1")
    made.identity.rename("node-1.pem")
    made.authority.rename("ca.pem")
    [text] = [each for each in BLOCKS if "metadata.log.dir=topic://" in each]
    Path("server.properties").write_text(text)
    config = read_config(Path("server.properties"))
    assert config.notes == ()
    [listener] = [each for each in config.listeners if each.is_for_controllers]
    client = client_settings(config.controller_client).security.tls
    assert client is not None
    shown = shown_by(client, ServerTls(listener.name, config.tls[listener.name]).context)
    mapped = str(principal_of(shown, config.mapping_rules[listener.name]))
    assert mapped in from_properties(config.properties)[0].super_users
    names = {each.name for each in config.listeners}
    assert isinstance(load_authorizer(config.properties, names), StandardAuthorizer)


def shown_by(client: ssl.SSLContext, server: ssl.SSLContext) -> bytes:
    """The certificate with which a client logs in to a server."""
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    ends = (
        client.wrap_bio(to_client, to_server, server_hostname="127.0.0.1"),
        server.wrap_bio(to_server, to_client, server_side=True),
    )
    for end in ends * 2:
        with suppress(ssl.SSLWantReadError):
            end.do_handshake()
    shown = ends[1].getpeercert(binary_form=True)
    assert shown is not None
    return shown


def typed(commands: str) -> str:
    """Their output, in the test's folder."""
    run = commands.replace("metalog ", f"{sys.executable} -m shell.main ")
    return subprocess.run(["sh", "-ec", run], check=True, stdout=subprocess.PIPE, text=True).stdout
