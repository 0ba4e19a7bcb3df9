"""How Java and Kafka write values in a line of text, where Python writes them otherwise.

Source: what Kafka 4.3's metadata shell prints. This module must not know any subject.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from metalog.acl import java_order
from metalog.ids import Uuid, uuid_text


def bracketed(values: Iterable[object]) -> str:
    """A Java list or array."""
    return f"[{', '.join(map(str, values))}]"


def uuids(values: Iterable[Uuid]) -> str:
    return bracketed(map(uuid_text, values))


def boolean(value: bool) -> str:
    return "true" if value else "false"


def optional(value: object | None) -> str:
    """A java.util.Optional."""
    return "Optional.empty" if value is None else f"Optional[{value}]"


def sorted_by_java(values: Mapping[str, str]) -> list[str]:
    """The values of ``values`` in the order of their keys."""
    return [values[key] for key in sorted(values, key=java_order)]
