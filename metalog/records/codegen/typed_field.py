"""A field of the schema and its Python source: names, types, and JSON form.

This module must not know a field's bytes, nor files.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from metalog.records.schema import Field


class _Primitive(NamedTuple):
    python: str
    default: str


_PRIMITIVES: Final = {
    "bool": _Primitive("bool", "False"),
    "int8": _Primitive("int", "0"),
    "int16": _Primitive("int", "0"),
    "uint16": _Primitive("int", "0"),
    "int32": _Primitive("int", "0"),
    "int64": _Primitive("int", "0"),
    "float64": _Primitive("float", "0.0"),
    "string": _Primitive("str", '""'),
    "bytes": _Primitive("bytes", 'b""'),
    "uuid": _Primitive("Uuid", "ZERO_UUID"),
}


def snake(name: str) -> str:
    """``KRaftVersionRecord`` -> ``kraft_version_record``."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name.replace("KRaft", "Kraft")).lower()


def camel(name: str) -> str:
    """``BrokerId`` -> ``brokerId``."""
    return name[0].lower() + name[1:]


def lowest(versions: str) -> int:
    """The first version of ``3+``, ``0-4`` or ``0``."""
    return int(re.split(r"[+-]", versions)[0])


def highest(versions: str) -> int:
    return int(versions.split("-")[-1])


class TypedField(NamedTuple):
    """A field, and the parts of its Python source."""

    field: Field
    name: str
    item_type: str
    is_array: bool
    is_nullable: bool

    @property
    def local(self) -> str:
        """The name of the field's local variable, which hides no builtin and no other local."""
        return f"{self.name}_" if self.name in ("id", "version") else self.name

    @property
    def is_struct(self) -> bool:
        return self.item_type not in _PRIMITIVES

    @property
    def annotation(self) -> str:
        python = self.item_type if self.is_struct else _PRIMITIVES[self.item_type].python
        if self.is_array:
            python = f"tuple[{python}, ...]"
        return f"{python} | None" if self.is_nullable else python

    @property
    def default(self) -> str:
        if self.field.default is not None:
            return {"null": "None", "true": "True", "false": "False"}.get(
                self.field.default, self.field.default
            )
        if self.is_array:
            return "()"
        return f"{self.item_type}()" if self.is_struct else _PRIMITIVES[self.item_type].default

    def is_set(self, value: str) -> str:
        """The condition that ``value`` is not the field's default; both are source text."""
        special = {"None": f"{value} is not None", "True": f"not {value}", "False": value}
        return special.get(self.default, f"{value} != {self.default}")

    @property
    def first_version(self) -> int:
        return lowest(self.field.versions)

    def read(self, data: str, at: str) -> str:
        prefix = "read_nullable" if self.is_nullable else "read"
        if not self.is_array:
            if self.is_struct:
                return f"{self.item_type}.decode({data}, {at}, version)"
            return f"{prefix}_{self.item_type}({data}, {at})"
        if self.is_struct:
            return f"read_structs({self.item_type}.decode, {data}, {at}, version)"
        return f"{prefix}_array(read_{self.item_type}, {data}, {at})"

    def write(self, out: str) -> str:
        value = f"self.{self.name}"
        prefix = "write_nullable" if self.is_nullable else "write"
        if not self.is_array:
            if self.is_struct:
                return f"{value}.encode({out}, version)"
            return f"{prefix}_{self.item_type}({out}, {value})"
        if self.is_struct:
            return f"write_structs({out}, {value}, version)"
        if self.item_type == "int32":
            return f"{prefix}_int32s({out}, {value})"
        return f"{prefix}_array(write_{self.item_type}, {out}, {value})"

    @property
    def json_text(self) -> str:
        """The part of an f-string that writes the field's local variable as JSON."""
        if self.item_type == "uuid" and not self.is_array:
            return f'"{{uuid_text({self.local})}}"'
        return f"{{{self._json_value(self.local)}}}"

    def _json_value(self, value: str) -> str:
        if self.is_array:
            if self.is_struct:
                return f"json_structs({value}, version)"
            return f"json_{self.item_type}s({value})"
        if self.is_struct:
            return f"{value}.json_text(version)"
        if self.item_type.startswith(("int", "uint")):
            return value
        return f"json_{self.item_type}({value})"


def typed_field(field: Field) -> TypedField:
    is_array = field.type.startswith("[]")
    return TypedField(
        field,
        snake(field.name),
        field.type.removeprefix("[]"),
        is_array,
        field.nullable is not None,
    )
