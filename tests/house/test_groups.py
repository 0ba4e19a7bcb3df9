"""A group's shared resource is closed once, after the group's last test."""

from __future__ import annotations

import os
from collections.abc import Generator

import pytest

from tests.support.suite.groups import BEHIND_THE_LARGEST, Groups

pytest_plugins = ["pytester"]

SOURCE = """
import pytest

running = []

@pytest.fixture(scope="session")
def server():
    running.append("server")
    yield
    running.remove("server")

@pytest.mark.xdist_group("servers")
def test_one(server): assert running == ["server"]

@pytest.mark.xdist_group("servers")
def test_two(server): assert running == ["server"]

def test_of_no_group(): assert running == []

@pytest.mark.xdist_group(name="others")
def test_of_another_group(server): assert running == ["server"]
"""


def test_a_server_ends_with_its_group(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(SOURCE)
    result = pytester.inline_run("-p", "no:randomly", plugins=[Groups()])
    result.assertoutcome(passed=4)


class Backwards:
    """The tests in the opposite order, as another worker gets them."""

    @pytest.hookimpl(wrapper=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> Generator[None]:
        yield
        items.reverse()


@pytest.mark.parametrize(
    ("plugins", "added"), [([], []), ([Backwards()], [BEHIND_THE_LARGEST])], ids=["first", "last"]
)
def test_a_worker_that_begins_with_another_group_leaves_the_largest_a_core(
    pytester: pytest.Pytester,
    monkeypatch: pytest.MonkeyPatch,
    plugins: list[object],
    added: list[int],
) -> None:
    niceness: list[int] = []
    monkeypatch.setattr(os, "nice", niceness.append)
    pytester.makepyfile(SOURCE)
    result = pytester.inline_run("-p", "no:randomly", plugins=[Groups(), *plugins])
    result.assertoutcome(passed=4)
    assert niceness == added


class Distributed:
    """The value that xdist gives its workers."""

    def pytest_configure(self, config: pytest.Config) -> None:
        config.option.loadgroup = True


def test_groups_that_do_not_stay_together_are_refused(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(SOURCE)
    result = pytester.inline_run("-p", "no:randomly", plugins=[Distributed(), Groups()])
    assert result.ret == pytest.ExitCode.USAGE_ERROR
