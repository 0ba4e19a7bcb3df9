"""CreateAcls, DescribeAcls and DeleteAcls in version 0, which has no pattern types (KIP-290).

Kafka 3.9 was the last release with version 0, which kio does not have. This module must not know
what a missing pattern type means.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any, Final, get_args, get_origin

from kio.index import load_request_schema, load_response_schema
from kio.static.primitive import i16

DESCRIBE_ACLS: Final = 29
CREATE_ACLS: Final = 30
DELETE_ACLS: Final = 31

_PATTERN_TYPES: Final = frozenset(("pattern_type", "pattern_type_filter", "resource_pattern_type"))
_CLASS_ATTRIBUTES: Final = ("__type__", "__flexible__", "__api_key__", "__header_schema__")


def _version_0_of(version_1: type[Any], parts: dict[str, type[Any]]) -> type[Any]:
    """``version_1`` without pattern types; adds the new classes to ``parts``."""
    version_0 = dataclasses.make_dataclass(
        version_1.__name__,
        [
            (each.name, _kind(each.type, parts), dataclasses.field(metadata=each.metadata))
            for each in dataclasses.fields(version_1)
            if each.name not in _PATTERN_TYPES
        ],
        namespace={
            "__version__": i16(0),
            **{name: getattr(version_1, name) for name in _CLASS_ATTRIBUTES},
        },
        frozen=True,
        slots=True,
        kw_only=True,
    )
    parts[version_1.__name__] = version_0
    return version_0


def _kind(kind: Any, parts: dict[str, type[Any]]) -> Any:
    if get_origin(kind) is not tuple:
        return kind
    return tuple[_version_0_of(get_args(kind)[0], parts), ...]  # type: ignore[misc]


def _parts(*messages: type[Any]) -> tuple[SimpleNamespace, dict[tuple[int, int], type[Any]]]:
    parts: dict[str, type[Any]] = {}
    declared = [_version_0_of(message, parts) for message in messages]
    by_key = {(int(message.__api_key__), 0): message for message in declared}
    return SimpleNamespace(**parts), by_key


_KEYS: Final = (DESCRIBE_ACLS, CREATE_ACLS, DELETE_ACLS)

_in_requests, REQUESTS = _parts(*(load_request_schema(key, 1) for key in _KEYS))
_in_responses, RESPONSES = _parts(*(load_response_schema(key, 1) for key in _KEYS))
REQUEST_PARTS: Final[Mapping[tuple[int, int], Any]] = dict.fromkeys(REQUESTS, _in_requests)
"""By API key and version: the class of a request and the classes of the structures in it."""
RESPONSE_PARTS: Final[Mapping[tuple[int, int], Any]] = dict.fromkeys(RESPONSES, _in_responses)
