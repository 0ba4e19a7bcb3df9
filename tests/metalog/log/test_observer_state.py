"""Following a quorum's leader: which controller an observer asks, and how it handles the answer.
The answers are those that Kafka 4.3.1 gave; for a leader with another log they follow KIP-595's
rules."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metalog.errors import CorruptLog, InvalidSource
from metalog.hosts.host_port import Address
from metalog.ids import SnapshotId
from metalog.loader import Diverged, Loader, Ready
from metalog.log.quorum.observer_state import Follower, FollowVerdict
from metalog.ports import Appended, Gap, HighWatermark, LogEvent, SnapshotNeeded, Truncated
from metalog.records.batch import Batch, encode_batch
from metalog.records.messages import LeaderChangeMessage
from metalog.wire.fetch import EpochLeader, Fetched, FetchPosition
from tests.support.disk.tiny_log import NOTHING, Recorder, ace, batch, ids, loaded, uuid

A, B, C = (Address(name, 9093) for name in "abc")
NOT_LEADER, FENCED, UNKNOWN_EPOCH = 6, 74, 75
LEADS, ASK, PAUSE = FollowVerdict.LEADS, FollowVerdict.ASK, FollowVerdict.PAUSE


def refusal(code: int, id: int, epoch: int, endpoint: Address | None = None) -> Fetched:
    return Fetched(code, EpochLeader(id, epoch), {} if endpoint is None else {id: endpoint})


def records(*batches: Batch) -> bytes:
    return b"".join(map(encode_batch, batches))


def answer(mark: int, *batches: Batch, epoch: int = 1, **more: Any) -> Fetched:
    return Fetched(0, EpochLeader(1, epoch), {1: A}, mark, 0, records=records(*batches), **more)


def led(*controllers: Address) -> Follower:
    """A follower that has found its leader: the first of ``controllers``, in epoch 1."""
    follower = Follower(controllers)
    assert follower.handle_response(controllers[0], refusal(FENCED, 1, 1, controllers[0])) is ASK
    assert follower.handle_response(controllers[0], answer(-1)) is LEADS
    return follower


def test_the_first_one_asked_tells_who_leads() -> None:
    follower = Follower([A, B])
    assert (follower.target, follower.fetch_position) == (A, FetchPosition(0, 0, 0, -1))
    assert follower.handle_response(A, refusal(FENCED, 3, 5, C)) is ASK
    assert (follower.target, follower.fetch_position) == (C, FetchPosition(0, 0, 5, -1))


def test_a_new_leader_is_gone_to() -> None:
    follower = led(A, B)
    assert follower.handle_response(A, refusal(NOT_LEADER, 2, 2, B)) is ASK
    assert follower.target == B
    assert follower.fetch_position.leader_epoch == 2


def test_a_leader_that_resigned_and_still_names_itself_is_left() -> None:
    follower = led(A, B, C)
    assert follower.handle_response(A, refusal(NOT_LEADER, 1, 1, A)) is ASK
    assert follower.target == B
    assert follower.handle_response(B, refusal(NOT_LEADER, 1, 1, A)) is ASK
    assert follower.target == C
    assert follower.handle_response(C, refusal(NOT_LEADER, 1, 1, A)) is PAUSE
    assert follower.target == A
    assert follower.handle_response(A, refusal(FENCED, 2, 3, B)) is ASK
    assert follower.target == B


def test_who_does_not_answer_is_left_for_the_next_until_all_were_asked() -> None:
    follower = Follower([A, B, C])
    assert [(follower.target, follower.note_failure(follower.target)) for _ in range(4)] == [
        (A, ASK),
        (B, ASK),
        (C, PAUSE),
        (A, ASK),
    ]


def test_a_leader_that_cannot_be_reached_where_it_says_is_asked_where_we_were_told() -> None:
    """Behind a forwarded port the advertised address leads nowhere."""
    follower = Follower([A])
    assert follower.handle_response(A, refusal(FENCED, 1, 4, C)) is ASK
    assert follower.target == C
    follower.note_failure(C)
    for _ in range(3):
        assert follower.handle_response(follower.target, refusal(FENCED, 1, 4, C)) in (ASK, PAUSE)
        if follower.target == A:
            break
        follower.note_failure(C)
    assert follower.handle_response(A, answer(-1, epoch=4)) is LEADS
    assert follower.target == A


def test_before_version_17_no_address_is_told() -> None:
    follower = Follower([A, B])
    assert follower.handle_response(A, refusal(NOT_LEADER, 2, 7)) is ASK
    assert (follower.target, follower.fetch_position.leader_epoch) == (A, 7)
    assert follower.handle_response(A, refusal(NOT_LEADER, 2, 7)) is ASK
    assert follower.target == B


def test_an_older_leader_is_not_believed() -> None:
    follower = led(A, B)
    follower.handle_response(A, refusal(NOT_LEADER, 2, 9, B))
    follower.note_failure(B)
    follower.handle_response(follower.target, refusal(UNKNOWN_EPOCH, 1, 1, A))
    assert follower.leader == EpochLeader(2, 9)


@pytest.mark.parametrize(
    ("code", "said"),
    [
        (31, "a:9093: following the log needs CLUSTER_ACTION on the cluster; grant it"),
        (104, "a:9093 is of another cluster; give the controllers of one quorum"),
        (100, "a:9093: the controller refuses to be followed: UNKNOWN_TOPIC_ID"),
        (20_077, "a:9093: the controller refuses to be followed: error 20077"),
    ],
)
def test_what_no_other_answer_will_mend_is_said(code: int, said: str) -> None:
    follower = Follower([A, B])
    with pytest.raises(InvalidSource) as raised:
        follower.handle_response(A, Fetched(code, EpochLeader(), {}))
    assert str(raised.value) == said
    assert follower.target == B


FIRST = batch(0, LeaderChangeMessage(leader_id=1), epoch=1)
SECOND = batch(1, ace(1), ace(2))
THIRD = batch(3, ace(3))


def test_what_is_read_and_how_far_it_is_committed() -> None:
    follower = led(A)
    assert follower.read(A, answer(3, FIRST, SECOND)) == [
        HighWatermark(3),
        *map(Appended, named(FIRST, SECOND)),
    ]
    assert follower.fetch_position == FetchPosition(3, 1, 1, 3)
    assert follower.read(A, answer(3, THIRD)) == [*map(Appended, named(THIRD))]
    assert follower.fetch_position == FetchPosition(4, 1, 1, 3)
    assert follower.read(A, answer(4)) == [HighWatermark(4)]
    assert follower.read(A, answer(4)) == []


def named(*batches: Batch) -> list[Batch]:
    """Batches as read: each with its sender and its first byte in the answer."""
    found, at = [], 0
    for each in batches:
        found.append(each._replace(file=str(A), position=at))
        at += each.size
    return found


def test_a_batch_that_is_cut_off_is_asked_for_again() -> None:
    follower = led(A)
    cut = answer(4, FIRST, SECOND)
    follower.read(A, cut._replace(records=cut.records[:-1]))
    assert follower.fetch_position.offset == 1


def test_reading_from_inside_a_batch_gives_it_whole() -> None:
    follower = led(A)
    follower.seek(2)
    assert follower.fetch_position == FetchPosition(2, 1, 1, -1)
    events = follower.read(A, answer(4, FIRST, SECOND, THIRD))
    assert [each.batch.base_offset for each in events if isinstance(each, Appended)] == [1, 3]


@pytest.mark.parametrize(
    ("sent", "said"),
    [
        (records(FIRST)[:-1], "an answer without one whole batch"),
        (records(FIRST)[:-1] + b"\x01", "checksum"),
        (records(SECOND), "the answer begins after this offset, at offset 1"),
        (records(FIRST, THIRD), "offset 3 where 1 must follow"),
        (records(FIRST, batch(1, NOTHING, epoch=2)), "rises from 1 to 2 without a leader change"),
    ],
)
def test_what_is_no_log_stops_it_and_who_sent_it_is_named(sent: bytes, said: str) -> None:
    follower = led(A)
    with pytest.raises(CorruptLog, match=f"a:9093, offset .*{said}"):
        follower.read(A, answer(9)._replace(records=sent))


def test_a_log_that_is_there_from_its_beginning_is_read_though_a_snapshot_is_offered() -> None:
    follower = led(A)
    offer = answer(4, snapshot=SnapshotId(3, 1))
    assert follower.read(A, offer) == [Gap(0, 1, lost=False), HighWatermark(4)]
    assert follower.fetch_position == FetchPosition(1, 1, 1, 4)
    follower.read(A, answer(4, SECOND, THIRD))
    assert follower.position == 4


def test_a_log_without_its_beginning_begins_with_a_snapshot() -> None:
    follower = led(A)
    offer = answer(9, snapshot=SnapshotId(3, 1))._replace(log_start=2)
    assert follower.read(A, offer) == [SnapshotNeeded(SnapshotId(3, 1)), HighWatermark(9)]
    assert follower.fetch_position == FetchPosition(3, 1, 1, 9)
    with pytest.raises(CorruptLog, match="offset 5 where 3 must follow"):
        follower.read(A, answer(9, batch(5, ace(3))))


def test_below_where_the_reading_began_it_is_begun_again() -> None:
    follower = led(A)
    follower.seek(50)
    assert follower.read(A, answer(4, diverging=(1, 4))) == [Truncated(4)]
    assert follower.fetch_position == FetchPosition(4, 1, 1, -1)


def test_what_was_never_committed_is_not_shown_while_it_is_truncated_step_by_step() -> None:
    """Where the logs diverge, the leader's mark belongs to its own log alone, as in Kafka."""
    lost = batch(1, ace(7), epoch=1), batch(2, LeaderChangeMessage(leader_id=3), epoch=3)
    kept = batch(0, LeaderChangeMessage(leader_id=2), epoch=2), batch(1, ace(8), epoch=2)
    follower, recorder = led(A), Recorder()
    loader = Loader([recorder])
    asked = [
        answer(0, FIRST, *lost),
        answer(2, diverging=(2, 2)),
        answer(2, diverging=(0, 0)),
        answer(2, *kept),
    ]
    for each in asked:
        for event in follower.read(A, each):
            loader.handle(event)
    shown = [set(delta.acls.changes) for delta, _, _ in recorder.got if delta.acls]
    assert shown == [{uuid(8)}]


