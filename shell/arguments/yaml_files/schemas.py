"""JSON Schemas of the files that people write, made from the parsers' tables of keys and words.

The parsers accept a word in any case, so a schema has a pattern for each word. VS Code and the YAML
language server show the texts of ``errorMessage`` and ``patternErrorMessage``; other validators
ignore both keys. This module must not know how a file is read.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from enum import IntEnum
from typing import Any, Final

from authorizer.analysis.cells.claims import ClaimKind
from metalog.acl import ACL_KEYS, Operation, PatternType, PermissionType, ResourceType, camel
from metalog.scram import ScramMechanism
from metalog_sources.formats.nodes.rules import DOCUMENT_KEYS, NOTE_KEYS, OWN_KEYS, USER_KEYS
from metalog_sources.formats.nodes.words import words_for
from metalog_sources.formats.strimzi import KIND, LISTS
from metalog_sources.names import KEYS as SOURCE_KEYS
from metalog_spark.report.triage.identity import FIELDS
from shell.arguments.yaml_files.claims import EXCEPT, claim_keys
from shell.arguments.yaml_files.expectations import KEYS, RULES
from shell.tasks.proof.proofs import CLAIM_WORDS

Schema = dict[str, Any]

_DRAFT: Final = "http://json-schema.org/draft-07/schema#"
"""The draft that editors support both for YAML and for TOML."""
_TEXT: Final = {"type": ["string", "number", "boolean"]}
"""Parsers read ``007`` and ``no`` as text; validators read a number and a boolean."""
_MESSAGE: Final = "patternErrorMessage"
_DATE_OR_TIME: Final = {
    "type": "string",
    "pattern": r"^\d{4}-\d{2}-\d{2}($|.\d{2})",
    _MESSAGE: "Not a date. Write it as 2026-12-31.",
}
_DATE: Final = _DATE_OR_TIME | {"pattern": r"^\d{4}-\d{2}-\d{2}$"}
_PRINCIPAL: Final = {
    "type": "string",
    "pattern": "^[^:]*:",
    _MESSAGE: "A principal has a type and a name, such as User:billing.",
}


def _any_case(word: str) -> str:
    """A pattern for ``word`` in any case, with the characters that ``folded`` leaves out."""
    letters = (
        f"[{letter.upper()}{letter.lower()}]" if letter.isalpha() else letter for letter in word
    )
    return "[_ -]*".join(("", *letters, ""))


def _word(kind: type[IntEnum], *more: str) -> Schema:
    names = words_for(kind)
    pattern = "|".join(_any_case(word.replace("_", "")) for word in (*names, *more))
    offered = [camel(kind[word]) for word in names] + [each.capitalize() for each in more]
    message = f"Unknown word. Write one of {', '.join(offered)}."
    return {"type": "string", "pattern": f"^({pattern})$", "examples": offered, _MESSAGE: message}


def _one_or_more(item: Schema) -> Schema:
    types = [item["type"]] if isinstance(item["type"], str) else item["type"]
    return item | {"type": [*types, "array"], "items": item, "minItems": 1}


def _mapping(
    keys: Collection[str], values: Mapping[str, Schema], required: Collection[str] = ()
) -> Schema:
    """A mapping with ``keys``. The value of a key without a schema in ``values`` is a text."""
    return {
        "type": "object",
        "properties": {key: values.get(key, _TEXT) for key in keys},
        "additionalProperties": False,
        "errorMessage": f"Write a mapping with no other keys than {', '.join(keys)}.",
        # Outside ``errorMessage``, so that an editor names the missing key.
        "allOf": [{"required": list(required)}],
    }


def _entries(item: Schema) -> Schema:
    return {
        "type": ["array", "null"],
        "items": item,
        "errorMessage": "Not a list. Write each entry with a dash.",
    }


_RULE_VALUES: Final = {
    "resourceType": _one_or_more(_word(ResourceType)),
    "resourceName": _one_or_more(_TEXT),
    "patternType": _one_or_more(_word(PatternType)),
    "principal": _one_or_more(_PRINCIPAL),
    "host": _one_or_more(_TEXT),
    "operation": _one_or_more(_word(Operation)),
    "permissionType": _one_or_more(_word(PermissionType)),
    "expires": _DATE_OR_TIME,
}
_OWN_VALUES: Final = _RULE_VALUES | {"resourceType": _one_or_more(_word(ResourceType, "ANY"))}
_CLUSTER: Final = {
    "properties": {"resourceType": {"type": "string", "pattern": f"^{_any_case('cluster')}$"}}
}


def _acl() -> Schema:
    rule = _mapping(
        (*ACL_KEYS, *NOTE_KEYS), _RULE_VALUES, ("principal", "operation", "resourceType")
    )
    return rule | {"if": _CLUSTER, "else": {"required": ["resourceName"]}}


def _own() -> Schema:
    return _mapping(OWN_KEYS, _OWN_VALUES) | {
        "minProperties": 1,
        "dependencies": {"patternType": ["resourceName"]},
    }


def _acl_file() -> Schema:
    user = _mapping(
        USER_KEYS,
        {"mechanism": _word(ScramMechanism), "iterations": {"type": ["integer", "string"]}},
        USER_KEYS[:3],
    )
    parts = {"owns": _entries(_own()), "acls": _entries(_acl()), "users": _entries(user)}
    return {
        "if": {"type": "array"},
        "then": {"items": _acl()},
        "else": {
            "if": {"type": "object", "required": ["kind"]},
            "then": {"properties": {"kind": {"enum": [KIND, *LISTS]}}},
            "else": _mapping(DOCUMENT_KEYS, parts),
        },
    }


_NOT_EXCEPT: Final = r"(?!any\s+except(\s|$))"


def _any_except(item: Schema, pattern: str) -> Schema:
    """``item``, a list of it, a text of ``pattern``, or ``any except``: such a list."""
    listed = _one_or_more(item)
    return listed | {
        "type": [*listed["type"], "object"],
        "pattern": rf"^(any$|any except\s*\[|{_NOT_EXCEPT}({pattern}))",
        "properties": {EXCEPT: listed},
        "required": [EXCEPT],
        "additionalProperties": False,
    }


def _expectations() -> Schema:
    types = "|".join(_any_case(word.replace("_", "")) for word in words_for(ResourceType))
    named = rf"({types}):(?!LITERAL:$)[\s\S]|{_any_case('cluster')}$"
    message = "A resource has a type and a name, such as topic:orders."
    resource = {"type": "string", "pattern": f"^({named})", _MESSAGE: message}
    of_principal = r"[^:]*:|super\.users$"
    principal = _PRINCIPAL | {"pattern": f"^({of_principal})"}
    values = {
        "principal": _any_except(principal, of_principal),
        "principals": _one_or_more(principal) | {"pattern": f"^{_NOT_EXCEPT}({of_principal})"},
        "operation": _one_or_more(_word(Operation)),
        "resource": _any_except(resource, named),
        "host": _any_except(_TEXT, ""),
    }
    sections = {}
    for word, kind in CLAIM_WORDS.items():
        keys = dict.fromkeys((*claim_keys(word), *(KEYS if word in RULES else ())))
        required = [key for key in keys if key in values and key != "host"]
        own = {"rule": {"enum": list(RULES.get(word, ()))}}
        if kind is ClaimKind.ONLY:
            own["resource"] = _one_or_more(resource)
        entry = _mapping(keys, values | own, required)
        sections[word] = {"if": {"type": "object"}, "then": entry, "else": _entries(entry)}
    return _mapping(sections, sections)


def _owners() -> Schema:
    owns = {"type": "array", "items": _own(), "minItems": 1}
    return {"type": "object", "additionalProperties": owns, "minProperties": 1}


def _accepted() -> Schema:
    common_keys = ("section", "reason", "until")
    sections = []
    for section, fields in FIELDS.items():
        entry = _mapping((*common_keys, *fields), {"until": _DATE}, common_keys) | {
            "minProperties": len(common_keys) + 1
        }
        has_section = {"properties": {"section": {"const": section}}}
        sections.append({"if": has_section, "then": entry})
    entry = {
        "type": "object",
        "required": list(common_keys),
        "properties": {"section": {"enum": list(FIELDS)}, "reason": _TEXT | {"pattern": r"\S"}},
        "allOf": sections,
    }
    return _entries(entry)


def _names() -> Schema:
    text = {"type": "string", "minLength": 1}
    url = text | {"pattern": "^[^@]"}
    source = _mapping(SOURCE_KEYS, dict.fromkeys(SOURCE_KEYS, text) | {"url": url}, ("url",))
    dotted: dict[str, list[str]] = {}
    for key in SOURCE_KEYS:
        table, dot, name = key.partition(".")
        if dot:
            dotted.setdefault(table, []).append(name)
    for table, names in dotted.items():
        source["properties"][table] = _mapping(names, dict.fromkeys(names, text))
    return {"type": "object", "properties": {"sources": {"additionalProperties": source}}}


SCHEMAS: Final[Mapping[str, tuple[str, Callable[[], Schema]]]] = {
    "acls": ("A file of ACLs", _acl_file),
    "expectations": ("Expectations for metalog test", _expectations),
    "accepted": ("Findings of metalog pipeline that somebody accepted", _accepted),
    "owners": ("Owners of ACLs, for metalog pipeline report", _owners),
    "metalog.toml": ("Names of SOURCEs", _names),
}
"""By the name that ``metalog schema`` takes: a title, and a function that makes the schema."""


def schema(name: str) -> Schema:
    title, make = SCHEMAS[name]
    return {"$schema": _DRAFT, "title": title, **make()}
