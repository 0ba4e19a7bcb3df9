"""Parses a SCRAM credential in kafka-storage's form.

``SCRAM-SHA-256=[name=alice,password=alice-secret]``, or with ``salt`` and ``saltedpassword`` in
base64. An error repeats only the mechanism and the user's name, because any other text can be the
password. This module must not know SCRAM's computations, nor where a line comes from.
"""

from __future__ import annotations

from base64 import b64decode
from typing import NamedTuple

from metalog.errors import InvalidRequest
from metalog.scram import MAX_ITERATIONS, MIN_ITERATIONS, ScramMechanism
from metalog.text.whole_numbers import whole_number

MECHANISMS = {mechanism.mechanism_name: mechanism for mechanism in ScramMechanism}
_KEYS = ("name", "password", "salt", "saltedpassword", "iterations")


class ScramLine(NamedTuple):
    """A credential with ``password`` or ``salted_password``. ``repr`` shows no secrets."""

    mechanism: ScramMechanism
    name: str
    iterations: int
    salt: bytes | None
    password: str | None
    salted_password: bytes | None

    def __repr__(self) -> str:
        return f"ScramLine({self.mechanism.mechanism_name}, {self.name!r}, [hidden])"


def parse_scram_line(text: str) -> ScramLine:
    try:
        text.encode()
    except UnicodeEncodeError:
        raise InvalidRequest("the SCRAM credential is not UTF-8") from None
    name, equals, components = text.strip().partition("=")
    mechanism = MECHANISMS.get(name)
    if not equals or mechanism is None:
        raise InvalidRequest(
            "a SCRAM credential begins with one of "
            + ", ".join(f"{mechanism_name}=[" for mechanism_name in MECHANISMS)
        )
    if not (components.startswith("[") and components.endswith("]")):
        raise InvalidRequest(f"after {name}= write [name=…,password=…]")
    values = _components(components[1:-1])
    user = values.get("name")
    if not user:
        raise InvalidRequest(f"the {name} credential has no name=; add name=USER")
    salt = _decoded(values, "salt", user)
    salted = _decoded(values, "saltedpassword", user)
    password = values.get("password")
    if (password is None) == (salted is None):
        raise InvalidRequest(f"user {user}: give either password= or saltedpassword=")
    if not password and not salted:
        raise InvalidRequest(f"user {user}: the password is empty")
    if salted is not None and salt is None:
        raise InvalidRequest(f"user {user}: saltedpassword= needs salt=, too")
    return ScramLine(mechanism, user, _iterations(values, user), salt, password, salted)


def _components(text: str) -> dict[str, str]:
    values = {}
    for component in text.split(","):
        key, equals, value = component.partition("=")
        if not equals or key not in _KEYS:
            raise InvalidRequest(
                "write each part as KEY=VALUE, where VALUE has no comma and KEY is one of "
                + ", ".join(_KEYS)
            )
        quoted = len(value) > 1 and value.startswith('"') and value.endswith('"')
        values[key] = value[1:-1] if quoted else value
    return values


def _decoded(values: dict[str, str], key: str, user: str) -> bytes | None:
    try:
        return b64decode(values[key], validate=True) if key in values else None
    except ValueError:
        raise InvalidRequest(f"user {user}: {key}= is not base64") from None


def _iterations(values: dict[str, str], user: str) -> int:
    text = values.get("iterations", str(MIN_ITERATIONS))
    iterations = whole_number(text) or 0
    if not MIN_ITERATIONS <= iterations <= MAX_ITERATIONS:
        raise InvalidRequest(
            f"user {user}: iterations= must be a number from {MIN_ITERATIONS} to {MAX_ITERATIONS}"
        )
    return iterations
