"""Distinguished names in DER, with every kind of string, encoded by hand.

This module must not know the code under test.
"""

from __future__ import annotations

from random import Random

TYPES = (
    "2.5.4.3", "2.5.4.6", "2.5.4.7", "2.5.4.8", "2.5.4.9", "2.5.4.10", "2.5.4.11",
    "0.9.2342.19200300.100.1.1", "0.9.2342.19200300.100.1.25",
    "1.2.840.113549.1.9.1", "2.5.4.5", "2.5.4.46", "1.3.6.1.4.1.99999.1", "2.999.3",
)  # fmt: skip
"""The attribute types of RFC 2253, and others."""
ENCODINGS = {
    12: "utf-8",
    18: "ascii",
    19: "ascii",
    20: "latin-1",
    22: "ascii",
    26: "ascii",
    27: "ascii",
    28: "utf-32-be",
    30: "utf-16-be",
}
"""The encodings of strings, by their tags in ASN.1."""
CHARACTERS = "abcXYZ  019,=+<>#;\"\\\0\r\n\t\x7f*/()'-.:?@_\u00e9\u00df\u212a\u20ac\U0001f600"


def tlv(tag: int, contents: bytes) -> bytes:
    size = len(contents)
    if size < 128:
        return bytes([tag, size]) + contents
    return bytes([tag, 0x82, size >> 8, size & 255]) + contents


def object_identifier(dotted: str) -> bytes:
    first, second, *others = map(int, dotted.split("."))
    coded = b""
    for number in (first * 40 + second, *others):
        groups = [number & 127]
        while number := number >> 7:
            groups.append(number & 127 | 128)
        coded += bytes(reversed(groups))
    return tlv(6, coded)


def attribute(kind: str, tag: int, value: bytes) -> bytes:
    return tlv(0x30, object_identifier(kind) + tlv(tag, value))


def name(*parts: tuple[bytes, ...]) -> bytes:
    """The encoded name; ``parts`` are attributes, the least specific first."""
    return tlv(0x30, b"".join(tlv(0x31, b"".join(part)) for part in parts))


def any_name(choose: Random) -> bytes:
    return name(*(_any_part(choose) for _ in range(choose.randrange(5))))


def _any_part(choose: Random) -> tuple[bytes, ...]:
    return tuple(_any_attribute(choose) for _ in range(choose.choice([1, 1, 1, 2, 3])))


def _any_attribute(choose: Random) -> bytes:
    tag = choose.choice(list(ENCODINGS))
    characters = choose.choices(CHARACTERS, k=choose.choice([0, 1, 2, 3, 8, 8, 200]))
    value = "".join(characters).encode(ENCODINGS[tag], "replace")
    what = choose.random()
    if what < 0.1:
        value = choose.randbytes(choose.randrange(9))
    elif what > 0.95:
        tag, value = 2, b"\5"
    return attribute(choose.choice(TYPES), tag, value)
