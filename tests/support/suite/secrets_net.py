"""Catches leaked secrets: a test fails if one was printed, contained in an error's message, or
written to a file.

Secrets are the passwords that tests set, the credentials in our fixtures' logs, and the salt and
keys of every ``ScramCredential`` made during a test. They are searched for as they are, in hex and
in base64:

- in captured output, and in what processes print;
- in the message of every error of ours;
- in the arguments of every process that our own code starts;
- in the files of ``tmp_path``, except those that are meant to contain credentials.

With xdist each worker checks its own tests.
"""

from __future__ import annotations

import re
import subprocess
import sys
from base64 import b64encode, urlsafe_b64encode
from collections import defaultdict
from collections.abc import Callable, Generator, Iterable, Iterator
from fnmatch import fnmatch
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from tests.support.kafka.cases import DEMO, PACKAGES, REPOSITORY, kafka_case

SHOWS_CREDENTIALS = "shows_credentials"
"""The mark of a test in which a person asked for credentials, and gets them."""

PASSWORDS = (
    "adm;in-1", "admin-secret", "app-secret", "al-secret", "b0b-secret", "eve-secret",
    "gone-secret", "stays-secret", "top-secret-1", "planted-secret",
)  # fmt: skip
BELONG = {
    "*.log": "segments hold credentials as records",
    "*.checkpoint": "and so do snapshots",
    "[0-9]*-[0-9]*.avro": "in Avro too",
    "*.deleted": "and what retention renamed",
    "*.properties": "tests write what clients and servers log in with",
    "*.txt": "tests write what --add-scram-file and --password-file read",
    "*include-credentials*": "a person asked for it",
}
_LARGEST = 8 << 20
_TOKEN = re.compile(rb"[A-Za-z0-9+/_-]{12,}")
_BEGINNING = 12
_SHORTEST_SALT = 6
_FEWEST_BYTES = 6
_OWN_CODE = tuple(f"{REPOSITORY / name}/" for name in PACKAGES)
_OTHERS = ("java", "mvn")


