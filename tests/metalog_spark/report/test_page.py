"""The page contains all that it shows, loads nothing else, and says what was left out."""

from __future__ import annotations

import json
import re
from base64 import b64encode
from hashlib import sha256

import pytest

from metalog.errors import InvalidRequest
from metalog.text.visible_text import shown
from metalog_spark.report.contents import Strip
from metalog_spark.report.page import MAX_BYTES, page
from tests.support.spark.read_page import ReadPage
from tests.support.spark.report_contents import (
    ALLOWED,
    COMMAND,
    HIDDEN,
    HOSTILE,
    PRINCIPALS,
    QUOTED,
    ROWS,
    SEPARATED,
    small_contents,
)

LOADING = {"src", "srcset", "data", "action", "formaction", "poster", "background", "xlink:href"}


@pytest.fixture(scope="module")
def html() -> str:
    return page(small_contents(), shown).decode()


@pytest.fixture(scope="module")
def read(html: str) -> ReadPage:
    return ReadPage(html)


def test_what_was_named_is_text_and_makes_no_element(read: ReadPage) -> None:
    names = read.all("bdi")
    for name in (HOSTILE, QUOTED):
        assert name in names
    assert len(read.attributes("script")) == 3
    assert not read.attributes("img")
    assert not read.attributes("b")[len(small_contents().numbers) :]


def test_a_name_that_hides_letters_shows_them(read: ReadPage) -> None:
    names = read.all("bdi")
    data = "".join(read.all("script"))
    assert HIDDEN not in names
    assert shown(HIDDEN) == '"User:bil\\u200bling"'
    assert json.dumps(shown(HIDDEN))[1:-1] in data


def test_the_data_cannot_end_its_element_and_reads_back(html: str) -> None:
    [text] = re.findall(r'<script type="application/json" id="data">(.*?)</script>', html, re.S)
    assert not set("<>&'\u2028\u2029") & set(text)
    assert text.isascii()
    data = json.loads(text)
    assert data["access"]["principals"] == list(map(shown, PRINCIPALS))
    assert shown(SEPARATED) in data["access"]["principals"]
    assert data["window"]["allowed"] == list(ALLOWED)


def test_the_policy_names_what_the_page_has_and_forbids_all_else(read: ReadPage) -> None:
    [policy] = [
        attributes["content"]
        for attributes in read.attributes("meta")
        if attributes.get("http-equiv") == "Content-Security-Policy"
    ]
    rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";"))
    assert rules.keys() == {"default-src", "script-src", "style-src", "base-uri", "form-action"}
    for closed in ("default-src", "base-uri", "form-action"):
        assert rules[closed] == "'none'"
    _, *scripts = read.all("script")
    assert rules["script-src"].split() == list(map(hashed, scripts))
    assert rules["style-src"].split() == list(map(hashed, read.all("style")))


def hashed(text: str) -> str:
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"


def test_nothing_is_loaded_and_nothing_runs_from_an_attribute(read: ReadPage) -> None:
    for tag, attributes in read.elements:
        assert tag not in {"link", "iframe", "object", "embed", "base"}
        assert not attributes.keys() & LOADING, tag
        assert not [name for name in attributes if name.startswith("on") or name == "style"]
        target = attributes.get("href", "#")
        assert target.startswith("#") or target in dict(small_contents().teams).values()


def test_a_link_leads_to_something(read: ReadPage) -> None:
    there = {attributes["id"] for _, attributes in read.elements if "id" in attributes}
    links = [each["href"] for each in read.attributes("a")]
    assert {link[1:] for link in links if link.startswith("#")} <= there


def test_numbers_and_commands_stand_as_they_were_given(html: str, read: ReadPage) -> None:
    assert read.all("b") == ["3,000,173", "2", "unknown", "0"]
    assert COMMAND in read.all("pre")
    assert "2025-03-01 12:30" in read.all("time")
    for number in ALLOWED:
        assert f">{number:,}<" in html


def test_what_was_cut_is_said(read: ReadPage) -> None:
    assert "Nothing was cut from this file." in read.all("p")


def test_a_report_of_many_findings_is_cut_to_its_size_and_says_so() -> None:
    many = ROWS * 100_000
    made = page(small_contents(many), shown)
    assert len(made) <= MAX_BYTES
    said = (
        "Cut: Unused, 1,000 of 200,000. All of a table: metalog pipeline report DIR -o csv "
        "--section TABLE; TABLE is unused | quiet."
    )
    read = ReadPage(made.decode())
    assert said in read.all("p")
    assert "1,000 of 200,000 rows" in read.all("p")
    assert len(read.attributes("time")) == 500


