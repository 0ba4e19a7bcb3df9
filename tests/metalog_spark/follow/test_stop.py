"""How ``metalog pipeline follow`` ends on request."""

from __future__ import annotations

import io
import signal
from collections.abc import Iterator
from unittest.mock import Mock

import pytest

from metalog_spark.store.table_store import Tables
from shell.output.output import Output
from shell.verbs.pipeline import follow


@pytest.fixture(autouse=True)
def nobody_else_listens() -> Iterator[None]:
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    signal.signal(signal.SIGINT, before)


@pytest.fixture
def query(monkeypatch: pytest.MonkeyPatch) -> Mock:
    """A query with one batch under way, and then none."""
    query = Mock(lastProgress=None, status={"isTriggerActive": True})
    monkeypatch.setattr(follow, "sleep", lambda _: query.status.update(isTriggerActive=False))
    return query


def followed(query: Mock) -> str:
    """The messages until the end."""
    said = io.StringIO()
    outlets = Mock(), Mock()
    follow._print_until_end(query, Mock(), Mock(), outlets, Output(io.StringIO(), said))
    return said.getvalue()


def asked(query: Mock, times: int) -> None:
    def looked(_: int) -> bool:
        for _ in range(0 if query.stop.called else times):
            signal.raise_signal(signal.SIGINT)
        return bool(query.stop.called)

    query.awaitTermination.side_effect = looked


def test_a_batch_that_begins_until_it_is_stopped_is_known_to_what_fills_the_tables(
    query: Mock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise both write the commit log's next line, and the batch's is lost although Spark takes
    it as done."""
    were_idle_and_stopped = []

    def opened(session: object, path: object) -> None:
        were_idle_and_stopped.append((query.status["isTriggerActive"], query.stop.called))

    monkeypatch.setattr(Tables, "open", opened)
    asked(query, times=1)
    assert followed(query) == "note: stopping when this batch is done; Ctrl-C again stops at once\n"
    assert were_idle_and_stopped == [(False, True)]


def test_who_asks_twice_waits_for_nothing(query: Mock) -> None:
    asked(query, times=2)
    with pytest.raises(KeyboardInterrupt):
        followed(query)
    assert query.status["isTriggerActive"]
