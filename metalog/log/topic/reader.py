"""Reads the committed records of a metadata log in a Kafka topic.

A read ends at the last stable offset. The reader does not wait for a message at the last offset,
because this offset can be a transaction marker or an aborted record. If the topic was deleted and
created again, all records are read again. A separate folder can hold snapshots. This module must
not apply any record.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from time import monotonic
from typing import Final, NamedTuple

from metalog.disk.files import LOCAL_FILES, Files
from metalog.errors import CorruptLog, InvalidSource
from metalog.ids import SnapshotId
from metalog.log.folder.commit import Proven
from metalog.log.folder.layout import avro_snapshot_id, snapshot_id
from metalog.log.folder.location import unreadable
from metalog.log.folder.single_file import read_snapshot_file
from metalog.log.topic.address import parse_address
from metalog.log.topic.cluster import CommittedMessages, TopicCluster, TopicEnds, TopicFacts
from metalog.log.topic.records import Assembler, LastAppend, Stored, last_append, read_header
from metalog.ports import (
    Appended,
    HighWatermark,
    LogBounds,
    LogEvent,
    SnapshotNeeded,
    Split,
    Truncated,
)
from metalog.records.batch import Batch
from metalog.text.plurals import counted

_SPLIT_OFFSETS: Final = 100_000
_FIRST_LOOK_BACK: Final = 16
_CHECK_ID_S: Final = 1.0
"""The least time between two requests of ``poll`` for the topic's id."""
_NO_LIMIT: Final = ("-1", str(2**63 - 1))
WHY_STABLE: Final = "the last stable offset: no transaction is open below it"


