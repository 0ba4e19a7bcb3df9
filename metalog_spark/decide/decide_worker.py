"""Decides Arrow columns of requests in a worker process, each request as of its own time.

Each text is examined once per batch. The decision timeline of a question is cached. A request's
time only selects the configuration, and a decision from the timeline. This module must not know
Spark, nor where the columns come from.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache, partial
from itertools import product
from typing import Final, NamedTuple, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from authorizer.engine.decide import (
    ALLOW,
    ALLOWED,
    DEFAULT_ALLOW,
    DEFAULT_DENY,
    DENIED,
    MATCHING_ACL,
    SUPER_USER,
)
from authorizer.history.decision_timeline import NO_PATTERN, DecisionTimelines
from authorizer.history.timeline import Edge, Timeline
from authorizer.kafka_version import KafkaVersion
from metalog.acl import Operation, ResourceType
from metalog.errors import InvalidRequest
from metalog.gc_pause import gc_paused
from metalog.ids import uuid_text
from metalog.records.primitives.text import decode_text
from metalog.text.plurals import counted
from metalog_spark.decide.timeline_columns import (
    FIRST_LIFETIME,
    Numbers,
    NumberSlots,
    TimelineColumns,
)
from metalog_spark.history.configuration import ConfigPeriod
from metalog_spark.history.state import FolderState, unpacked

BETWEEN_PARTS: Final = b"\xff"
BETWEEN_WORDS: Final = b"\xfe"
"""Bytes that never occur in UTF-8."""
DECIDED: Final = ("log_offset", "answer", "acl_id")
"""The columns of the answer: ``answer = 2 * index into ANSWERS (or NOTHING) + is_known``."""
ANSWERS: Final = (
    (ALLOWED.name, SUPER_USER),
    (ALLOWED.name, DEFAULT_ALLOW),
    (DENIED.name, DEFAULT_DENY),
    (DENIED.name, MATCHING_ACL),
    (ALLOWED.name, MATCHING_ACL),
)
NOTHING: Final = len(ANSWERS)
MOST_ENTRIES: Final = 1 << 20
"""A cache with more entries is emptied."""
MOST_QUESTIONS: Final = np.iinfo(np.int64).max
_TO_SUPER_USER, _ALLOW_BY_DEFAULT, _DENY_BY_DEFAULT, _BY_DENY, _BY_ALLOW = range(len(ANSWERS))
_OPERATIONS: Final = tuple(Operation)
_WORDS: Final = {
    BETWEEN_WORDS.join((operation.name.encode(), resource_type.name.encode())): number
    for number, (operation, resource_type) in enumerate(product(Operation, ResourceType))
}
_PARTS: Final = 4
_EMPTY_QUESTION: Final = BETWEEN_PARTS * (_PARTS - 1)
_UNKNOWN_WORDS: Final = -1
_NO_PATTERN: Final = NO_PATTERN + FIRST_LIFETIME
_LONG_AGO: Final = np.iinfo(np.int64).min

Truths = NDArray[np.bool_]
K = TypeVar("K", bound=Hashable)


class QuestionColumns(NamedTuple):
    """Questions and their times, in microseconds since 1970.

    A question has four parts, joined by ``BETWEEN_PARTS``: principal, host, resource name, and
    words. The words are an operation and a resource type, joined by ``BETWEEN_WORDS``. A question
    that no authorizer answers is null.
    """

    questions: pa.BinaryArray
    times: pa.Array


@lru_cache(maxsize=2)
def deciding(state: bytes, periods: tuple[ConfigPeriod, ...]) -> DecideWorker:
    """The ``DecideWorker`` for a state and configuration, cached in this process.

    PySpark's processes collect garbage after each task. ``gc_paused`` freezes the ``DecideWorker``,
    so that the garbage collector skips it.
    """
    with gc_paused():
        return DecideWorker(unpacked(state), periods)


class DecideWorker:
    def __init__(self, state: FolderState, periods: Sequence[ConfigPeriod]) -> None:
        timeline = state.timeline or Timeline(Edge(0, 0), ())
        self._intervals = _Intervals(state, periods)
        self._timelines = DecisionTimelines(timeline)
        self._counts = len(self._timelines.principals), self._timelines.host_count
        self._principals = {name.encode(): at for name, at in self._timelines.principals.items()}
        self._versions = [period.config.kafka for period in periods]
        has_blocks = self._timelines.host_count > len(self._timelines.hosts)
        matches_blocks = all(kafka.matches_blocks for kafka in self._versions)
        self._ignores_blocks = has_blocks and not matches_blocks
        self._of_host: dict[KafkaVersion, dict[bytes, int]] = {each: {} for each in KafkaVersion}
        self._super_users = [set(map(str.encode, period.config.super_users)) for period in periods]
        self._allow_everyone = np.array([period.config.allow_everyone for period in periods])
        lifetimes = timeline.lifetimes
        allows = (lifetime.acl.permission_type is ALLOW for lifetime in lifetimes)
        by_lifetime = [_BY_ALLOW if is_allow else _BY_DENY for is_allow in allows]
        self._answers = np.array([_DENY_BY_DEFAULT] * FIRST_LIFETIME + by_lifetime, np.int32)
        ids = [None] * FIRST_LIFETIME + [uuid_text(lifetime.id) for lifetime in lifetimes]
        self._ids = pa.array(ids, pa.string())
        self._offsets = np.array(timeline.offsets)
        self._timeline_columns = TimelineColumns(len(timeline))
        self._may_match_anybody = bytearray()
        """Indexed by name group."""
        self._named_principals: set[int] = set()
        """One number stands for a name group and a principal that its ACLs name."""
        self._recent_questions = NumberSlots()
        self._of_question: dict[int, int] = {}
        self._of_name: list[dict[str, int]] = [{} for _ in ResourceType]

    def decide(self, columns: QuestionColumns) -> pa.StructArray:
        """A row for each question, in the columns ``DECIDED``. The answer is NOTHING before the
        history, and for a null question."""
        return self.decide_parts(_parts(columns.questions), columns.times)

    def decide_parts(self, parts: Iterable[pa.BinaryArray], times_us: pa.Array) -> pa.StructArray:
        """As ``decide``, but the parts of the questions are columns without nulls."""
        principals, hosts, names, words = map(_Coded.of, parts)
        times = pc.fill_null(times_us.cast(pa.int64()), _LONG_AGO)
        intervals = self._intervals.of(times.to_numpy(zero_copy_only=False))
        versions, periods = self._intervals.versions[intervals], self._intervals.periods[intervals]
        question = _QuestionNumbers(
            principals.numbers(self._principals, 0),
            self._hosts_by(hosts, periods),
            words.numbers(_WORDS, _UNKNOWN_WORDS),
            names.places,
            versions,
        )
        is_nothing = np.minimum(question.words, versions) < 0
        has_nothing = bool(is_nothing.any())
        rows = np.flatnonzero(~is_nothing) if has_nothing else slice(None)
        by, since = np.zeros((2, len(versions)), np.int64)
        by[rows], since[rows] = self._by(names.texts(), question.only(rows))
        if self._ignores_blocks:
            in_blocks = question._replace(hosts=self._hosts_in_blocks(hosts))
            _, others = self._by(names.texts(), in_blocks.only(rows))
            since[rows] = np.maximum(since[rows], others)
        answers = self._answers[by]
        answers[(by == _NO_PATTERN) & self._allow_everyone[periods]] = _ALLOW_BY_DEFAULT
        if any(self._super_users):
            is_super = self._are_super_users(principals)[periods, principals.places]
            answers[is_super] = _TO_SUPER_USER
            by[is_super] = 0
        answers[is_nothing] = NOTHING
        columns = (
            pa.array(self._offsets[since], mask=is_nothing if has_nothing else None),
            pa.array(answers * 2 + self._intervals.known[intervals]),
            self._ids.take(pa.array(by)),
        )
        return pa.StructArray.from_arrays(columns, DECIDED)

    def _hosts_by(self, hosts: _Coded, periods: Numbers) -> Numbers:
        by_version = {
            kafka: hosts.numbers(self._numbers_of(hosts, kafka), 0)
            for kafka in dict.fromkeys(self._versions)
        }
        numbers = by_version.pop(self._versions[0])
        for kafka, others in by_version.items():
            is_own = np.array([each is kafka for each in self._versions])[periods]
            numbers = np.where(is_own, others, numbers)
        return numbers

    def _hosts_in_blocks(self, hosts: _Coded) -> Numbers:
        """A change of an ACL for a CIDR block moves ``log_offset``, even if the row's Kafka version
        ignores blocks."""
        kafka = next(each for each in KafkaVersion if each.matches_blocks)
        return hosts.numbers(self._numbers_of(hosts, kafka), 0)

    def _numbers_of(self, hosts: _Coded, kafka: KafkaVersion) -> Mapping[bytes, int]:
        known, timelines = self._of_host[kafka], self._timelines
        texts: list[bytes] = hosts.different.to_pylist()

        def number(text: bytes) -> int:
            return timelines.host(decode_text(text), kafka)

        return dict(zip(texts, _remembered(known, texts, number), strict=True))

    def _by(self, texts: Sequence[str], question: _QuestionNumbers) -> tuple[Numbers, Numbers]:
        """For each row, the number of the ACL lifetime that decides, and the version of the history
        since which the same ACLs match."""
        principal_count, host_count = self._counts
        operations, types = np.divmod(question.words, len(ResourceType))
        name_groups = self._name_groups(texts, types, question.names)
        named_principals = name_groups * principal_count + question.principals
        sessions = named_principals * host_count + question.hosts
        questions = sessions * len(_OPERATIONS) + operations
        timelines = self._recent_questions.find(questions, self._timelines_of)
        return self._timeline_columns.at(timelines, question.versions)

    def _timelines_of(self, questions: Numbers) -> Numbers:
        distinct = pa.array(questions).dictionary_encode()
        alike = pa.array(self._alike(distinct.dictionary.to_numpy())).dictionary_encode()
        different = alike.dictionary.to_pylist()
        timelines = np.array(_remembered(self._of_question, different, self._timeline_of), np.int64)
        of_rows: Numbers = timelines[_places(alike)][_places(distinct)]
        return of_rows

    def _alike(self, questions: Numbers) -> Numbers:
        """In a name group, all questions of principals that no ACL names get one number."""
        principal_count, host_count = self._counts
        named_principals = questions // (host_count * len(_OPERATIONS))
        name_groups = named_principals // principal_count
        is_named = map(self._named_principals.__contains__, named_principals.tolist())
        may_match = np.fromiter(is_named, np.bool_)
        may_match |= np.frombuffer(self._may_match_anybody, np.bool_)[name_groups]
        nobody = name_groups * (principal_count * host_count * len(_OPERATIONS))
        return np.where(may_match, questions, nobody)

    def _timeline_of(self, question: int) -> int:
        principal_count, host_count = self._counts
        rest, operation = divmod(question, len(_OPERATIONS))
        rest, host = divmod(rest, host_count)
        name_group, principal = divmod(rest, principal_count)
        timeline = self._timelines.timeline_by_numbers(
            principal, host, _OPERATIONS[operation], name_group
        )
        return self._timeline_columns.number(timeline)

    def _name_groups(self, texts: Sequence[str], types: Numbers, names: Numbers) -> Numbers:
        """The ``DecisionTimelines.name_group`` of each row's resource."""
        resources = names * len(ResourceType) + types
        is_there = np.zeros(len(texts) * len(ResourceType), np.bool_)
        is_there[resources] = True
        name_groups: Numbers = np.zeros(len(is_there), np.int64)
        for resource_type in ResourceType:
            of_type = is_there[resource_type :: len(ResourceType)].nonzero()[0]
            if len(of_type):
                found = _remembered(
                    self._of_name[resource_type],
                    [texts[place] for place in of_type.tolist()],
                    partial(self._name_group, resource_type),
                )
                name_groups[of_type * len(ResourceType) + resource_type] = found
        of_rows: Numbers = name_groups[resources]
        return of_rows

    def _name_group(self, resource_type: ResourceType, name: str) -> int:
        name_group = self._timelines.name_group(resource_type, name)
        if name_group == len(self._may_match_anybody):
            self._check_has_numbers(name_group)
            named = self._timelines.named_principals(name_group)
            self._may_match_anybody.append(named is None)
            principal_count, _ = self._counts
            self._named_principals.update(
                name_group * principal_count + each for each in named or ()
            )
        return name_group

    def _check_has_numbers(self, name_group: int) -> None:
        principal_count, host_count = self._counts
        if (name_group + 1) * principal_count * host_count * len(_OPERATIONS) > MOST_QUESTIONS:
            raise InvalidRequest(
                f"the history's ACLs name {counted(principal_count, 'principal')},"
                f" {counted(host_count, 'host')} and {name_group + 1:,} different groups of"
                " resource names: too many combinations for 64-bit numbers; build from less of the"
                " history"
            )

    def _are_super_users(self, principals: _Coded) -> Truths:
        """The first index is the configuration period, the second the distinct principal."""
        texts = principals.different.to_pylist()
        found = [[text in users for text in texts] for users in self._super_users]
        return np.array(found, np.bool_)


