"""The logs that a real Kafka wrote, each with its content as Kafka's own tools print it.

A case is a folder with ``log-dir`` and ``expected``. The repository's cases are in
``tests/fixtures/kafka``. If the folder ``../shared`` (or ``METALOG_SHARED``) exists, the cases in
its ``fixtures/kafka`` and ``fixtures/kafka-4.4`` are added, except copies of ours.
``tests/fixtures/kafka/README.md`` describes the files in ``expected``.

This module must not know the code under test.
"""

from __future__ import annotations

import gzip
import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

REPOSITORY = Path(__file__).resolve().parents[3]
PACKAGES = tuple(sorted(path.parent.name for path in REPOSITORY.glob("*/py.typed")))
"""The packages that this project installs."""
FIXTURES = REPOSITORY / "tests" / "fixtures"
SHARED = Path(os.environ.get("METALOG_SHARED", REPOSITORY.parent / "shared"))
BUILD = REPOSITORY / "build"

DEMO = REPOSITORY / "metalog_sources" / "demo"
OWN_KAFKA = FIXTURES / "kafka"
SHARED_KAFKA = SHARED / "fixtures" / "kafka"
SHARED_NEWEST_KAFKA = SHARED / "fixtures" / "kafka-4.4"


class KafkaCase(NamedTuple):
    """One log directory, and the folder with its expected results."""

    name: str
    log_dir: Path
    expected: Path

    @property
    def metadata_dir(self) -> Path:
        return self.log_dir / "__cluster_metadata-0"

    @property
    def is_invalid(self) -> bool:
        """Whether a reader must refuse the log; ``error.json`` says where."""
        return self.expects("error.json")

    def expects(self, name: str) -> bool:
        return (self.expected / name).is_file()

    def json(self, name: str) -> Any:
        return json.loads((self.expected / name).read_bytes())

    def json_lines(self, name: str) -> list[Any]:
        return [json.loads(line) for line in (self.expected / name).read_bytes().splitlines()]

    def text(self, name: str) -> str:
        return (self.expected / name).read_bytes().decode()


class DamagedCase(NamedTuple):
    """A log directory with one fault, and its entry in ``damaged/index.json``."""

    name: str
    log_dir: Path
    facts: dict[str, Any]


@cache
def kafka_cases() -> tuple[KafkaCase, ...]:
    """Every case, sorted by name; of two with the same name, the repository's own."""
    demo = KafkaCase("demo", DEMO / "log-dir", FIXTURES / "demo" / "expected")
    roots = SHARED_KAFKA, SHARED_NEWEST_KAFKA, OWN_KAFKA
    cases = (case for root in roots for case in _cases_in(root))
    found = {case.name: case for case in (*cases, demo)}
    return tuple(found[name] for name in sorted(found))


def kafka_case(name: str) -> KafkaCase:
    """The case called ``name``, such as ``basic-4.3`` or ``quorum-4.3/node-11``."""
    return next(case for case in kafka_cases() if case.name == name)


@cache
def damaged_cases() -> tuple[DamagedCase, ...]:
    found = {}
    for root in (SHARED_KAFKA / "damaged", OWN_KAFKA / "damaged"):
        index = root / "index.json"
        for facts in json.loads(index.read_bytes()) if index.is_file() else ():
            log_dir = root / facts["name"] / "log-dir"
            if log_dir.is_dir():
                found[facts["name"]] = DamagedCase(facts["name"], log_dir, facts)
    return tuple(found[name] for name in sorted(found))


def _cases_in(root: Path) -> Iterator[KafkaCase]:
    for log_dir in sorted(root.glob("**/log-dir")):
        folder = log_dir.parent
        if not (folder / "expected").is_dir():
            continue
        name = folder.relative_to(root).as_posix()
        if any(folder.rglob("*.gz")):
            folder = _unzipped(folder, BUILD / "fixtures" / "kafka" / name)
        yield KafkaCase(name, folder / "log-dir", folder / "expected")


def _unzipped(packed: Path, target: Path) -> Path:
    """``target``: a copy of ``packed`` with every ``.gz`` inflated, made only once."""
    if target.is_dir():
        return target
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent) as scratch:
        copy = Path(scratch) / target.name
        shutil.copytree(packed, copy, copy_function=shutil.copyfile)
        for path in copy.rglob("*.gz"):
            path.with_suffix("").write_bytes(gzip.decompress(path.read_bytes()))
            path.unlink()
        try:
            os.rename(copy, target)  # noqa: PTH104 (a rename that loses a race is not an error)
        except OSError:
            if not target.is_dir():
                raise
    return target
