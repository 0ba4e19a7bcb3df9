"""Manual pages, one for each verb with every option of its parser, and units of systemd."""

import re
import shlex
from argparse import SUPPRESS
from pathlib import Path

from shell.main import TABLE
from shell.options import build_parser, parse
from tests.support.command.runs import Run
from tests.support.kafka.cases import REPOSITORY

REQUESTS = {".TH", ".SH", ".TP", ".nf", ".fi"}


def test_each_verb_has_a_page_with_its_options(run: Run, tmp_path: Path) -> None:
    assert run("man", "--to", tmp_path).returncode == 0
    pages = {path.stem: path.read_text("utf-8") for path in tmp_path.iterdir()}
    names = {"metalog-" + name.replace(" ", "-") for name, _, _ in TABLE.commands()}
    assert pages.keys() == {"metalog", *names}
    for text in pages.values():
        lead = {line.split()[0] for line in text.splitlines() if line.startswith((".", "'"))}
        assert lead <= REQUESTS
    for name, verb, module in TABLE.commands():
        page = pages["metalog-" + name.replace(" ", "-")].replace(r"\-", "-")
        for action in build_parser(name, verb.line, module)._actions:
            is_shown = action.help != SUPPRESS
            assert all((option in page) >= is_shown for option in action.option_strings)


def test_a_page_is_printed_and_an_unknown_verb_refused(run: Run) -> None:
    page = run("man", "pipeline", "build").stdout
    assert page.startswith('.TH METALOG-PIPELINE-BUILD 1 "" "metalog ')
    assert run("man", "explian").returncode == 2


def test_a_unit_starts_a_verb_with_options_that_it_has() -> None:
    verbs = {name: (verb, module) for name, verb, module in TABLE.commands()}
    units = sorted((REPOSITORY / "examples" / "systemd").glob("*.service"))
    assert units
    for unit in units:
        [command] = re.findall("^ExecStart=(.*)$", unit.read_text("utf-8"), re.MULTILINE)
        program, name, *words = shlex.split(command)
        verb, module = verbs[name]
        assert program == "/usr/local/bin/metalog"
        assert parse(build_parser(name, verb.line, module), words)
