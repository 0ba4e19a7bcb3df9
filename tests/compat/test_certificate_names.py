"""Names in certificates, and the results of mapping rules, equal Java's and Kafka's."""

from __future__ import annotations

from itertools import count, product
from random import Random
from typing import Any

import pytest
from py4j.protocol import Py4JJavaError

from metalog.errors import ConfigException, InvalidRequest
from metalog_node.auth.java_regex import Pattern, Replacement, Steps, TooManySteps
from metalog_node.auth.principals import mapped_name, name_text, parse_rules
from tests.support.kafka.tools import KafkaTools
from tests.support.node.distinguished_names import ENCODINGS, any_name, attribute, name

CN = "2.5.4.3"
ROOM = 100_000
MALFORMED = (b"\xed\xa0\x80", b"a\xed\xb0,", b"\xc0\x80", b"\xf4\x90\x80\x80", b"\xe2\x82")
"""Surrogates, overlong forms, values above Unicode's end, truncated sequences."""


@pytest.fixture(scope="module")
def java(kafka_tools: KafkaTools) -> Any:
    return kafka_tools.classes


def test_a_name_is_written_as_java_writes_it(java: Any) -> None:
    """Hundreds of names: all string types, escapes, several attributes in one part, unknown types,
    empty and long values, bytes that are not text."""
    choose = Random(83)
    samples = ["=", "#", "a#", " a ", "a", "", " ", "\r", "\0", "a\0b", "é€", "\n a\n"]
    names = [
        name((attribute(CN, tag, text.encode(encoding, "replace")),))
        for tag, encoding in ENCODINGS.items()
        for text in samples
    ]
    names += [name((attribute(CN, 12, malformed),)) for malformed in MALFORMED]
    names += [any_name(choose) for _ in range(400)]
    principal = java.javax.security.auth.x500.X500Principal
    assert [name_text(each) for each in names] == [
        principal(bytearray(each)).getName() for each in names
    ]


ATOMS = [
    "a", "b", "K", ",", "=", "CN=", "OU=", r"\.", ".", r"\w", r"\d", r"\s", r"\S", r"\W",
    "[ab]", "[^a]", "[^,]", "[a-c]", r"[^\w]", r"[\d-]", "é", r"\x41", r"\h", r"\v", r"\u212A",
    r"\p{Alpha}", r"\P{Upper}", r"\p{Punct}", "$", "^", r"\z", r"\Q.\E",
]  # fmt: skip
LETTERS = "aabbcK,= .\n\r\u00e9\u212a\u0131\u017f\x85A_1\u2028\U0001f600\xa0\u0660"


def any_pattern(choose: Random, depth: int) -> str:
    kind = choose.random()
    if depth == 0 or kind < 0.35:
        return choose.choice(ATOMS)
    one = any_pattern(choose, depth - 1)
    if kind < 0.6:
        return one + any_pattern(choose, depth - 1)
    if kind < 0.7:
        return f"({one}|{any_pattern(choose, depth - 1)})"
    if kind < 0.8:
        return f"({one})"
    quantifier = choose.choice(["*", "+", "?", "*?", "+?", "??", "{2}", "{1,2}", "{0,2}?", "{1,}"])
    return f"{choose.choice(['(', '(?:', '(?:'])}{one}){quantifier}"


def any_text(choose: Random) -> str:
    return "".join(choose.choices(LETTERS, k=choose.randrange(7)))


def test_a_pattern_matches_what_it_matches_in_java(java: Any) -> None:
    """For all supported patterns. The letters include the issue's samples: KELVIN SIGN is not a
    ``\\w``, nor K in either case."""
    choose, compared = Random(17), 0
    for _ in range(1200):
        text = ("(?i)" if choose.random() < 0.2 else "") + any_pattern(choose, 4)
        try:
            pattern = Pattern(text)
        except InvalidRequest:
            continue
        replacement = "".join(f"<${number}>" for number in range(pattern.groups + 1))
        theirs = java.java.util.regex.Pattern.compile(text)
        for asked in (any_text(choose), any_text(choose)):
            matcher = theirs.matcher(asked)
            try:
                ours = (
                    pattern.matches(asked, Steps(ROOM)),
                    pattern.replace_all(asked, Replacement(replacement, pattern), Steps(ROOM)),
                )
            except InvalidRequest:
                continue
            assert ours == (matcher.matches(), matcher.replaceAll(replacement)), (text, asked)
            compared += 1
    assert compared > 1500


def test_a_set_has_the_characters_that_it_has_in_java(java: Any) -> None:
    """For every set of up to three of these parts: ``-`` at either end, after a class, in a
    range."""
    parts = ["-", "a", "c", "^", "&", r"\d", r"\w", r"\v", r"\-", r"\x5A", r"\p{Punct}", "]"]
    all_ascii, compared = "".join(map(chr, range(128))), set()
    for size in (1, 2, 3):
        for chosen in product(parts, repeat=size):
            text = f"[{''.join(chosen)}]"
            try:
                pattern = Pattern(text)
            except InvalidRequest:
                continue
            ours = pattern.replace_all(all_ascii, Replacement("", pattern), Steps(ROOM))
            theirs = java.java.util.regex.Pattern.compile(text).matcher(all_ascii)
            assert ours == theirs.replaceAll(""), text
            compared.add(text)
    assert {r"[\w-]", r"[\d-]", r"[a\d-]", r"[\d--]", r"[\d-a]", r"[-\v]"} <= compared
    assert len(compared) > 800


