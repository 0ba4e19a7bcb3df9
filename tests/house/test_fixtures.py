"""The repository's own data: small, explained, and the same as what it was copied from."""

from pathlib import Path

import pytest
from cases import FIXTURES, OWN_KAFKA, SHARED_KAFKA, kafka_cases

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


def test_a_copy_is_unchanged() -> None:
    if not SHARED_KAFKA.is_dir():
        return
    for path in sorted(OWN_KAFKA.rglob("*")):
        original = SHARED_KAFKA / path.relative_to(OWN_KAFKA)
        if path.is_file() and original != SHARED_KAFKA / "README.md":
            assert path.read_bytes() == original.read_bytes(), path


@pytest.mark.parametrize("kind", ["basic-4.3", "trimmed-4.3", "quorum-4.3/node-11"])
def test_the_repository_stands_alone(kind: str) -> None:
    [case] = [case for case in kafka_cases() if case.name == kind]
    assert case.log_dir.is_relative_to(FIXTURES)
