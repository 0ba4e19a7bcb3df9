"""A file that is read as a whole may be a pipe, such as a shell's ``<(…)``."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path

import pytest

from tests.support.command.runs import Run
from tests.support.disk.written_log import formatted
from tests.support.kafka.cases import DEMO

LOG = DEMO / "log-dir"
LINE = (
    "Principal = User:billing is Allowed operation = READ from host = 10.0.4.12 on resource = "
    "Topic:LITERAL:payments for request = Fetch with resourceRefCount = 1"
)
Pipe = Callable[[str], str]


@pytest.fixture
def pipe() -> Iterator[Pipe]:
    """The path of a descriptor from which a text can be read once."""
    with ExitStack() as stack:

        def opened(text: str) -> str:
            source, sink = os.pipe()
            with os.fdopen(sink, "w") as writer:
                writer.write(text)
            stack.enter_context(closing(os.fdopen(source, "rb")))
            return f"/dev/fd/{source}"

        yield opened


def test_a_source(pipe: Pipe, run: Run) -> None:
    listed = run("acls", LOG, "-o", "json", "-q").stdout
    exported = run("export", LOG, "-q").stdout
    for text in (listed, exported):
        assert run("diff", LOG, pipe(text), "--exit-code").returncode == 0
    assert run("plan", LOG, pipe(exported), "-q").stdout.startswith("Nothing to do.")


def test_a_configuration(pipe: Pipe, run: Run) -> None:
    question = ("User:root", "Read", "topic:x")
    text = "super.users=User:root\nauthorizer.class.name=x.y\n"
    assert run("can", LOG, *question, "-q").returncode == 1
    assert run("can", LOG, *question, "-q", "--config", pipe(text)).returncode == 0


def test_settings_are_the_same_for_each_connection(pipe: Pipe, run: Run) -> None:
    """A second read of the pipe would be empty, and the second client without settings."""
    settings = pipe("security.protocol=NONSENSE\n")
    for url in ("cluster://127.0.0.1:1", "quorum://127.0.0.1:1"):
        done = run("acls", url, "--command-config", settings)
        assert done.returncode == 2
        assert settings in done.stderr
        assert "security.protocol" in done.stderr


def test_expectations_and_requests(pipe: Pipe, run: Run) -> None:
    expected = "allow:\n- {principal: User:billing, operation: Read, resource: topic:payments}\n"
    assert run("test", LOG, pipe(expected)).stdout.endswith("is not met.\n")
    assert "READ on topic payments" in run("can", LOG, "--audit", pipe(LINE)).stdout


def test_a_saved_plan(pipe: Pipe, run: Run, tmp_path: Path) -> None:
    target, plan = formatted(tmp_path / "node"), tmp_path / "plan.json"
    wanted = tmp_path / "wanted.yaml"
    wanted.write_text(run("export", LOG, "-q").stdout)
    run("plan", target, wanted, "--save", plan, "--super-users", "User:a")
    done = run("apply", target, pipe(plan.read_text()), "--yes", "--super-users", "User:a")
    assert (done.returncode, done.stdout.splitlines()[-1]) == (0, "Done.")


def test_what_is_written(run: Run, tmp_path: Path) -> None:
    """As to a shell's ``>(…)``, into which nothing can be renamed."""
    target, wanted = formatted(tmp_path / "node"), tmp_path / "wanted.yaml"
    wanted.write_text(run("export", LOG, "-q").stdout)
    plan = ("plan", target, wanted, "--super-users", "User:a", "-q", "--save")
    for command in (plan, ("export", LOG, "-q", "--to")):
        file = tmp_path / "written"
        assert run(*command, file).returncode == 0
        source, sink = os.pipe()
        with closing(os.fdopen(source, "rb")) as reader:
            assert run(*command, f"/dev/fd/{sink}").returncode == 0
            os.close(sink)
            assert reader.read() == file.read_bytes() != b""


def test_an_open_file_is_written_on(run: Run, tmp_path: Path) -> None:
    """As behind a shell's ``>>`` or after the earlier commands of a group, ``{ …; } > FILE``."""
    target, wanted = formatted(tmp_path / "node"), tmp_path / "wanted.yaml"
    wanted.write_text(run("export", LOG, "-q").stdout)
    plan = ("plan", target, wanted, "--super-users", "User:a", "-q", "--save")
    for command in (plan, ("export", LOG, "-q", "--to")):
        alone, shared = tmp_path / "alone", tmp_path / "shared"
        assert run(*command, alone).returncode == 0
        for mode, kept in (("ab", b"kept\n"), ("wb", b"")):
            shared.write_bytes(b"kept\n")
            with shared.open(mode) as file:
                file.write(b"before\n")
                file.flush()
                assert run(*command, f"/dev/fd/{file.fileno()}").returncode == 0
                file.write(b"after\n")
            assert shared.read_bytes() == kept + b"before\n" + alone.read_bytes() + b"after\n"


def test_a_descriptor_that_is_not_open_is_named(run: Run) -> None:
    done = run("export", LOG, "-q", "--to", "/dev/fd/999")
    assert (done.returncode, done.stderr) == (2, "metalog: /dev/fd/999: Bad file descriptor\n")


def test_a_descriptor_that_cannot_be_written_to_is_named(run: Run, tmp_path: Path) -> None:
    read = tmp_path / "read"
    read.write_bytes(b"kept\n")
    with read.open("rb") as file:
        place = f"/dev/fd/{file.fileno()}"
        done = run("export", LOG, "-q", "--to", place)
    assert (done.returncode, done.stderr) == (2, f"metalog: {place}: Bad file descriptor\n")
    assert read.read_bytes() == b"kept\n"