class Leading:
    """A leading voter: its log, and KIP-595's answer to a Fetch."""

    def __init__(self, epoch: int, log: Sequence[Batch], mark: int) -> None:
        self.epoch = epoch
        self.log = list(log)
        self.mark = mark

    @property
    def end(self) -> int:
        return self.log[-1].next_offset

    def answer(self, place: FetchPosition, most: int) -> Fetched:
        leader, endpoints = EpochLeader(self.epoch, self.epoch), {self.epoch: A}
        if place.leader_epoch != self.epoch:
            code = FENCED if place.leader_epoch < self.epoch else UNKNOWN_EPOCH
            return Fetched(code, leader, endpoints)
        diverging = None
        if place.offset:
            epoch = max(
                (each.epoch for each in self.log if each.epoch <= place.last_epoch), default=0
            )
            end = max((each.next_offset for each in self.log if each.epoch <= epoch), default=0)
            if epoch != place.last_epoch or end < place.offset:
                diverging = (epoch, end)
        sent = [each for each in self.log if each.base_offset >= place.offset][:most]
        return Fetched(
            0,
            leader,
            endpoints,
            self.mark,
            0,
            diverging,
            records=b"" if diverging else records(*sent),
        )


@st.composite
def successions(draw: st.DrawFn) -> list[Leading]:
    """Leaders, each with the committed records of its predecessors, some uncommitted ones, and its
    own."""
    leaders: list[Leading] = []
    committed: list[Batch] = []
    logs: list[list[Batch]] = [[]]
    for epoch in range(1, draw(st.integers(1, 5)) + 1):
        prefix = draw(st.sampled_from([log for log in logs if log[: len(committed)] == committed]))
        log = prefix[: draw(st.integers(len(committed), len(prefix)))]
        for number in range(draw(st.integers(1, 4))):
            base = log[-1].next_offset if log else 0
            record = (
                LeaderChangeMessage(leader_id=epoch) if number == 0 else ace(100 * epoch + number)
            )
            log = [*log, batch(base, record, epoch=epoch)]
            logs.append(log)
        can_commit = draw(st.booleans())
        if can_commit:
            own = next(at for at, each in enumerate(log) if each.epoch == epoch)
            committed = log[: draw(st.integers(own + 1, len(log)))]
        leaders.append(Leading(epoch, log, committed[-1].next_offset if committed else 0))
    return leaders