class TopicLog:
    """The log in the topic at ``address``, ``topic://HOST:PORT[,HOST:PORT]/TOPIC``.

    ``settings`` are librdkafka's (``librdkafka_settings`` translates Kafka's). ``snapshots`` is a
    folder of ``.checkpoint`` or ``.avro`` files. With ``is_for_state``, ``read(0)`` begins with
    the newest snapshot. Methods raise ``InvalidSource`` if the topic does not exist, or if its
    cluster refuses a request or does not answer in time.
    """

    def __init__(
        self,
        address: str,
        settings: Mapping[str, str] | None = None,
        *,
        snapshots: Path | None = None,
        files: Files = LOCAL_FILES,
        cluster: TopicCluster | None = None,
        is_for_state: bool = False,
    ) -> None:
        self._is_for_state = is_for_state
        self.cluster = cluster or TopicCluster(parse_address(address), settings or {})
        self.path = str(self.cluster.address)
        self._folder = snapshots
        self._files = files
        self._ends: TopicEnds | None = None
        self._last: LastAppend | None = None
        self._follower: _Follower | None = None
        self._id: str | None = None
        self._is_unchecked = False
        self._check_at_s = 0.0

    def check(self) -> None:
        """Raise ``InvalidSource`` if the topic cannot hold a log.

        ``CorruptLog`` if the last message is not a record of a log, or if no snapshot has the
        deleted first records.
        """
        facts = self.cluster.facts()
        if facts is None:
            raise InvalidSource(
                f"{self.path}: there is no such topic; the first writer of a log creates it"
            )
        if (why := why_unfit(facts)) is not None:
            raise InvalidSource(f"{self.path}: {why}")
        if self._known().start > 0:
            self._newest_snapshot()

    @property
    def encoding(self) -> str | None:
        """``kraft`` or ``avro``, the encoding of the last append; None for an empty log."""
        self._known()
        return None if self._last is None else self._last.encoding

    @property
    def last(self) -> LastAppend | None:
        """The last append below the last stable offset."""
        self._known()
        return self._last

    @property
    def damage(self) -> CorruptLog | None:
        """None: damage is found when a message is read."""
        return None

    @property
    def missing(self) -> CorruptLog | None:
        """None: a reader of a topic cannot know whether records at the log's end were lost."""
        return None

    @property
    def problems(self) -> tuple[str, ...]:
        """Oddities that do not prevent reading, one line each."""
        end = self._known().stable
        return tuple(
            f"{self._folder}: the snapshot {each} ends past the topic's end at {end}; it is"
            " ignored, because it belongs to another log"
            for each in self._in_folder()
            if each.end_offset > end
        )

    @property
    def proven(self) -> Proven:
        """The offset up to which the log is committed, and the reason."""
        return Proven(self._known().stable, WHY_STABLE)

    @property
    def silent_for_s(self) -> float | None:
        """Seconds since the topic's leader last answered."""
        return self.cluster.contact.silent_for_s

    def bootstrap(self) -> Iterator[Batch] | None:
        """None: a topic has no ``bootstrap.checkpoint``."""
        return None

    def bounds(self) -> LogBounds:
        """The log's start, its end (the last stable offset), and its last epoch."""
        start, stable = self._known()
        epoch = 0 if self._last is None else self._last.epoch
        return LogBounds(start, stable, epoch, stable, WHY_STABLE)

    def refresh(self) -> None:
        """Forget the end of the log, so that the next call asks the cluster."""
        self._ends = self._last = None

    def read(self, start: int) -> Iterator[LogEvent]:
        """The events from offset ``start`` up to the current end of the log.

        Raises ``CorruptLog`` if the log is damaged.
        """
        self.refresh()
        first, stable = self._known()
        if self._is_recreated():
            yield Truncated(0)
            start = 0
        if start < first or (start == 0 and self._is_for_state and self.snapshots()):
            newest = self._newest_snapshot()
            yield SnapshotNeeded(newest)
            start = newest.end_offset
        elif start > stable:
            yield Truncated(stable)
            start = stable
        yield HighWatermark(stable)
        assembler = Assembler(self.path, start)
        for message in self._whole_appends(start, stable):
            yield from assembler.add(message)
        yield from assembler.reach(stable)
        self._follow(assembler)

    def poll(self, timeout_s: float) -> Sequence[LogEvent]:
        """The events after the last poll or read; empty if none comes in ``timeout_s`` seconds."""
        follower = self._follower
        if follower is None:
            follower = self._follow(Assembler(self.path, self._known().stable, self._last))
        events = follower.poll(timeout_s)
        self._is_unchecked = self._is_unchecked or bool(events)
        if self._is_unchecked and monotonic() >= self._check_at_s and self._is_recreated():
            self._follow(Assembler(self.path, 0))
            return [Truncated(0)]
        return events

    def close(self) -> None:
        """Close the connection of ``poll``; the next ``poll`` opens another, and continues."""
        if self._follower is not None:
            self._follower.close()

    def splits(self) -> Sequence[Split]:
        """The log as input splits, in order."""
        start, stable = self._known()
        begins = range(start, stable, _SPLIT_OFFSETS)
        return [
            TopicSplit(self.cluster, begin, min(begin + _SPLIT_OFFSETS, stable), stable)
            for begin in begins
        ]

    def snapshots(self) -> Sequence[SnapshotId]:
        """The snapshots that fit this log, oldest first; ``problems`` names the other snapshots."""
        end = self._known().stable
        return [each for each in self._in_folder() if each.end_offset <= end]

    def open_snapshot(self, id: SnapshotId) -> Iterator[Batch]:
        """All batches of the snapshot ``id``. The caller checks header and footer.

        Raises ``InvalidSource`` if there is no such snapshot.
        """
        if self._folder is None:
            raise InvalidSource(
                f"{self.path}: there is no snapshot {id}, because no folder of snapshots is named;"
                " name it with ?snapshots=DIR"
            )
        if id not in (files := self._in_folder()):
            raise InvalidSource(f"{self._folder}: there is no snapshot {id}")
        return read_snapshot_file(files[id], self._files)

    def _known(self) -> TopicEnds:
        if self._ends is None:
            self._ends = self.cluster.ends()
            self._last = self._find_last(self._ends)
        return self._ends

    def _is_recreated(self) -> bool:
        """Whether the topic's name belongs to another topic since the last call."""
        before, self._id = self._id, self.cluster.id()
        self._is_unchecked = False
        self._check_at_s = monotonic() + _CHECK_ID_S
        return before not in (None, self._id)

    def _find_last(self, ends: TopicEnds) -> LastAppend | None:
        """Search backwards, because markers or aborted records can follow the last append."""
        back = _FIRST_LOOK_BACK
        while ends.start < ends.stable:
            begin = max(ends.start, ends.stable - back)
            with closing(self.cluster.messages(begin)) as messages:
                found = deque(messages.until(ends.stable), maxlen=1)
            if found:
                return last_append(found[0], self.path)
            if begin == ends.start:
                break
            back *= 16
        return None

    def _whole_appends(self, start: int, stable: int) -> Iterator[Stored]:
        """The messages from the beginning of the append that includes ``start``."""
        missing = None
        with closing(self.cluster.messages(start)) as messages:
            for message in messages.until(stable):
                if missing is None:
                    missing = read_header(message, self.path).number
                if missing:
                    start = message.offset - missing
                    break
                yield message
        if missing:
            yield from self._whole_appends(start, stable)

    def _follow(self, assembler: Assembler) -> _Follower:
        self.close()
        self._follower = _Follower(self.cluster, assembler)
        return self._follower

    def _in_folder(self) -> Mapping[SnapshotId, Path]:
        """Oldest first; a ``.checkpoint`` replaces an ``.avro`` with the same id."""
        if self._folder is None:
            return {}
        try:
            names = self._files.names(self._folder)
        except OSError as error:
            raise unreadable(self._folder, error) from None
        found: dict[SnapshotId, Path] = {}
        for read_id in (avro_snapshot_id, snapshot_id):
            for name in names:
                if (named := read_id(name)) is not None:
                    found[named] = self._folder / name
        return dict(sorted(found.items()))

    def _newest_snapshot(self) -> SnapshotId:
        start = self._known().start
        if (snapshots := self.snapshots()) and snapshots[-1].end_offset >= start:
            return snapshots[-1]
        raise CorruptLog(
            f"the topic begins at offset {start}, and no snapshot has the earlier records",
            file=self.path,
            advice="name the folder of its snapshots: ?snapshots=DIR",
        )


