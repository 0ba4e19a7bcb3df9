"""Reads properties as ``java.util.Properties.load`` does."""

from __future__ import annotations

import random
import struct
import subprocess
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path

import pytest

from metalog.config.properties import parse_properties, properties_mapping

PROGRAM = Path(__file__).parents[1] / "support" / "kafka" / "java" / "LoadProperties.java"
PIECES = (
    b"\\", b"\\\\", b"\n", b"\r", b"\r\n", b" ", b"\t", b"\f", b"\v", b"#", b"!", b"=", b":",
    b"a", b"key", b"b c", b"\xe9", b"\xc3\xa9", b"\xef\xbb\xbf", b"\0", b"\x1a", b"\x85",
    b"\\u00e9", b"\\U0041", b"\\u0", b"\\u000a", b"\\uD83D\\uDE00", b"\\n", b"\\t", b"\\#",
    b"\\\n", b"\\\r\n", b"\\\r", b"\\\n#", b"\n\\\n", b"\\ ", b"\\=", b"'", b'"', b"${a}",
)  # fmt: skip
TEXTS = 20_000


def generated() -> Iterator[bytes]:
    chance = random.Random(17)
    for _ in range(TEXTS):
        yield b"".join(chance.choices(PIECES, k=chance.randrange(12)))


def javas(texts: list[bytes]) -> Iterator[dict[str, str] | None]:
    asked = struct.pack(">i", len(texts))
    asked += b"".join(struct.pack(">i", len(text)) + text for text in texts)
    command = ["java", "-XX:TieredStopAtLevel=1", str(PROGRAM)]
    answer = BytesIO(
        subprocess.run(command, input=asked, stdout=subprocess.PIPE, check=True).stdout
    )

    def number() -> int:
        [value] = struct.unpack(">i", answer.read(4))
        return int(value)

    def text() -> str:
        return answer.read(number()).decode("utf-16-be", "replace")

    for _ in texts:
        count = number()
        yield None if count < 0 else {text(): text() for _ in range(count)}


def ours(text: bytes) -> dict[str, str] | None:
    try:
        return properties_mapping(parse_properties(text))
    except ValueError:
        return None


@pytest.mark.once
def test_java_reads_each_text_so() -> None:
    texts = list(generated())
    different = [
        (text, expected, found)
        for text, expected in zip(texts, javas(texts), strict=True)
        if (found := ours(text)) != expected
    ]
    assert different == []
