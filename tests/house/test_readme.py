"""The README's commands print what the README shows."""

import importlib.util
import os
import re
import shlex
import subprocess
import sys
from functools import cache
from pathlib import Path
from types import ModuleType

import pytest

from tests.support.command.runs import Run
from tests.support.kafka.cases import DEMO, REPOSITORY, kafka_case

README = (REPOSITORY / "README.md").read_text(encoding="utf-8")
PAGES = [REPOSITORY / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")]
PAGES += sorted((REPOSITORY / "docs").rglob("*.md"))
FIRST_SCREEN = 40
SPAN = re.compile(r"`(metalog [^`]*@demo[^`]*|metalog [a-z ]*--[a-z]+)`")
LINE = re.compile(r"^    (metalog .*)$", re.MULTILINE)
COMMANDS = list(
    dict.fromkeys(
        command
        for page in PAGES
        for pattern in (SPAN, LINE)
        for command in pattern.findall(page.read_text(encoding="utf-8"))
    )
)


def test_the_first_screen_has_all_that_a_newcomer_looks_for() -> None:
    screen = README.splitlines()[:FIRST_SCREEN]
    text = "\n".join(screen)
    assert "](docs/images/explain.svg)" in text
    assert "    make run" in screen
    assert len([line for line in screen if re.match(r"\|.*\| `metalog .*` \|$", line)]) == 8
    for door in ("At 3 a.m.", "Embed", "ACLs in git", "Audit on Spark"):
        assert re.search(rf"\*\*\[?{re.escape(door)}\]?", text)


def told_to_dump(command: str) -> tuple[pytest.MarkDecorator, ...]:
    """docs/reference/command-line.md: ``dump --json`` shows credentials as Kafka does."""
    return (pytest.mark.shows_credentials,) if command.startswith("metalog dump ") else ()


@pytest.mark.smoke
@pytest.mark.parametrize(
    "command", [pytest.param(each, marks=told_to_dump(each), id=each) for each in COMMANDS]
)
def test_each_command_answers(command: str, run: Run) -> None:
    arguments = shlex.split(command)[1:]
    if arguments[0] == "shell" and "--" not in arguments:
        arguments += ["--", "ls", "/"]
    done = run(*arguments)
    assert done.returncode in (0, 1), done.stderr
    assert done.stdout


def test_the_earlier_moment_shows_what_is_gone_now(run: Run) -> None:
    command = ["acls", "@demo", "--principal", "User:billing"]
    before = run(*command, "--at", "151").stdout
    assert "PREFIXED" in before.upper()
    assert before != run(*command).stdout


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_each_link_leads_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+)\)", page.read_text(encoding="utf-8")):
        if not target.startswith("https://"):
            assert (page.parent / target).exists(), target


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_each_make_target_that_a_page_names_is_there(page: Path) -> None:
    parts = (REPOSITORY / "Makefile", *sorted((REPOSITORY / "make").glob("*.mk")))
    makefile = "\n".join(part.read_text(encoding="utf-8") for part in parts)
    for span in re.findall(r"`(?:CI=true )?make ([a-z -]+)`", page.read_text(encoding="utf-8")):
        for target in span.split():
            assert re.search(rf"^{target}:", makefile, re.MULTILINE), target


@cache
def drawing() -> ModuleType:
    path = REPOSITORY / "docs" / "images" / "draw.py"
    spec = importlib.util.spec_from_file_location("draw", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_picture_shows_what_the_command_prints() -> None:
    draw = drawing()
    transcript = draw.transcript()
    assert (draw.FOLDER / "explain.txt").read_text(encoding="utf-8") == draw.as_text(transcript)
    assert (draw.FOLDER / "explain.svg").read_text(encoding="utf-8") == draw.as_svg(transcript)


def test_the_picture_loads_nothing_from_elsewhere() -> None:
    svg = (REPOSITORY / "docs" / "images" / "explain.svg").read_text(encoding="utf-8")
    assert not re.search(r"url\(\W?http|href|@import", svg)


def test_the_tour_gets_an_answer_to_each_question() -> None:
    folder = Path(sys.executable).parent
    done = subprocess.run(
        [REPOSITORY / "docs" / "tour"],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
        env={**os.environ, "PATH": f"{folder}{os.pathsep}{os.environ['PATH']}"},
        check=False,
    )
    assert done.returncode == 0, done.stderr
    questions, answers = read_tour(done.stdout)
    assert [question.split()[1] for question in questions] == [
        "status", "acls", "explain", "explain", "shell", "acls", "acls"
    ]  # fmt: skip
    assert all(answers)
    for acl in kafka_case("demo").json("acls.json"):
        assert acl["principal"] in answers[1]
    assert "ALLOWED" in answers[2].upper()
    assert "DENIED" in answers[3].upper()
    assert "PREFIXED" in answers[5]
    assert answers[5] != answers[6]


def read_tour(text: str) -> tuple[list[str], list[str]]:
    """The README's commands, each with the output shown below it."""
    parts = re.split(r"^\$ (metalog .*)$", text, flags=re.MULTILINE)
    return parts[1::2], [part.strip() for part in parts[2::2]]


def test_the_demo_is_the_source_that_its_name_gives(run: Run) -> None:
    by_path = run("acls", DEMO / "log-dir", "--json")
    assert by_path.stdout
    assert run("acls", "@demo", "--json").stdout == by_path.stdout