@given(successions(), st.data())
def test_whoever_led_an_observer_ends_with_the_last_leaders_log(
    leaders: list[Leading], data: st.DataObject
) -> None:
    follower, seen = Follower([A]), []
    loader = Loader([Recorder()])

    def fetch(leader: Leading, most: int) -> None:
        reply = leader.answer(follower.fetch_position, most)
        if follower.handle_response(A, reply) is not LEADS:
            return
        for event in follower.read(A, reply):
            take(event)
            loader.handle(event)

    def take(event: LogEvent) -> None:
        if isinstance(event, Appended):
            seen.append(event.batch)
        elif isinstance(event, Truncated):
            seen[:] = [each for each in seen if each.next_offset <= event.offset]

    for leader in leaders:
        for _ in range(data.draw(st.integers(0, 6))):
            fetch(leader, data.draw(st.integers(1, 3)))
            assert loader.image.provenance.offset <= leader.mark
    last = leaders[-1]
    for _ in range(40):
        fetch(last, 3)
    assert [encode_batch(each) for each in seen] == [encode_batch(each) for each in last.log]
    assert loader.position == last.end


@st.composite
def lossy_successions(draw: st.DrawFn) -> list[Leading]:
    """Leaders that perhaps lost committed records. Before its first commit, a leader's mark is -1;
    the last leader has committed a record of its own."""
    leaders: list[Leading] = []
    log: list[Batch] = []
    count = draw(st.integers(2, 5))
    for epoch in range(1, count + 1):
        log = log[: draw(st.integers(0, len(log)))]
        for number in range(draw(st.integers(2, 5))):
            base = log[-1].next_offset if log else 0
            record = (
                LeaderChangeMessage(leader_id=epoch) if number == 0 else ace(100 * epoch + number)
            )
            log = [*log, batch(base, record, epoch=epoch)]
        own = next(at for at, each in enumerate(log) if each.epoch == epoch)
        unknown = [-1] if epoch < count else []
        mark = draw(st.sampled_from([*unknown, *range(own + 2, len(log) + 1)]))
        leaders.append(Leading(epoch, log, mark))
    return leaders


