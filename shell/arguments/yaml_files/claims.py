"""Reads claims, statements about all requests of a kind, from YAML.

The format is in docs/formats/expectations.md. This module must not know what is decided.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeVar

from authorizer.analysis.cells.claims import ClaimKind
from authorizer.analysis.cells.clients import HostSet
from authorizer.analysis.cells.names import NamePattern, all_names, can_be_named
from authorizer.analysis.cells.sessions import PrincipalSet
from metalog.acl import (
    SUPPORTED_OPERATIONS,
    WILDCARD,
    WILDCARD_PRINCIPAL,
    Operation,
    ResourceType,
    camel,
)
from metalog.disk.files import LOCAL_FILES, read_whole
from metalog.errors import InvalidRequest, InvalidSource
from metalog.hosts.client_host import java_text
from metalog.hosts.host_block import has_block, host_block
from metalog.principal import parse_principal
from metalog_sources.formats.nodes.nodes import (
    Fields,
    Items,
    Node,
    Text,
    fault,
    fields_of,
    items_of,
    text_of,
    texts_of,
)
from metalog_sources.formats.nodes.yaml_nodes import yaml_documents
from metalog_sources.store import yaml_files
from shell.arguments.resources import parse_operation, parse_resource
from shell.tasks.proof.proofs import CLAIM_WORDS, SUPER_USERS, StatedClaim

if TYPE_CHECKING:
    from metalog_sources.formats.document import FilePosition

_Value = TypeVar("_Value")
_KEYS: Final = ("operation", "resource", "host", "comment")
_QUANTIFIABLE: Final = ("principal", "resource", "host")
_ANY: Final = "any"
EXCEPT: Final = "any except"
_EXCEPT_TAG: Final = "!except"
_UNQUOTED_EXCEPT: Final = re.compile(
    rf"""(\b(?:principals?|resource|host)["']?\s*:\s*){EXCEPT}(?=\s*\[)"""
)
_EXCEPT_LIST: Final = re.compile(rf"{EXCEPT}\s*\[")
_EXAMPLES: Final = {"principal": "User:x, User:y", "resource": "topic:x", "host": "10.0.0.0/8"}
FORM: Final = (
    "write {deny: {principal: any except [User:x], operation: Read, resource: topic:pii-*}}, or"
    " name a file of claims"
)


def claims_of(text: str, file: str) -> Iterator[StatedClaim]:
    """All claims in ``text``. ``file`` is the name of ``text`` in errors."""
    for document in claim_documents(text, file):
        if not isinstance(document, Fields):
            raise fault(document.position, f"not a claim; {FORM}")
        for word, entries in fields_of(document, "claims", CLAIM_WORDS).items():
            for entry in entries_of(entries, word):
                yield claim_of(word, fields_of(entry, "a claim", claim_keys(word)), entry.position)


def claim_documents(text: str, file: str) -> Iterator[Node]:
    """The YAML documents of ``text``, in which ``any except [...]`` needs no quotes."""
    tag = _EXCEPT_TAG.ljust(len(EXCEPT))
    return yaml_documents(_UNQUOTED_EXCEPT.sub(rf"\g<1>{tag}", text), file, {_EXCEPT_TAG: EXCEPT})


def entries_of(node: Node, word: str) -> Sequence[Node]:
    """The entries of ``node``: a list, or one entry."""
    return [node] if isinstance(node, Fields) else items_of(node, word)


def claim_keys(word: str) -> tuple[str, ...]:
    return (_principal_key(word), *_KEYS)


def _principal_key(word: str) -> str:
    return "principals" if CLAIM_WORDS[word] is ClaimKind.ONLY else "principal"


def is_claim(entry: Mapping[str, Node]) -> bool:
    """Whether an entry needs a proof, because it is about more than a list of requests."""
    if any(_is_quantified(entry[key]) for key in _QUANTIFIABLE if key in entry):
        return True
    principals, resources, hosts = (_texts(entry.get(key)) for key in _QUANTIFIABLE)
    is_claim = SUPER_USERS in principals or any(text.endswith(WILDCARD) for text in resources)
    return is_claim or has_block(hosts)


def _is_quantified(node: Node) -> bool:
    if isinstance(node, Text):
        return node.value == _ANY or _is_except(node)
    return isinstance(node, Fields)


def _is_except(node: Text) -> bool:
    return (node.value or "").split()[:2] == EXCEPT.split()


def _texts(node: Node | None) -> list[str]:
    nodes = node.items if isinstance(node, Items) else [node]
    return [node.value for node in nodes if isinstance(node, Text) and node.value is not None]


def claim_of(word: str, entry: Mapping[str, Node], position: FilePosition) -> StatedClaim:
    """The keys of ``entry`` must be in ``claim_keys(word)``."""
    for key in claim_keys(word)[:3]:
        if key not in entry:
            raise fault(position, f"a claim of '{word}' has no {key}")
    principals = PrincipalSet(*_set_of(entry[_principal_key(word)], "principal", _principal))
    if CLAIM_WORDS[word] is ClaimKind.ONLY and principals.is_excluded:
        where = entry[_principal_key(word)].position
        raise fault(
            where,
            "'only' must list principals; if nobody but User:x is allowed, write deny with any "
            "except [User:x]",
        )
    if CLAIM_WORDS[word] is ClaimKind.ONLY and _is_quantified(entry["resource"]):
        raise fault(
            entry["resource"].position, "'only' must list resources, such as topic:payments"
        )
    texts = list(texts_of(entry["operation"], "operation"))
    operations = [read_at(text, parse_operation) for text in texts]
    patterns, is_excluded = _set_of(entry["resource"], "resource", _resource)
    excluded = sorted(patterns) if is_excluded else []
    resources = _all_resources(operations) if is_excluded else sorted(patterns)
    for text, operation in zip(texts, operations, strict=True):
        for kind, _ in () if is_excluded else resources:
            _check_operation(text, operation, kind)
    hosts = HostSet(*_set_of(entry["host"], "host", _host)) if "host" in entry else HostSet()
    comment = text_of(entry["comment"], "comment") if "comment" in entry else None
    return StatedClaim(
        word,
        principals,
        tuple(operations),
        tuple(resources),
        tuple(excluded),
        hosts,
        position,
        comment,
    )


def _all_resources(operations: Sequence[Operation]) -> list[tuple[ResourceType, NamePattern]]:
    kinds = SUPPORTED_OPERATIONS.items()
    return [
        (kind, all_names(kind))
        for kind, known in kinds
        if Operation.ALL in operations or known.intersection(operations)
    ]


def _set_of(
    node: Node, what: str, read: Callable[[Text], _Value]
) -> tuple[frozenset[_Value], bool]:
    """The values, and whether they are excluded (``any except``)."""
    if isinstance(node, Text) and node.value == _ANY:
        return frozenset(), True
    if isinstance(node, Text) and _is_except(node):
        node = _parse_quoted(node, what)
    if isinstance(node, Fields):
        excepted = fields_of(node, what, (EXCEPT,)).get(EXCEPT, Items((), node.position))
        return frozenset(map(read, texts_of(excepted, what))), True
    return frozenset(map(read, texts_of(node, what))), False


def _parse_quoted(node: Text, what: str) -> Node:
    """Parse a quoted ``any except [...]``. Errors show positions in the file."""
    wrong = (
        f"{node.value!r}: after {EXCEPT} comes one list; write {what}: {EXCEPT} [{_EXAMPLES[what]}]"
    )
    if not _EXCEPT_LIST.match(node.value or ""):
        raise fault(node.position, wrong)
    _, line, column = node.position
    lead = "\n" * (line - 1) + " " * (column - 1)
    text = (node.value or "").replace(EXCEPT, _EXCEPT_TAG.ljust(len(EXCEPT)), 1)
    documents = list(yaml_documents(lead + text, node.position.file, {_EXCEPT_TAG: EXCEPT}))
    if len(documents) != 1:
        raise fault(node.position, wrong)
    return documents[0]


def read_at(text: Text, read: Callable[[str], _Value]) -> _Value:
    """Call ``read``. An error of ``read`` gets the position of ``text``."""
    try:
        return read(text.value or "")
    except InvalidRequest as error:
        raise fault(text.position, str(error)) from None


def _principal(text: Text) -> str:
    name = text.value or ""
    if name == SUPER_USERS:
        return name
    if name == WILDCARD_PRINCIPAL:
        raise fault(text.position, f"{name} means every principal; write any instead of {name}")
    return str(read_at(text, parse_principal))


def _host(text: Text) -> str:
    host = text.value or ""
    if host_block(host) is not None:
        return host
    address = java_text(host)
    if address is None:
        problem = "is neither an address nor a CIDR block such as 10.0.0.0/8"
        raise fault(text.position, f"host {host!r} {problem}")
    return address


def _check_operation(text: Text, operation: Operation, kind: ResourceType) -> None:
    supported = sorted(SUPPORTED_OPERATIONS.get(kind, ()))
    if operation is not Operation.ALL and operation not in supported:
        listed = ", ".join(map(camel, supported))
        raise fault(
            text.position,
            f"Kafka never checks {operation.name} on a {kind.name}; it checks {listed}",
        )


def _resource(text: Text) -> tuple[ResourceType, NamePattern]:
    kind, name = read_at(text, parse_resource)
    stem = name.removesuffix(WILDCARD)
    if WILDCARD in stem:
        raise fault(
            text.position, f"{name!r} has a * before its end; only its last character may be *"
        )
    if kind is ResourceType.CLUSTER:
        pattern = all_names(kind)
        if name not in (pattern.name, WILDCARD):
            raise fault(
                text.position,
                f"no cluster is called {name!r}; write resource: cluster, without a name",
            )
        return kind, pattern
    is_literal = stem == name
    if stem and not can_be_named(kind, stem if is_literal else f"{stem}x"):
        relation = "be called" if is_literal else "have a name that begins with"
        raise fault(text.position, f"no {kind.name.lower()} can {relation} {stem!r}")
    return kind, NamePattern(stem, is_literal)


def read_claims(words: Sequence[str]) -> list[StatedClaim]:
    texts = claim_texts(words, "claim")
    claims = [claim for text, file in texts for claim in claims_of(text, file)]
    if not claims:
        raise InvalidRequest(f"{', '.join(words)}: has no claims; {FORM}")
    return claims


def claim_texts(words: Sequence[str], what: str, form: str = FORM) -> list[tuple[str, str]]:
    """The YAML texts of ``words``, each with its name in errors.

    A word is a file, a folder of files, or YAML. The name of YAML is ``what`` and a number, such as
    ``claim 2``. ``form`` ends the error about any other word.
    """
    named_texts: list[tuple[str, str]] = []
    for number, word in enumerate(words, 1):
        path = Path(word)
        if (word and _exists(path)) or path.suffix in (".yaml", ".yml"):
            named_texts += yaml_texts(path)
        elif ":" in word:
            named_texts.append((word, f"{what} {number}"))
        elif word.startswith("@"):
            raise InvalidRequest(f"{word} is a SOURCE, not a claim; give the SOURCE first")
        else:
            raise InvalidRequest(f"{word!r} is neither a file nor YAML; {form}")
    return named_texts


def _exists(path: Path) -> bool:
    """A claim can be too long for a file's name, or contain NUL."""
    try:
        return path.exists()
    except (OSError, ValueError):
        return False


def yaml_texts(path: Path) -> Iterator[tuple[str, str]]:
    """The text and name of the file, or of each YAML file of the folder."""
    for file in list(yaml_files(path, LOCAL_FILES)) if path.is_dir() else [path]:
        data = read_whole(LOCAL_FILES, file)
        try:
            yield data.decode("utf-8-sig"), str(file)
        except UnicodeDecodeError:
            raise InvalidSource(f"{file}: not UTF-8; save it as UTF-8") from None
