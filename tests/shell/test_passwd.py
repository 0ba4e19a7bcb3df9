"""``metalog passwd`` on a stopped node's folder: what it writes, prompts, prints and refuses."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from metalog.image.state.scram import ScramImage
from metalog.scram import ScramMechanism, credential_of, salted_password
from shell.main import main
from tests.support.command.runs import Run
from tests.support.command.terminal import at_a_terminal
from tests.support.disk.written_log import formatted, image_in

SHA_256, SHA_512 = ScramMechanism.SCRAM_SHA_256, ScramMechanism.SCRAM_SHA_512
BOTH = {SHA_256, SHA_512}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return formatted(tmp_path / "node")


def users_in(folder: Path) -> ScramImage:
    return image_in(folder).scram


def mechanisms_of(folder: Path, user: str) -> dict[ScramMechanism, int]:
    found = users_in(folder).mechanisms.items()
    return {mechanism: users[user].iterations for mechanism, users in found if user in users}


def accepts(folder: Path, user: str, mechanism: ScramMechanism, password: str) -> bool:
    """Whether the password is the user's (RFC 5802, section 3)."""
    kept = users_in(folder).credential(mechanism, user)
    if kept is None:
        return False
    salted = salted_password(mechanism, password, kept.salt, kept.iterations)
    return kept == credential_of(mechanism, salted, kept.salt, kept.iterations)


def passwd(folder: Path, *arguments: str, password: str = "") -> None:
    """Runs it successfully, with the password from a file."""
    file = folder.parent / "password.txt"
    file.write_text(password + "\n", encoding="utf-8")
    given = ["--password-file", str(file)] if password else []
    assert main(["passwd", str(folder), *arguments, *given]) == 0


def test_a_new_user_has_both_mechanisms(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    passwd(folder, "alice", password="pässwörd 1")
    assert mechanisms_of(folder, "alice") == dict.fromkeys(BOTH, 4096)
    for mechanism in BOTH:
        assert accepts(folder, "alice", mechanism, "pässwörd 1")
    salts = [users["alice"].salt for users in users_in(folder).mechanisms.values()]
    assert len(set(salts)) == 2
    printed = capsys.readouterr()
    assert printed.out == (
        "Set the SCRAM-SHA-256 password of alice, 4096 iterations.\n"
        "Set the SCRAM-SHA-512 password of alice, 4096 iterations.\n"
    )
    assert printed.err == ""


def test_no_old_password_stays_and_no_mechanism_is_added(folder: Path) -> None:
    passwd(folder, "bob", "--mechanism", "SCRAM-SHA-512", "--iterations", "8192", password="old")
    assert mechanisms_of(folder, "bob") == {SHA_512: 8192}
    passwd(folder, "bob", password="new")
    assert mechanisms_of(folder, "bob") == {SHA_512: 8192}
    assert accepts(folder, "bob", SHA_512, "new")
    passwd(folder, "bob", "--mechanism", "SCRAM-SHA-256", password="other")
    passwd(folder, "bob", password="both")
    assert mechanisms_of(folder, "bob") == {SHA_256: 4096, SHA_512: 8192}
    assert {accepts(folder, "bob", mechanism, "both") for mechanism in BOTH} == {True}


def test_deleting(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    passwd(folder, "alice", password="secret")
    passwd(folder, "bob", password="secret")
    capsys.readouterr()
    passwd(folder, "alice", "--delete", "--yes", "--mechanism", "SCRAM-SHA-256")
    assert capsys.readouterr().out == "Deleted the SCRAM-SHA-256 credential of alice.\n"
    assert mechanisms_of(folder, "alice") == {SHA_512: 4096}
    passwd(folder, "bob", "--delete", "--yes", "--json")
    assert [json.loads(line) for line in capsys.readouterr().out.splitlines()] == [
        {"change": "deleted", "user": "bob", "mechanism": name, "iterations": 4096}
        for name in ("SCRAM_SHA_256", "SCRAM_SHA_512")
    ]
    assert mechanisms_of(folder, "bob") == {}


@pytest.mark.parametrize("content", ["secret", "secret\n", "secret\r\n"])
def test_a_file_has_the_password_as_its_only_line(folder: Path, content: str, run: Run) -> None:
    done = run("passwd", folder, "alice", "--password-file", "-", stdin=content)
    assert done.returncode == 0
    assert accepts(folder, "alice", SHA_256, "secret")
    assert "secret" not in done.stdout + done.stderr


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "the following arguments are required: USER; see metalog passwd --help"),
        (["alice", "top-secret-1"], "a password cannot be an argument"),
        (["alice", "--", "top-secret-1"], "a password cannot be an argument"),
        (["alice", "--password", "top-secret-1"], "unknown option (not shown: it can be a "),
        (["alice", "--password=top-secret-1"], "unknown option (not shown: it can be a "),
        (["alice"], "not a terminal: to skip the prompt, pass --password-file"),
        (["alice", "--password-file", "no-such-file"], "no-such-file: No such file"),
        (["alice", "--password-file", "."], "metalog: .: Is a directory"),
        (["alice", "--password-file", "empty.txt"], "the password is empty"),
        (["alice", "--password-file", "two.txt"], "two.txt: more than one line"),
        (["alice", "--password-file", "latin.txt"], "latin.txt: not UTF-8"),
        (["User:alice", "--password-file", "one.txt"], "write its SCRAM user: alice"),
        (["", "--password-file", "one.txt"], "USER is empty"),
        (["alice", "--iterations", "4095"], "give a number from 4096 to 16384"),
        (["alice", "--iterations", "16385"], "give a number from 4096 to 16384"),
        (["alice", "--mechanism", "PLAIN"], "argument --mechanism: invalid choice (choose"),
        (["alice", "--mechanism", "top-secret-1"], "argument --mechanism: invalid choice (choose"),
        (["alice", "--iterations", "top-secret-1"], "--iterations: its value is not a whole"),
        (["known", "--delete", "--iterations", "4096"], "--delete needs no --iterations"),
        (["known", "--delete", "--password-file", "one.txt"], "--delete needs no --password-file"),
        (["known", "--delete"], "not a terminal: to skip the prompt, pass --yes"),
        (
            ["known", "--delete", "--yes", "--caller", "User:known"],
            "removes the login of known, the caller; to delete it anyway, pass --allow-lockout",
        ),
        (
            ["known", "--delete", "--yes", "--super-users", "User:known", "--no-allow-everyone"],
            "known is the last SCRAM user that may alter ACLs; if super users log in without SCRAM",
        ),
        (["knowm", "--delete"], "there is no SCRAM user knowm; did you mean known?"),
        (
            ["known", "--delete", "--mechanism", "SCRAM-SHA-512"],
            "known has no SCRAM-SHA-512 credential",
        ),
    ],
)
def test_what_is_refused_changes_nothing_and_quotes_no_password(
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    said: str,
) -> None:
    passwd(folder, "known", "--mechanism", "SCRAM-SHA-256", password="secret")
    capsys.readouterr()
    before = users_in(folder)
    monkeypatch.chdir(folder.parent)
    for name, content in (
        ("one.txt", b"top-secret-1"),
        ("empty.txt", b"\n"),
        ("two.txt", b"top-secret-1\ntop-secret-1\n"),
        ("latin.txt", b"top-secret-1\xe9"),
    ):
        Path(name).write_bytes(content)
    assert main(["passwd", str(folder), *arguments]) == 2
    printed = capsys.readouterr()
    assert said in printed.err
    assert printed.err.count("\n") == 1
    assert "top-secret-1" not in printed.out + printed.err
    assert users_in(folder) == before


