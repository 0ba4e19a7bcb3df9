"""Which tests run on one worker of xdist, in which order, and when their shared fixtures end.

Tests of a group share servers, which end with the group. pytest would keep a session's fixtures to
the end of the session, and a dozen idle JVMs cost the other workers a third of a core. Other tests
stay with those of their file, so that fixtures of a module are made once. Long work starts early:
groups, the largest first, then files with searches that run ``once``. The largest group takes half
of the time that all tests may take, so the other workers leave it a core.
"""

from __future__ import annotations

import os
from collections import Counter

import pytest
from xdist.scheduler import LoadGroupScheduling

BEHIND_THE_LARGEST = 5
"""Added to the niceness of workers that do not begin with the largest group."""


class GroupsThenFiles(LoadGroupScheduling):
    """An xdist scheduler that hands out groups and files in their order, with
    ``--no-loadscope-reorder``."""

    def _split_scope(self, nodeid: str) -> str:
        scope = super()._split_scope(nodeid)
        return nodeid.partition("::")[0] if scope == nodeid else scope


class Groups:
    """A pytest plugin for a worker of xdist: the last test of a group tears down all fixtures."""

    def __init__(self) -> None:
        self._largest: object = None
        self._has_begun = False

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        sizes = Counter(map(_group, items))

        def turn(item: pytest.Item) -> int:
            if _group(item) is not None:
                return -sizes[_group(item)]
            return 0 if item.get_closest_marker("once") else 1

        items.sort(key=turn)
        self._largest = _group(items[0]) if items else None

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """xdist schedules by the suffix that it adds to test ids. Keep the suffix: without it,
        each test of a group is scheduled separately and starts the group's servers again."""
        if session.config.getoption("loadgroup", False):
            for item in session.items:
                if _group(item) is not None and "@" not in item.nodeid.rpartition("]")[2]:
                    raise pytest.UsageError(
                        f"xdist does not keep the groups of pytest {pytest.__version__} together"
                    )

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item, nextitem: pytest.Item | None) -> object:
        self._leave_a_core_to_the_largest(item)
        if nextitem is None or _group(item) in {None, _group(nextitem)}:
            return None
        return item.ihook.pytest_runtest_protocol(item=item, nextitem=None)

    def _leave_a_core_to_the_largest(self, first: pytest.Item) -> None:
        if not self._has_begun and _group(first) != self._largest:
            os.nice(BEHIND_THE_LARGEST)
        self._has_begun = True


def _group(item: pytest.Item) -> object:
    mark = item.get_closest_marker("xdist_group")
    return None if mark is None else (mark.args or mark.kwargs["name"])
