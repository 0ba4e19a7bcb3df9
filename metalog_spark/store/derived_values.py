"""Caches values that are computed from a folder's tables, until a commit changes the folder.

All ``Tables`` of a Spark session share a cache. This module must not know what a value means.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import wraps
from typing import TYPE_CHECKING, Any, Final, TypeVar, TypeVarTuple
from weakref import WeakKeyDictionary

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from metalog_spark.store.commit_log import CommittedState
    from metalog_spark.store.table_store import Tables

_MOST: Final = 64
"""The maximum number of values of a session. One value can be as large as all ACLs."""
T = TypeVar("T")
Arguments = TypeVarTuple("Arguments")


class DerivedValues:
    """The most recently used values of one session."""

    def __init__(self) -> None:
        self._kept: OrderedDict[Hashable, tuple[CommittedState, Any]] = OrderedDict()

    def get(self, key: Hashable, state: CommittedState, make: Callable[[], T]) -> T:
        """The cached value of ``key`` for the same ``state``, else a new value."""
        kept = self._kept.pop(key, None)
        if kept is None or kept[0] != state:
            kept = state, make()
        self._kept[key] = kept
        if len(self._kept) > _MOST:
            self._kept.popitem(last=False)
        value: T = kept[1]
        return value


_OF_SESSIONS: Final[WeakKeyDictionary[SparkSession, DerivedValues]] = WeakKeyDictionary()


def kept_until_commit(make: Callable[[Tables, *Arguments], T]) -> Callable[[Tables, *Arguments], T]:
    """Caches the results of a function of ``Tables`` and hashable arguments. Callers must not
    change a result."""

    @wraps(make)
    def kept(tables: Tables, *arguments: *Arguments) -> T:
        if tables.is_changing:
            return make(tables, *arguments)
        values = _OF_SESSIONS.setdefault(tables.session, DerivedValues())
        key = tables.path, make, arguments
        return values.get(key, tables.contents, lambda: make(tables, *arguments))

    return kept


@contextmanager
def query_threads() -> Iterator[ThreadPoolExecutor]:
    """Threads whose queries Spark runs at the same time. The end of the block does not wait for
    running queries, so Ctrl-C works at once."""
    threads = ThreadPoolExecutor()
    try:
        yield threads
    finally:
        threads.shutdown(wait=False, cancel_futures=True)
