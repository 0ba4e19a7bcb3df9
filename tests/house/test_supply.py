"""What make targets, the Dockerfile, the action and the workflows install is pinned."""

from __future__ import annotations

import re

import pytest

from tests.support.kafka.cases import REPOSITORY

pytestmark = pytest.mark.once
INSTALLING = (
    "Makefile", "Dockerfile", "action.yml", ".ci/run", "make/*", ".github/workflows/*.yml",
)  # fmt: skip
PINNED = re.compile(
    r"--require-hashes|--no-deps\b.*(\.|\$wheel|\"\$ACTION\")|PIP_INSTALL_(LOCKED|SELF)"
)
SEMVER_OR_COMMIT = re.compile(r"@[0-9a-f]{40} # v[\d.]+$")


def lines() -> list[str]:
    files = [file for each in INSTALLING for file in REPOSITORY.glob(each) if file.is_file()]
    return [line for file in files for line in file.read_text("utf-8").splitlines()]


def test_no_package_is_installed_without_a_hash() -> None:
    installs = [line for line in lines() if re.search(r"\bpip\S* (--\S+ \S+ )?install\b", line)]
    assert len(installs) > 5
    assert [line for line in installs if PINNED.search(line) is None] == []


def test_workflows_name_actions_by_commit() -> None:
    uses = [line for line in lines() if re.match(r"\s*(- )?uses:", line)]
    assert len(uses) > 5
    assert all(SEMVER_OR_COMMIT.search(line) for line in uses)


def test_each_lock_has_a_hash_for_each_package() -> None:
    for lock in REPOSITORY.glob("requirements*.lock"):
        pins = re.split(r"\n(?=[A-Za-z])", re.sub(r"^#.*\n", "", lock.read_text(), flags=re.M))
        assert all("==" in pin and "--hash=sha256:" in pin for pin in pins), lock.name