class _QuestionNumbers(NamedTuple):
    """The parts of each row's question, and the history's version at the row's time."""

    principals: Numbers
    hosts: Numbers
    words: Numbers
    names: Numbers
    versions: Numbers

    def only(self, rows: Numbers | slice) -> _QuestionNumbers:
        return _QuestionNumbers(*(part[rows] for part in self))


class _Coded(NamedTuple):
    different: pa.BinaryArray
    places: Numbers

    @staticmethod
    def of(column: pa.BinaryArray) -> _Coded:
        coded = column.dictionary_encode()
        return _Coded(coded.dictionary, _places(coded))

    def texts(self) -> list[str]:
        try:
            texts: list[str] = self.different.cast(pa.string()).to_pylist()
        except pa.ArrowInvalid:
            found: list[bytes] = self.different.to_pylist()
            wrong = next(text for text in found if decode_text(text).encode() != text)
            raise InvalidRequest(f"a request has a text that is not UTF-8: {wrong!r}") from None
        return texts

    def numbers(self, known: Mapping[bytes, int], default: int) -> Numbers:
        numbers = [known.get(text, default) for text in self.different.to_pylist()]
        return np.array(numbers, np.int64)[self.places]


class _Intervals:
    """Intervals of time with one version of the history and one configuration period each.
    ``known``: whether the ACLs of the interval are known."""

    def __init__(self, state: FolderState, periods: Sequence[ConfigPeriod]) -> None:
        timeline = state.timeline
        times = np.array([] if timeline is None else timeline.times, np.int64) * 1000
        starts = np.array([period.from_us for period in periods[1:]], np.int64)
        ends = [edge * 1000 for gap in state.unknown for edge in gap if edge is not None]
        self._edges = np.unique(np.concatenate((times, starts, np.array(ends, np.int64))))
        begins = np.concatenate(([_LONG_AGO], self._edges))
        self.versions = np.searchsorted(times, begins, "right") - 1
        self.periods = np.searchsorted(starts, begins, "right")
        self.known = self.versions >= 0
        for begin, end in state.unknown:
            first = 0 if begin is None else np.searchsorted(begins, begin * 1000)
            last = len(begins) if end is None else np.searchsorted(begins, end * 1000)
            self.known[first:last] = False

    def of(self, times: Numbers) -> Numbers:
        return np.searchsorted(self._edges, times, "right").astype(np.int64, copy=False)