def test_of_too_many_brokers_those_stay_of_which_least_was_seen() -> None:
    """The metadata log's strip, the last one, does not count."""
    brokers = [Strip(f"broker {n}", "bn" * 200, (n % 3, 0, 2)) for n in range(20_000)]
    window = small_contents().window._replace(strips=(*brokers, Strip("log", "bb", (9, 0, 0))))
    made = page(small_contents(window=window), shown)
    assert len(made) <= MAX_BYTES
    read = ReadPage(made.decode())
    [said] = [text for text in read.all("p") if text.startswith("Cut: ")]
    assert said.startswith(
        "Cut: Coverage, the 500 of 20,000 brokers with the least coverage (the pipeline's table"
        " coverage has all brokers). All"
    )
    names = [f"broker {n}" for n in range(0, 1500, 3)]
    assert [strip["name"] for strip in read.data["window"]["strips"]] == [*names, "log"]
    assert [row["Log"] for row in read.table("coverage")] == [*names, "log"]


def test_names_that_would_fill_the_page_are_cut_until_it_fits() -> None:
    long = "<" * 5_000
    rows = tuple(("INFO", f"{n}{long}", "topic", long, n, None, (long,) * 3) for n in range(120))
    made = page(small_contents(rows), shown)
    assert len(made) <= MAX_BYTES
    [said] = [text for text in ReadPage(made.decode()).all("p") if text.startswith("Cut: ")]
    assert "Unused, 25 of 120" in said
    assert "names of more than" in said


def test_commands_on_long_names_are_left_out_whole() -> None:
    command = f"kafka-acls --topic '{'x' * (MAX_BYTES // 10)}'"
    rows = tuple(("INFO", "User:a", "topic", "t", 1, None, (COMMAND, command)) for _ in range(30))
    made = page(small_contents(rows), shown)
    assert len(made) <= MAX_BYTES
    read = ReadPage(made.decode())
    assert f"{COMMAND}\n# and 1 more" in read.all("pre")
    [said] = [text for text in read.all("p") if text.startswith("Cut: ")]
    assert "30 lists of commands" in said


def test_a_name_breaks_after_its_separators_and_reads_as_it_is() -> None:
    name = "shops.of-all.till-04.<b>_x"
    row = (
        "INFO",
        name,
        "ALLOW DESCRIBE_CONFIGS from 10.0.0.1",
        "a/b,c--d.of-all-the-shops",
        1,
        None,
        (),
    )
    made = page(small_contents((row,)), shown).decode()
    assert "<bdi>shops.<wbr>of-<wbr>all.<wbr>till-<wbr>04.<wbr>&lt;b&gt;_<wbr>x</bdi>" in made
    assert "<bdi>a/<wbr>b,<wbr>c--<wbr>d.<wbr>of-<wbr>all-<wbr>the-<wbr>shops</bdi>" in made
    assert '<td class="w">ALLOW DESCRIBE_CONFIGS from 10.0.0.1</td>' in made
    assert name in ReadPage(made).all("bdi")


def test_what_limits_the_sentence_is_never_cut() -> None:
    long = f"in 9 hours {'nothing is known, ' * 30}<b>"
    read = ReadPage(page(small_contents(caveats=(long, "each can be a use")), shown).decode())
    assert {f"{long.capitalize()}.", "Each can be a use."} <= {*read.all("p")}
    assert "Nothing was cut from this file." in read.all("p")


def test_a_column_without_content_is_left_out() -> None:
    rows = tuple((*row[:4], 0, None, ()) for row in ROWS)
    read = ReadPage(page(small_contents(rows), shown).decode())
    titles = [*read.table("unused")[0]]
    assert titles == ["Severity", "Principal", "Resource", "Name", "Requests"]
    assert [*ReadPage(page(small_contents(), shown).decode()).table("unused")[0]][5:] == [
        "Last",
        "Remove",
    ]


def test_what_cannot_be_cut_enough_is_refused() -> None:
    with pytest.raises(InvalidRequest, match="longer than 5,242,880 bytes"):
        page(small_contents(sentence="x" * MAX_BYTES), shown)
