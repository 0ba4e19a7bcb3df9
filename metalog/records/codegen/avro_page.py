"""Writes the text about the Avro schemas in docs/formats. Used by ``generate`` only.

This module must not know where the text goes.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final

from metalog.records.avro.codec import NAMESPACE, avro_types

MARK: Final = "<!-- The rest is generated from metalog/records/schema.py. -->\n"


def schema_table() -> str:
    """A table with a row per type and version: its fingerprint, and a summary of its fields."""
    lines = ["| type | version | fingerprint | fields |", "|---|---|---|---|"]
    lines += [
        f"| {each.name} | {each.version} | `{each.fingerprint.hex()}` |"
        f" {', '.join(_named(each.schema)) or 'none'} |"
        for each in avro_types()
    ]
    return "\n".join(lines) + "\n"


def schema_lines() -> str:
    """The complete schemas, one JSON object per line."""
    return "".join(
        json.dumps({"fingerprint": each.fingerprint.hex(), "schema": each.schema}) + "\n"
        for each in avro_types()
    )


def _named(record: Mapping[str, Any]) -> Iterator[str]:
    """``name type`` of each field, without the unknown tagged fields that every record has."""
    for field in record["fields"][:-1]:
        yield f"{field['name']} {_type_text(field['type'])}"


def _type_text(avro: Any) -> str:
    if isinstance(avro, list):
        return f"{_type_text(avro[1])}?"
    if isinstance(avro, str):
        return avro.rpartition(".")[2]
    if avro["type"] == "array":
        return f"[{_type_text(avro['items'])}]"
    if avro["type"] == "fixed":
        return str(avro["name"]).removeprefix(f"{NAMESPACE}.")
    return f"{{{', '.join(_named(avro))}}}"
