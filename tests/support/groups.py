"""What a group of tests shares ends with the group: no server runs on while others are tested.

pytest keeps a session's fixtures to the end of the session; a worker of xdist has its groups
one after another, and a dozen idle JVMs cost the others a third of a core.
"""

from __future__ import annotations

import pytest
from _pytest.runner import runtestprotocol


class GroupsEnd:
    """A pytest plugin for a worker of xdist: the last test of a group tears down all there is."""

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """xdist hands out tests by what it adds to their ids; where that does not stay, each test
        of a group is handed out by itself, and starts the group's servers anew."""
        if session.config.getoption("loadgroup", False):
            for item in session.items:
                if _group(item) is not None and "@" not in item.nodeid.rpartition("]")[2]:
                    raise pytest.UsageError(
                        f"xdist does not keep the groups of pytest {pytest.__version__} together"
                    )

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item, nextitem: pytest.Item | None) -> object:
        if nextitem is None or _group(item) in {None, _group(nextitem)}:
            return None
        item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
        runtestprotocol(item, nextitem=None)
        item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
        return True


def _group(item: pytest.Item) -> object:
    mark = item.get_closest_marker("xdist_group")
    return None if mark is None else (mark.args or mark.kwargs["name"])