def test_a_count_repeats_as_often_as_in_java(java: Any) -> None:
    """For every count of up to six characters. ``{00005}`` is five in Java, not zero to five."""
    compared = set()
    for size in range(1, 7):
        for chosen in product("012,", repeat=size):
            text = f"a{{{''.join(chosen)}}}"
            try:
                pattern = Pattern(text)
            except InvalidRequest:
                continue
            theirs = java.java.util.regex.Pattern.compile(text)
            for times in {0, 1, 2, *(int(each) for each in text[2:-1].split(",") if each)}:
                if times < 200:
                    asked = "a" * times
                    ours = pattern.matches(asked, Steps(ROOM))
                    assert ours == theirs.matcher(asked).matches(), (text, asked)
            compared.add(text)
    assert {"a{0}", "a{002}", "a{1,}", "a{01,2}"} <= compared


RULES = [
    "DEFAULT",
    "",
    " , DEFAULT , ",
    "RULE:^CN=(.*?),OU=ServiceUsers.*$/$1/,DEFAULT",
    "RULE:^CN=(.*?),OU=(.*?),O=(.*?)$/$1@$2/L,RULE:^.*[Cc][Nn]=([a-zA-Z0-9.]*).*$/$1/U",
    r"RULE:CN=(\w+)/$1/L",
    r"RULE:(?i)cn=(\w+).*/$1/",
    r"RULE:CN=([^,]+)(,.*)?/$1$2/U, RULE:.*/none/",
    "RULE:.*/x/",
    "RULE:CN=(.*?)/<$1>/",
    "RULE:(?<who>CN=.*)/${who}$12/",
    r"RULE:CN=(.)(.*)/\$1\/$2\\/",
    "RULE:CN=.*/whole $0/,DEFAULT",
    ",,RULE://,,,DEFAULT,,",
    "  RULE:   /     / ,  DEFAULT  ",
    "  RULE:([A-Z]*)/$1/U   ,RULE:([a-z]+)/$1/,   DEFAULT  ",
    "RULE:\\**\\/+/*/L,RULE:\\/*\\**/**/",
    r"RULE:^CN=((?:\\, *|\w)+)(,.*|$)/$1/,DEFAULT",
]
NAMES = [
    "CN=kafka",
    "CN=Kafka1,OU=ServiceUsers,O=Org",
    "CN=\u212aelvin",
    "CN=\u0130stanbul \u03a3\u03a3 \u00df",
    "CN=a\\,b,OU=ops,O=x",
    "CN=a\n",
    "cn=lower,OU=ServiceUsers",
    "CN=\u0661,OU=ServiceUsersX",
    "",
]


@pytest.mark.parametrize("rules", RULES)
def test_rules_make_of_a_name_what_kafkas_make(java: Any, rules: str) -> None:
    mapper = java.org.apache.kafka.common.security.ssl.SslPrincipalMapper.fromRules(rules)
    parsed = parse_rules(rules)

    def theirs(asked: str) -> str | None:
        try:
            found: str = mapper.getName(asked)
        except Py4JJavaError as error:
            if "No rules apply" in str(error.java_exception.getMessage()):
                return None
            raise
        return found

    assert {each: mapped_name(each, parsed) for each in NAMES} == {
        each: theirs(each) for each in NAMES
    }


@pytest.mark.parametrize(
    "rules",
    [
        *("nonsense", "RULE:a/b", "RULE:a/b/X", "default", "DEFAULT;DEFAULT", "RULE:(/x/"),
        *("DEFAUL", "DEFAULT/L", "rule:^CN=(.*)$/$1/", "RULE:^CN=(.*)$/$1/L/U"),
        *("RULE:^CN=(.*)$/L", "RULE:^CN=(.*)$/LU"),
    ],
)
def test_what_kafka_refuses_is_refused(java: Any, rules: str) -> None:
    with pytest.raises(Py4JJavaError):
        java.org.apache.kafka.common.security.ssl.SslPrincipalMapper.fromRules(rules)
    with pytest.raises(ConfigException):
        parse_rules(rules)


@pytest.mark.parametrize(
    "pattern",
    [
        *(r"CN=((\\, *|\w)+)(,.*|$)", r"CN=(?=a).*", r"CN=(.)\1", r"CN=.*+", r"CN=(?>a|ab)"),
        *(r"CN=(?:a?)+", r"CN=\bkafka", r"CN=\p{Lu}", r"(?s)CN=.*", r"CN=[\v-]+"),
    ],
)
def test_what_cannot_be_run_exactly_in_bounded_time_is_refused_at_the_start(
    java: Any, pattern: str
) -> None:
    """Kafka takes all of these (docs/guide/operating.md)."""
    rule = f"RULE:{pattern}/x/"
    java.org.apache.kafka.common.security.ssl.SslPrincipalMapper.fromRules(rule)
    java.java.util.regex.Pattern.compile(pattern)
    with pytest.raises(ConfigException, match="not supported"):
        parse_rules(rule)


@pytest.mark.parametrize("text", ["a{12345}", "a{0,12345}", "a{2", "a{,2}", "a{x}"])
def test_a_count_that_is_not_read_says_which_are(text: str) -> None:
    with pytest.raises(InvalidRequest, match=r"not supported here; a repetition is \{N\}, \{N,\}"):
        Pattern(text)


def test_what_takes_too_long_is_refused_after_so_many_steps() -> None:
    rules = parse_rules("RULE:^CN=(.*?),(.*?),(.*?)(?:x|.)*y$/$1/,DEFAULT")
    for size in count(100, 100):
        try:
            assert mapped_name(f"CN={',a' * size}", rules) is not None
        except TooManySteps:
            break
    assert 100 < size < 2000


def test_a_budget_that_is_used_up_stays_used_up() -> None:
    steps, pattern = Steps(30), Pattern("(?:a|.)*b")
    for text in ("a" * 30, "b"):
        with pytest.raises(TooManySteps):
            pattern.matches(text, steps)
