"""The repository's own data: small, explained, and the same as what it was copied from."""

import gzip
from pathlib import Path

import pytest

from tests.support.kafka.cases import (
    BUILD,
    FIXTURES,
    OWN_KAFKA,
    SHARED_KAFKA,
    SHARED_NEWEST_KAFKA,
    kafka_cases,
)

MEBIBYTE = 1 << 20


def fixture_files() -> list[Path]:
    return [path for path in sorted(FIXTURES.rglob("*")) if path.is_file()]


def test_all_fixtures_together_take_at_most_two_mebibytes() -> None:
    assert sum(path.stat().st_size for path in fixture_files()) <= 2 * MEBIBYTE


def test_each_folder_says_how_it_was_made() -> None:
    readme = (FIXTURES / "README.md").read_text(encoding="utf-8")
    for folder in FIXTURES.iterdir():
        if folder.is_dir() and folder.name != "__pycache__":
            assert f"| `{folder.name}/` |" in readme
    for folder in OWN_KAFKA.iterdir():
        if folder.is_dir():
            assert (folder / "README.md").is_file()


def test_a_copy_is_unchanged_but_for_being_packed() -> None:
    if not SHARED_KAFKA.is_dir():
        return
    for path in sorted(OWN_KAFKA.rglob("*")):
        if not path.is_file() or path == OWN_KAFKA / "README.md":
            continue
        name, data = path.relative_to(OWN_KAFKA), path.read_bytes()
        if path.suffix == ".gz":
            name, data = name.with_suffix(""), gzip.decompress(data)
        [original] = {
            (root / name).read_bytes()
            for root in (SHARED_KAFKA, SHARED_NEWEST_KAFKA)
            if (root / name).is_file()
        }
        assert data == original, path


@pytest.mark.parametrize("kind", ["basic-4.3", "trimmed-4.3", "quorum-4.3/node-11", "unstable-4.4"])
def test_the_repository_stands_alone(kind: str) -> None:
    [case] = [case for case in kafka_cases() if case.name == kind]
    is_packed = any((OWN_KAFKA / kind).rglob("*.gz"))
    assert case.log_dir.is_relative_to(BUILD if is_packed else FIXTURES)
