"""The principal of a client's certificate: its distinguished name, or what rules make of it.

The name is written as Java writes it (RFC 2253: the most specific part first), since ACLs and
``super.users`` hold it so; the rules are Kafka's ``ssl.principal.mapping.rules`` (KIP-371).
This module must not know connections.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from asn1crypto import x509

from metalog.errors import ConfigException
from metalog.principal import KafkaPrincipal

MAPPING_RULES: Final = "ssl.principal.mapping.rules"

_DEFAULT: Final = "DEFAULT"
_RULE: Final = re.compile(
    r"\s*(?:DEFAULT|RULE:((?:\\.|[^\\/])*)/((?:\\.|[^\\/])*)/([LU]?))\s*(,|$)"
)
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
"""The attributes that RFC 2253 has keywords for; Java writes any other by number and bytes."""
_TO_ESCAPE: Final = re.compile(r'([,+"\\<>;])')


class Rule(NamedTuple):
    """Where ``pattern`` is all of a name, ``replacement`` stands for it, in lower (``L``) or
    upper (``U``) case; a ``pattern`` of None takes every name as it is."""

    pattern: re.Pattern[str] | None
    replacement: str
    case: str


def parse_rules(text: str) -> tuple[Rule, ...]:
    """``ConfigException`` names what is no rule."""
    rules, at = [], 0
    while at < len(text):
        match = _RULE.match(text, at)
        if match is None:
            raise ConfigException(
                f"{MAPPING_RULES}: {text[at:].strip()} is no rule; write DEFAULT or "
                "RULE:pattern/replacement/[LU], separated by commas"
            )
        rules.append(_rule(match))
        at = match.end()
    return tuple(rules) or (Rule(None, "", ""),)


def _rule(match: re.Match[str]) -> Rule:
    pattern, replacement, case = match.group(1, 2, 3)
    if pattern is None:
        return Rule(None, "", "")
    try:
        compiled = re.compile(pattern)
    except re.error as error:
        raise ConfigException(f"{MAPPING_RULES}: {pattern} is no pattern: {error}") from None
    return Rule(compiled, re.sub(r"\$(\d)", r"\\\1", replacement), case)


def principal_of(certificate: bytes, rules: Sequence[Rule]) -> KafkaPrincipal | None:
    """Of a certificate in DER; None where no rule takes its name, which Kafka refuses too."""
    name = distinguished_name(certificate)
    for rule in rules:
        if rule.pattern is None:
            return KafkaPrincipal("User", name)
        match = rule.pattern.fullmatch(name)
        if match is not None:
            mapped = match.expand(rule.replacement)
            if rule.case:
                mapped = mapped.lower() if rule.case == "L" else mapped.upper()
            return KafkaPrincipal("User", mapped)
    return None


def distinguished_name(certificate: bytes) -> str:
    """Its subject, whose parts a certificate has from the least specific on, by RFC 2253."""
    subject = x509.Certificate.load(certificate).subject.chosen
    return ",".join("+".join(map(_attribute, part)) for part in reversed(list(subject)))


def _attribute(attribute: Any) -> str:
    number = attribute["type"].dotted
    keyword = _KEYWORDS.get(number)
    if keyword is None:
        return f"{number}=#{attribute['value'].dump().hex()}"
    return f"{keyword}={_escaped(attribute['value'].native)}"


def _escaped(value: str) -> str:
    escaped = _TO_ESCAPE.sub(r"\\\1", value)
    if escaped.startswith(("#", " ")):
        escaped = f"\\{escaped}"
    return f"{escaped[:-1]}\\ " if escaped.endswith(" ") and len(value) > 1 else escaped