class _Follower:
    def __init__(self, cluster: TopicCluster, assembler: Assembler) -> None:
        self._cluster = cluster
        self._assembler = assembler
        self._messages: CommittedMessages | None = None

    def poll(self, timeout_s: float) -> Sequence[LogEvent]:
        assembler = self._assembler
        if self._messages is None:
            self._messages = self._cluster.messages(assembler.position, live=True)
        read = [
            event
            for message in self._messages.within(timeout_s)
            for event in assembler.add(message)
        ]
        if assembler.is_between_appends:
            read += assembler.reach(self._messages.position)
        return [HighWatermark(assembler.position), *read] if read else []

    def close(self) -> None:
        """An incomplete append is read again from its beginning."""
        messages, self._messages = self._messages, None
        if messages is not None:
            messages.close()
            self._assembler.drop_incomplete()


class TopicSplit(NamedTuple):
    """An input split: the appends that begin at ``start`` or later, and below ``end``.

    ``stable`` is the last stable offset of the log.
    """

    cluster: TopicCluster
    start: int
    end: int
    stable: int

    def read(self) -> Iterator[Batch]:
        topic = str(self.cluster.address)
        assembler = Assembler(topic, self.start, is_part=True)
        with closing(self.cluster.messages(self.start)) as messages:
            for message in messages.until(self.stable):
                if message.offset >= self.end and assembler.is_between_appends:
                    return
                for event in assembler.add(message):
                    if isinstance(event, Appended):
                        yield event.batch
        deque(assembler.reach(self.stable), maxlen=0)


def why_unfit(facts: TopicFacts) -> str | None:
    """Why a topic cannot hold a log, or None."""
    settings = facts.settings
    policies = {word.strip() for word in settings.get("cleanup.policy", "").split(",")}
    if facts.partitions != 1:
        return f"it has {counted(facts.partitions, 'partition')}; give a topic with one partition"
    if "compact" in policies:
        return (
            "the topic is compacted, which removes records; give a topic with cleanup.policy=delete"
        )
    for key in ("retention.ms", "retention.bytes"):
        if "delete" in policies and settings.get(key) not in _NO_LIMIT:
            return (
                f"its {key} is {settings.get(key)}, which deletes records; give a topic with"
                f" {key}=-1"
            )
    return None
