"""Checks audit files on the local disk before Spark starts.

This module must not know Spark, nor what a line says.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

import pyarrow as pa

from metalog.errors import InvalidRequest
from metalog.text.plurals import counted
from metalog_spark.ingest.audit_files import DAMAGE_ERRORS, BrokerPattern, broker_of, unpacked
from metalog_spark.store.preflight import PARQUET, files_below, files_named, first_bytes

_IN_EACH_LINE: Final = b"Principal "
_ACL_SCHEMES: Final = ("cluster", "quorum", "zookeeper")
_MOST_BYTES: Final = 64 << 20
"""The search for an audit line ends after about this many bytes of all files."""


def refuse_acls(audit: str) -> None:
    """Raise ``InvalidRequest`` if ``audit`` is a SOURCE of ACLs."""
    scheme, is_uri, _ = audit.partition("://")
    if is_uri and scheme in _ACL_SCHEMES:
        raise InvalidRequest(
            f"--audit {audit}: ACLs and not audit lines; name the brokers' kafka-authorizer.log"
        )


def check_audit(patterns: Sequence[str], out: str, pattern: BrokerPattern) -> list[str]:
    """Check the files that ``patterns`` name, and return the paths of empty files.

    Raises:
        InvalidRequest: one of ``patterns`` matches nothing, a Parquet file, or a file in the
            pipeline's folder ``out``; or ``pattern`` finds no broker's name in a path.
    """
    own, empty = Path(out).resolve(), dict[str, None]()
    for audit in patterns:
        has_file = False
        for file in files_named(audit):
            has_file = True
            broker_of(str(file.absolute()), pattern)
            if file.resolve().is_relative_to(own):
                raise InvalidRequest(
                    f"--audit names {file}, a file of the pipeline's folder {out};"
                    " name only the logs, or build into another folder"
                )
            if not file.stat().st_size:
                empty[str(file.absolute())] = None
            if first_bytes(file) in PARQUET:
                raise InvalidRequest(
                    f"--audit {audit}: {file} is Parquet; name a Parquet table by its"
                    " folder or file, without a pattern and without other files"
                )
        if not has_file:
            raise InvalidRequest(f"{audit or '--audit'}: {_why_nothing(audit)}")
    return list(empty)


def holds_parquet(audit: str) -> bool:
    """Whether ``audit`` is a Parquet file, or a folder whose first file is one."""
    place = Path(audit)
    first = next((file for file in files_below(place) if file.is_file()), None)
    return first is not None and first_bytes(first) in PARQUET


def check_has_line(patterns: Sequence[str]) -> None:
    """Raise ``InvalidRequest`` if no file has an audit line. After ``_MOST_BYTES``, the search ends
    without an error."""
    left, first, count = _MOST_BYTES, "", 0
    for file in (file for audit in patterns for file in files_named(audit)):
        before = b""
        for chunk in _chunks(file):
            left -= len(chunk)
            searched = before + chunk
            if left < 0 or _IN_EACH_LINE in searched:
                return
            before = searched[1 - len(_IN_EACH_LINE) :]
        path, count = str(file.absolute()), count + 1
        first = min(first or path, path)
    if count:
        raise no_audit_line(first, count)


def no_audit_line(first: str, count: int) -> InvalidRequest:
    """The error about ``count`` files without an audit line, such as the file ``first``."""
    rest = f" and {counted(count - 1, 'more file')}" if count > 1 else ""
    return InvalidRequest(
        f"--audit {first}{rest}: no audit line in {'them' if rest else 'it'}; name the brokers'"
        " kafka-authorizer.log"
    )


def _why_nothing(audit: str) -> str:
    if not audit:
        return "the name is empty: is a variable of the shell empty?"
    if Path(audit).is_dir():
        return "the folder has no file"
    if Path(audit).exists():
        return "not a regular file, and several tasks read the input at once; copy it to a file"
    return "no file has this name or matches this pattern"


def _chunks(file: Path) -> Iterator[bytes]:
    """The decompressed content of ``file``. Damage counts as an audit line."""
    with pa.memory_map(str(file)) if file.stat().st_size else pa.BufferReader(b"") as opened:
        try:
            yield from unpacked(opened.read_buffer(_MOST_BYTES))
        except DAMAGE_ERRORS:
            yield _IN_EACH_LINE