@given(lossy_successions(), st.data())
def test_a_leader_after_data_loss_has_all_that_is_published_while_it_leads_committed(
    leaders: list[Leading], data: st.DataObject
) -> None:
    follower, loader = Follower([A]), Loader()

    def fetch(leader: Leading, most: int) -> None:
        before = loader.image
        reply = leader.answer(follower.fetch_position, most)
        if follower.handle_response(A, reply) is not LEADS:
            return
        try:
            for event in follower.read(A, reply):
                loader.handle(event)
        except Diverged:
            follower.seek(loader.position)
        if loader.image is not before:
            end = loader.image.provenance.offset
            committed = loaded(*leader.log, mark=end)
            assert end <= leader.mark
            assert ids(loader.image) == ids(committed.image)

    for leader in leaders:
        if data.draw(st.booleans()):  # nobody answered for a while, as in a restore
            loader.note_fault(OSError())
            follower.resume(loader.position)
        for _ in range(data.draw(st.integers(0, 6))):
            fetch(leader, data.draw(st.integers(1, 3)))
    for _ in range(40):
        fetch(leaders[-1], 3)
    assert isinstance(loader.state, Ready)
    assert loader.state.offset >= leaders[-1].mark


def test_the_mark_of_a_leader_before_a_loss_does_not_hold_for_what_the_next_leader_sends() -> None:
    """The observer has not reached the old mark, so nothing of its own diverges."""
    follower, loader = led(A), Loader()
    kept = batch(3, LeaderChangeMessage(leader_id=2), epoch=2), batch(4, ace(9), epoch=2)
    answers = [answer(9, FIRST, SECOND), answer(-1, *kept, epoch=2), answer(4, *kept, epoch=2)]
    for each in answers:
        for event in follower.read(A, each):
            loader.handle(event)
    assert (loader.high_watermark, loader.position) == (4, 5)
    assert ids(loader.image) == {1, 2}


def test_a_quorum_that_lost_what_it_had_committed_is_read_anew() -> None:
    loader = Loader()
    follower = led(A)
    for event in follower.read(A, answer(4, FIRST, SECOND, THIRD)):
        loader.handle(event)
    [truncated] = follower.read(A, answer(1, epoch=1, diverging=(1, 1)))
    with pytest.raises(Diverged):
        loader.handle(truncated)
    follower.seek(loader.position)
    assert follower.fetch_position.offset == 0