class SecretsNet:
    """A pytest plugin; ``secrets`` are searched for in ``seen``."""

    def __init__(self, passwords: Iterable[str] = PASSWORDS) -> None:
        self._plain = {password.encode() for password in passwords}
        self._bytes: set[bytes] = set()
        self._beginnings = {form for password in self._plain for form in _encoded(password)}
        self._always = frozenset(self._bytes), frozenset(self._beginnings)
        self.seen: dict[str, set[str | bytes]] = defaultdict(set)

    def _restart(self) -> None:
        """Forget the secrets of the test before."""
        self.seen.clear()
        self._bytes, self._beginnings = map(set, self._always)

    def pytest_sessionstart(self) -> None:
        from metalog.errors import MetalogError
        from metalog.scram import ScramCredential
        from metalog_sources.replay import replay_source
        from metalog_sources.source import open_source

        _before(ScramCredential, "__new__", self._credential_made)
        for log in (DEMO / "log-dir", kafka_case("basic-4.3").log_dir):
            replay_source(open_source(str(log), environ={}))
        self._always = frozenset(self._bytes), frozenset(self._beginnings)
        _before(MetalogError, "__init__", self._error_made)
        _before(subprocess.Popen, "__init__", self._process_started)
        _after(subprocess.Popen, "communicate", self._check_process)
        _after(pytest.CaptureFixture, "readouterr", self._test_read)

    def _credential_made(self, cls: type, *fields: Any, **named: Any) -> None:
        for secret in (*fields, *named.values()):
            if isinstance(secret, bytes) and secret not in self._bytes:
                self.look_for(secret)

    def look_for(self, secret: bytes) -> None:
        """Search for a secret, unless its bytes are too common to be distinguished from others."""
        if len(secret) >= _SHORTEST_SALT and len(set(secret)) >= _FEWEST_BYTES:
            self._bytes.add(secret)
            self._beginnings |= _encoded(secret)

    def _error_made(self, error: BaseException, *arguments: object, **named: object) -> None:
        self.saw("an error", " ".join(map(str, arguments)))

    def _process_started(self, process: Any, arguments: Any, *rest: Any, **named: Any) -> None:
        if _caller_of_subprocess().startswith(_OWN_CODE):
            words = [arguments] if isinstance(arguments, str) else map(str, arguments)
            self.saw("the arguments of a process", " ".join(words))

    def _check_process(self, printed: Any, process: Any) -> None:
        words = process.args if isinstance(process.args, (list, tuple)) else [process.args]
        if not str(words[0]).endswith(_OTHERS):
            for text in printed:
                self.saw("what a process printed", text)

    def _test_read(self, printed: Any, fixture: object) -> None:
        for text in printed:
            self.saw("what was printed", text)

    def saw(self, where: str, text: str | bytes | None) -> None:
        if text:
            self.seen[where].add(text)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        report = yield
        for name, text in report.sections:
            self.saw(name, text)
        if report.when != "teardown":
            return report
        leaks = list(self.leaks())
        folder = getattr(item, "funcargs", {}).get("tmp_path")
        if folder is not None:
            leaks += self.leaks_in(folder)
        self._restart()
        if leaks and item.get_closest_marker(SHOWS_CREDENTIALS) is None:
            report.outcome = "failed"
            report.longrepr = "a secret got out: " + "; ".join(dict.fromkeys(leaks))
        return report

    def leaks(self) -> Iterator[str]:
        """The places in which a secret was seen; threads of an ended test may still write."""
        for where, said in tuple(self.seen.items()):
            texts = (
                each.encode("utf-8", "replace") if isinstance(each, str) else each
                for each in tuple(said)
            )
            if self.is_in(b"\n".join(texts)):
                yield where

    def leaks_in(self, folder: Path) -> Iterator[str]:
        for path in sorted(folder.rglob("*")):
            belongs = any(fnmatch(path.name, pattern) for pattern in BELONG)
            if belongs or path.is_symlink() or not path.is_file():
                continue
            if path.stat().st_size <= _LARGEST:
                data = path.read_bytes()
                if self.is_in(data) or any(secret in data for secret in self._bytes):
                    yield f"the file {path.relative_to(folder)}"

    def is_in(self, data: bytes) -> bool:
        if any(password in data for password in self._plain):
            return True
        if b"\\x" in data and self._is_escaped_in(data):
            return True
        return any(
            token[:_BEGINNING] in self._beginnings or token[:_BEGINNING].lower() in self._beginnings
            for token in _TOKEN.findall(data)
        )

    def _is_escaped_in(self, data: bytes) -> bool:
        """Whether the data has the secret as ``repr`` shows bytes."""
        lines = b"\n".join(line for line in data.split(b"\n") if b"\\x" in line)
        return any(repr(each)[2:-1].encode() in lines for each in self._bytes)


def _caller_of_subprocess() -> str:
    """The file whose code starts a process, by ``Popen`` or by ``run``."""
    frame: FrameType | None = sys._getframe(3)
    while frame is not None and frame.f_code.co_filename == subprocess.__file__:
        frame = frame.f_back
    return "" if frame is None else frame.f_code.co_filename


def _encoded(secret: bytes) -> set[bytes]:
    """The beginnings of its hex and its base64."""
    forms = (secret.hex().encode(), b64encode(secret), urlsafe_b64encode(secret))
    return {form[:_BEGINNING] for form in forms if len(form.rstrip(b"=")) >= _BEGINNING}


def _before(owner: Any, name: str, told: Callable[..., None]) -> None:
    original = getattr(owner, name)

    def replaced(*arguments: Any, **named: Any) -> Any:
        told(*arguments, **named)
        return original(*arguments, **named)

    setattr(owner, name, replaced)


def _after(owner: Any, name: str, told: Callable[[Any, Any], None]) -> None:
    original = getattr(owner, name)

    def replaced(self: Any, *arguments: Any, **named: Any) -> Any:
        result = original(self, *arguments, **named)
        told(result, self)
        return result

    setattr(owner, name, replaced)