def test_what_is_no_target(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "a.yaml"
    file.write_text("acls: []")
    assert main(["passwd", str(file), "alice"]) == 2
    assert "users cannot be changed there; give cluster://" in capsys.readouterr().err


PROMPTS = ("New password for alice: ", "Once more: ")


def test_a_terminal_is_no_file_since_it_would_show_what_is_typed(folder: Path) -> None:
    command = [sys.executable, "-m", "shell.main", "passwd", str(folder), "alice"]
    printed, code = at_a_terminal([*command, "--password-file", "-"], answers={})
    words = " ".join(printed.split())
    assert (code, "for a prompt, leave out --password-file" in words) == (2, True)


def at_the_prompts(folder: Path, *answers: str) -> tuple[str, int]:
    command = [sys.executable, "-m", "shell.main", "passwd", str(folder), "alice"]
    return at_a_terminal(command, answers=dict(zip(PROMPTS, answers, strict=True)))


def test_it_asks_twice_and_shows_nothing_that_is_typed(folder: Path) -> None:
    printed, code = at_the_prompts(folder, "top-secret-1\n", "top-secret-1\n")
    assert code == 0
    assert printed.startswith("New password for alice: \nOnce more: \nSet the SCRAM-SHA-256")
    assert "secret" not in printed
    assert accepts(folder, "alice", SHA_512, "top-secret-1")


@pytest.mark.once
@pytest.mark.parametrize(
    ("answers", "said"),
    [
        (("top-secret-1\n", "top-secret-2\n"), "the two passwords differ; nothing was changed"),
        (("\n", "\n"), "the password is empty; nothing was changed"),
        (("top-secret-1\n", "\x04"), "no password; nothing was changed"),
    ],
)
def test_what_is_typed_wrongly_changes_nothing(
    folder: Path, answers: tuple[str, str], said: str
) -> None:
    printed, code = at_the_prompts(folder, *answers)
    assert (code, printed.splitlines()[-1]) == (2, f"metalog: {said}")
    assert "top-secret" not in printed
    assert mechanisms_of(folder, "alice") == {}


def test_a_person_is_asked_before_a_login_is_deleted(folder: Path) -> None:
    passwd(folder, "alice", password="secret")
    delete = [sys.executable, "-m", "shell.main", "passwd", str(folder), "alice", "--delete"]
    question = "Delete the SCRAM-SHA-256 and SCRAM-SHA-512 credentials of alice? [y/N] "
    printed, code = at_a_terminal(delete, answers={question: "n\n"})
    assert (code, mechanisms_of(folder, "alice").keys()) == (2, BOTH)
    assert "nothing was changed" in printed
    printed, code = at_a_terminal(delete, answers={question: "y\n"})
    assert (code, mechanisms_of(folder, "alice")) == (0, {})


def test_a_login_is_the_callers_own_or_the_last_until_it_is_told_otherwise(folder: Path) -> None:
    for user in ("admin", "other"):
        passwd(folder, user, password="secret")
    alter = ["--add", "--operation", "Alter", "--cluster", "--allow-principal"]
    assert main(["kafka-acls", str(folder), *alter, "User:admin", *alter, "User:other"]) == 0
    delete = ["--delete", "--yes", "--super-users", ""]
    passwd(folder, "admin", *delete, "--mechanism", "SCRAM-SHA-256", "--caller", "User:admin")
    assert main(["passwd", str(folder), "admin", *delete, "--caller", "User:admin"]) == 2
    passwd(folder, "admin", *delete, "--caller", "User:other")
    assert main(["passwd", str(folder), "other", *delete]) == 2
    assert mechanisms_of(folder, "other").keys() == BOTH
    passwd(folder, "other", *delete, "--allow-lockout")
    assert mechanisms_of(folder, "other") == {}
