"""The check around every test finds leaked secrets in every notation."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import re
from base64 import b64encode, urlsafe_b64encode
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from metalog.scram import ScramMechanism
from tests.support.command.runs import run_python
from tests.support.kafka.cases import PACKAGES, REPOSITORY
from tests.support.suite.secrets_net import PASSWORDS, SecretsNet

PASSWORD = "caught-in-a-net"
KEY = bytes(range(0xE0, 0x100))
SECRET_FIELDS = {"password", "salt", "salted_password", "stored_key", "server_key", "hmac"}
PLANTED = """
import logging, subprocess, sys
import pytest
from metalog.errors import InvalidRequest
from metalog.scram import ScramCredential

PASSWORD, KEY = "caught-in-a-net", bytes(range(0xE0, 0x100))

def test_printed():
    print(f"the password is {PASSWORD}.")

def test_read(capsys):
    print(PASSWORD)
    assert capsys.readouterr().out

def test_printed_by_a_process():
    subprocess.run([sys.executable, "-c", f"print({PASSWORD!r})"], capture_output=True)

def test_in_an_error():
    with pytest.raises(InvalidRequest):
        raise InvalidRequest(f"{PASSWORD} is too short")

def test_logged():
    ScramCredential(b"", KEY, b"", 4096)
    logging.getLogger("x").warning("stored key %s", KEY.hex())

def test_written(tmp_path):
    ScramCredential(b"", KEY, b"", 4096)
    (tmp_path / "out.bin").write_bytes(b"before" + KEY + b"after")

def test_in_the_words_of_a_process():
    own = compile("subprocess.run(['true', PASSWORD])", "OWN_CODE", "exec")
    exec(own, globals())

def test_nothing(tmp_path):
    ScramCredential(b"", KEY, b"", 4096)
    print(ScramCredential(b"", KEY, b"", 4096))
    (tmp_path / "0.log").write_bytes(KEY)
"""
CONFTEST = """
from tests.support.suite.secrets_net import SecretsNet

def pytest_configure(config):
    config.pluginmanager.register(SecretsNet(["caught-in-a-net"]))
"""


def test_planted_leaks_fail_their_tests(tmp_path: Path) -> None:
    own_code = str(REPOSITORY / "shell" / "planted.py")
    (tmp_path / "test_planted.py").write_text(PLANTED.replace("OWN_CODE", own_code))
    (tmp_path / "conftest.py").write_text(CONFTEST)
    done = run_python(
        "-m", "pytest", "-p", "no:cacheprovider", "-p", "no:randomly", "-p", "no:xdist",
        "--rootdir", tmp_path, "-c", "/dev/null", "-rAE", "--tb=line", tmp_path,
        environment={"PYTHONPATH": str(REPOSITORY)},
    )  # fmt: skip
    caught = set(re.findall(r"^ERROR \S*::(\w+)", done.stdout, re.M))
    planted = set(re.findall(r"def (test_\w+)", PLANTED))
    assert caught == planted - {"test_nothing"}, done.stdout


@pytest.mark.parametrize(
    "said",
    [
        f"password={PASSWORD}",
        PASSWORD.encode().hex(),
        b64encode(PASSWORD.encode()).decode(),
        KEY.hex(),
        f"key:{KEY.hex().upper()};",
        f'"storedKey":"{b64encode(KEY).decode()}"',
        f"serverkey={urlsafe_b64encode(KEY).decode()}",
        f"StoredKey({KEY!r})",
    ],
    ids=range(8),
)
def test_a_secret_is_known_in_every_form(said: str) -> None:
    net = SecretsNet([PASSWORD])
    net.look_for(KEY)
    net.saw("here", f"before {said} after")
    assert list(net.leaks()) == ["here"]


def test_what_is_no_secret_is_let_through() -> None:
    net = SecretsNet([PASSWORD])
    for plain in (b"", b"salt", bytes(32)):
        net.look_for(plain)
    net.saw("here", f"caught in a net; {bytes(32).hex()} salt {b64encode(bytes(32)).decode()}")
    assert list(net.leaks()) == []


def record_classes() -> Iterator[type[Any]]:
    """Our NamedTuples, except those that are only a base class."""
    for package in PACKAGES:
        root = importlib.import_module(package)
        for found in pkgutil.walk_packages(root.__path__, f"{package}."):
            for _, each in inspect.getmembers(importlib.import_module(found.name), inspect.isclass):
                is_own = each.__module__ == found.name and hasattr(each, "_fields")
                if is_own and not each.__subclasses__():
                    yield each


def test_no_repr_shows_a_secret() -> None:
    checked = set()
    for each in record_classes():
        if not SECRET_FIELDS.isdisjoint(each._fields):
            other = ScramMechanism.SCRAM_SHA_256
            values = [KEY if name in SECRET_FIELDS else other for name in each._fields]
            assert repr(KEY)[2:-1] not in repr(each._make(values)), each
            assert KEY.hex() not in repr(each._make(values)), each
            checked.add(each.__name__)
    assert {"ScramCredential", "ScramLine", "UserScramCredentialRecord"} <= checked


def test_passwords_that_tests_set_are_in_the_net() -> None:
    """Every value in a credential's line; shorter ones could be any word."""
    lines = re.compile(r"\[name=[^,\]]*,password=([^,\]{}\x22\\]{9,})[,\]]")
    found = {
        password
        for path in (REPOSITORY / "tests").rglob("*.py")
        for password in lines.findall(path.read_text(encoding="utf-8"))
    }
    assert found - {"alice-secret"} <= {*PASSWORDS}