def _parts(questions: pa.BinaryArray) -> Iterator[pa.BinaryArray]:
    """A column for each part of the questions."""
    whole = pc.fill_null(questions, _EMPTY_QUESTION)
    _, edges, data = whole.buffers()
    edges = np.frombuffer(edges, np.int32)[whole.offset :][: len(whole) + 1]
    texts = np.frombuffer(data, np.uint8)[edges[0] : edges[-1]]
    between = np.flatnonzero(texts == BETWEEN_PARTS[0])
    if len(between) != len(whole) * (_PARTS - 1):
        raise InvalidRequest("a request has a text that is not UTF-8: byte ff is in it")
    begins = np.empty((len(whole), 2 * _PARTS - 1), np.int32)
    begins[:, 0] = edges[:-1]
    begins[:, 1::2] = between.reshape(len(whole), _PARTS - 1) + edges[0]
    begins[:, 2::2] = begins[:, 1::2] + 1
    pieces = pa.Array.from_buffers(
        pa.binary(), begins.size, [None, pa.py_buffer(np.append(begins, edges[-1])), data]
    )
    for place in range(0, 2 * _PARTS, 2):
        yield pieces.take(pa.array(np.arange(place, begins.size, 2 * _PARTS - 1)))


def _places(coded: pa.DictionaryArray) -> Numbers:
    places: Numbers = coded.indices.to_numpy().astype(np.int64)
    return places


def _remembered(known: dict[K, int], keys: list[K], compute: Callable[[K], int]) -> list[int]:
    if len(known) > MOST_ENTRIES:
        known.clear()
    found = list(map(known.get, keys))
    if None in found:
        for place, number in enumerate(found):
            if number is None:
                found[place] = known[keys[place]] = compute(keys[place])
    return found  # type: ignore[return-value]
