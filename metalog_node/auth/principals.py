"""The principal of a client's certificate: the distinguished name, changed by mapping rules.

The distinguished name has the form of Java's ``X500Principal.getName()`` (RFC 2253). The rules are
Kafka's ``ssl.principal.mapping.rules`` (KIP-371). Reading and mapping a name take bounded time,
because the client is not authenticated yet. This module must not know connections.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from asn1crypto import parser, x509

from metalog.errors import ConfigException, InvalidRequest
from metalog.principal import KafkaPrincipal
from metalog.records.primitives.text import decode_text
from metalog_node.auth.java_regex import Pattern, Replacement, Steps

MAPPING_RULES: Final = "ssl.principal.mapping.rules"
MOST_STEPS: Final = 30_000
"""The limit for one name and all rules, approximately 30 ms. A name of 100 characters needs
approximately 1,000 steps."""

MOST_SUBJECT_BYTES: Final = 8_192
"""The maximum size of a subject in DER; reading it takes approximately 10 ms. The 100 KiB that
OpenSSL accepts would block the event loop for 150 ms."""

_RULE: Final = re.compile(
    r"\s*(?:(?P<default>DEFAULT)"
    r"|RULE:(?P<pattern>(?:\\.|[^\\/])*)/(?P<replacement>(?:\\.|[^\\/])*)/(?P<case>[LU]?))?"
    r"\s*(?:,|$)",
    re.ASCII,
)
_TRIMMED: Final = "".join(map(chr, range(33)))
_KEYWORDS: Final = {
    "2.5.4.3": "CN",
    "2.5.4.6": "C",
    "2.5.4.7": "L",
    "2.5.4.8": "ST",
    "2.5.4.9": "STREET",
    "2.5.4.10": "O",
    "2.5.4.11": "OU",
    "0.9.2342.19200300.100.1.1": "UID",
    "0.9.2342.19200300.100.1.25": "DC",
}
"""The keywords of RFC 2253. Java writes any other attribute as its OID and bytes."""
_TO_ESCAPE: Final = re.compile(r'([,=+<>#;"\\])')
_STRINGS: Final = frozenset((12, 19, 20, 22, 27, 30))
"""The tags of the types that Java 17 decodes, all as UTF-8: UTF8String, Printable, T61, IA5,
General and BMP. Java writes any other value as bytes."""


class MappingRule(NamedTuple):
    """If ``pattern`` matches the whole name, ``replacement`` replaces every match. Then ``case``
    changes the result to lower (``L``) or upper (``U``) case. Without a ``pattern``, the rule keeps
    every name unchanged."""

    pattern: Pattern | None
    replacement: Replacement | None
    case: str


_DEFAULT: Final = MappingRule(None, None, "")


def parse_rules(text: str | None) -> tuple[MappingRule, ...]:
    """Parse mapping rules. None means ``DEFAULT``; an empty text accepts no name.
    ``ConfigException`` if a rule is malformed, or is not supported here."""
    if text is None:
        return (_DEFAULT,)
    rules: list[MappingRule] = []
    at, text = 0, text.strip(_TRIMMED)
    while at < len(text):
        match = _RULE.match(text, at)
        if match is None:
            raise ConfigException(
                f"{MAPPING_RULES}: {text[at:].strip()} is not a rule; write DEFAULT or "
                "RULE:pattern/replacement/[LU], separated by commas"
            )
        rules += _rule(match)
        at = match.end()
    return tuple(rules)


def _rule(match: re.Match[str]) -> Iterator[MappingRule]:
    """As in Kafka, an empty text between two commas is not a rule."""
    pattern, replacement, case = match.group("pattern", "replacement", "case")
    if match["default"]:
        yield _DEFAULT
    elif pattern is not None:
        try:
            compiled = Pattern(pattern)
            yield MappingRule(compiled, Replacement(replacement, compiled), case)
        except InvalidRequest as error:
            raise ConfigException(f"{MAPPING_RULES}: {match[0].strip(' ,')}: {error}") from None


def principal_of(certificate: bytes, rules: Sequence[MappingRule]) -> KafkaPrincipal | None:
    """The principal of a certificate in DER. None if no rule matches the certificate's name; Kafka
    refuses such a certificate. ``InvalidRequest`` if the name cannot be read, or takes too many
    steps to match."""
    name = mapped_name(distinguished_name(certificate), rules)
    return None if name is None else KafkaPrincipal("User", name)


def mapped_name(name: str, rules: Sequence[MappingRule]) -> str | None:
    """The result of the first rule that matches ``name``, or None."""
    steps = Steps(MOST_STEPS)
    for pattern, replacement, case in rules:
        if pattern is None or replacement is None:
            return name
        if pattern.matches(name, steps):
            mapped = pattern.replace_all(name, replacement, steps)
            return mapped.lower() if case == "L" else mapped.upper() if case == "U" else mapped
    return None


def distinguished_name(certificate: bytes) -> str:
    """The certificate's subject as Java writes it. ``InvalidRequest`` if the subject cannot be
    read, or has more than ``MOST_SUBJECT_BYTES``."""
    try:
        subject = _subject(certificate)
        if len(subject) <= MOST_SUBJECT_BYTES:
            return name_text(subject)
    except (ValueError, TypeError, OverflowError, LookupError):
        raise InvalidRequest("its certificate's name cannot be read") from None
    raise InvalidRequest(
        f"its certificate's name has {len(subject)} bytes; at most {MOST_SUBJECT_BYTES} are allowed"
    )


def _subject(certificate: bytes) -> bytes:
    """The subject in DER (RFC 5280, section 4.1), not decoded."""
    to_be_signed, *_ = _elements(certificate)
    fields = list(_elements(to_be_signed))
    has_version = fields[0][0] == _VERSION
    return fields[_SUBJECT if has_version else _SUBJECT - 1]


_VERSION: Final = 0xA0
"""The tag of a certificate's version, which can be missing."""
_SUBJECT: Final = 5
"""The subject's index, after version, serial number, algorithm, issuer and validity."""


def name_text(name: bytes) -> str:
    """A name in DER as RFC 2253 writes it: the most specific part first."""
    parts = [
        "+".join(_attribute(attribute) for attribute in _elements(part)) for part in _elements(name)
    ]
    return ",".join(reversed(parts))


def _elements(value: bytes) -> Iterator[bytes]:
    """The elements of a SEQUENCE or a SET."""
    contents = parser.parse(value, strict=True)[4]
    at = 0
    while at < len(contents):
        _, _, _, header, content, trailer = parser.parse(contents[at:])
        end = at + len(header) + len(content) + len(trailer)
        yield contents[at:end]
        at = end


def _attribute(attribute: bytes) -> str:
    kind, value = _elements(attribute)
    number = x509.NameType.load(kind).dotted
    keyword = _KEYWORDS.get(number)
    class_, method, tag, _, content, _ = parser.parse(value)
    if keyword is None or tag not in _STRINGS or value[0] != tag:
        return f"{keyword or number}=#{parser.emit(class_, method, tag, content).hex()}"
    return f"{keyword}={_escaped(decode_text(content))}"


def _escaped(value: str) -> str:
    escaped = _TO_ESCAPE.sub(r"\\\1", value).replace("\0", r"\00")
    lead = len(escaped) - len(escaped.lstrip(" \r"))
    trail = len(escaped.rstrip(" \r"))
    padded = escaped[:lead], escaped[max(lead, trail) :]
    before, after = ("".join(f"\\{blank}" for blank in blanks) for blanks in padded)
    return before + escaped[lead : max(lead, trail)] + after
