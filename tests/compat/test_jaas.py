"""We read JAAS text as Kafka's own JaasConfig does."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from py4j.protocol import Py4JJavaError

from metalog.config.jaas import login_modules
from metalog.errors import InvalidRequest
from tests.support.kafka.jvm import tools_process
from tests.support.kafka.tools import KafkaTools

Read = list[tuple[str, dict[str, str]]]

WORDS = [
    "org.x.Plain", "required", "REQUISITE", "user_a", "user_b-c", "username", "a$b", "é", "€",
    "9a", "-", "-5", "1.5", ".", "..", "-.", "user_a-5", "/", "//", "/*", "*/", "/**/", "/*/",
    '"v"', "'w'", r'"b\"long"', r'"a\\"', r'"\101\4\477\0"', r'"\n\q\u0041"', '"//"', "'/*'",
    '"x', '"\n', "=", ";", ",", "\n", "\r", " ", "\t", "\0", "\x7f", "\x85", "\xa0", "\\", "#",
    "/\n", "\U0001f600",
]  # fmt: skip
VALUES = [
    '"v"', r'"b\"long"', "'s\"q'", "word", "wo-rd", "12", "-x", r'"\7\77\777"', '""', '"a/*b"',
]  # fmt: skip
GAPS = [" ", " ", "\n", '/* user_z="q" */', '// user_y="y"\n', '/ user_z="w"\n', ""]


def any_text(choose: Random) -> str:
    """Mostly well-formed, sometimes with a slip."""
    if choose.random() < 0.2:
        return " ".join(choose.choices(WORDS, k=choose.randrange(12)))
    module = choose.choice(["org.x.Plain", '"org.y"'])
    text = f"{module} {choose.choice(['required', 'OPTIONAL'])}"
    for _ in range(choose.randrange(4)):
        name = choose.choice(["user_a", "user_b", "username", '"user c"', "user_1"])
        text += f"{choose.choice(GAPS)}{name}{choose.choice(['=', ' = '])}{choose.choice(VALUES)}"
    text += choose.choice([";", " ;", ";", ""])
    if choose.random() < 0.2:
        at = choose.randrange(len(text) + 1)
        text = text[:at] + choose.choice(WORDS) + text[at:]
    return text


class Kafkas:
    """``org.apache.kafka.common.security.JaasConfig``, which is not public."""

    def __init__(self, tools: KafkaTools) -> None:
        java: Any = tools_process(tools).classes
        found = java.java.lang.Class.forName("org.apache.kafka.common.security.JaasConfig")
        self._made = found.getDeclaredConstructors()[0]
        self._made.setAccessible(True)
        self._arguments = java.java.util.ArrayList

    def read(self, text: str) -> Read | None:
        arguments = self._arguments()
        arguments.add("KafkaServer")
        arguments.add(text)
        try:
            config = self._made.newInstance(arguments.toArray())
        except Py4JJavaError:
            return None
        entries = config.getAppConfigurationEntry("KafkaServer")
        return [(each.getLoginModuleName(), dict(each.getOptions())) for each in entries]


def ours(text: str) -> Read | None:
    try:
        return [(each.name, dict(each.options)) for each in login_modules(text)] or None
    except InvalidRequest:
        return None


@pytest.fixture(scope="module")
def kafkas(kafka_tools: KafkaTools) -> Kafkas:
    return Kafkas(kafka_tools)


def test_the_samples_of_the_issue(kafkas: Kafkas) -> None:
    for text in (
        'M required /* user_eve="x" */ user_a="y";',
        'M required // user_eve="x";\n user_a="y";',
        r'M required user_a="b\"long";',
    ):
        assert ours(text) == kafkas.read(text) != None  # noqa: E711 two Nones would be equal


def test_texts_of_all_kinds_are_read_as_kafka_reads_them(kafkas: Kafkas) -> None:
    """We refuse two things more: a quote that the line's end closes, and an option without a
    name."""
    choose, understood = Random(2), 0
    for _ in range(1500):
        text = any_text(choose)
        read, theirs = ours(text), kafkas.read(text)
        if read is None and theirs is not None:
            has_no_name = any(None in options for _, options in theirs)
            assert has_no_name or "\n" in text or text.count('"') % 2, text
        else:
            assert read == theirs, text
        understood += read is not None
    assert understood > 300
