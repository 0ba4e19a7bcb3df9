"""What the files alone prove to be committed."""

import pytest

from metalog.errors import CorruptLog
from metalog.ids import SnapshotId
from metalog.log.folder.commit import Agreement, Copy, Stamp, agree, proven_by_one


def copy(
    voter: int | None,
    end: int,
    *,
    forks: tuple[int, int] | None = None,
    start: int = 0,
    snap: int = 0,
    snap_epoch: int = 1,
) -> Copy:
    """A log of one-record batches in epoch 1; ``forks`` are (offset, epoch) of another leader."""
    fork, epoch = forks or (end, 1)
    stamps = [
        Stamp(at, at + 1, *((1, at) if at < fork else (epoch, at + 1000)))
        for at in range(start, end)
    ]
    snapshot = SnapshotId(snap, snap_epoch if snap else 0)
    return Copy(f"node-{voter}", voter, start, end, snapshot, stamps)


def proven(*copies: Copy, voters: tuple[int, ...] = (1, 2, 3)) -> int:
    return agree(copies, voters).committed


def test_the_only_voter_proves_all_of_its_log() -> None:
    arguments = {"end": 9, "newest_snapshot_end": 5}
    assert proven_by_one(voters=[1], node_id=1, **arguments).offset == 9
    assert proven_by_one(voters=[1], node_id=2, **arguments).offset == 5
    assert proven_by_one(voters=[1], node_id=None, **arguments).offset == 5
    assert proven_by_one(voters=[], node_id=1, **arguments).offset == 5
    assert proven_by_one(voters=[1, 2], node_id=1, **arguments).offset == 5
    assert proven_by_one(end=9, newest_snapshot_end=None, voters=[1, 2], node_id=1).offset == 0


def test_a_majority_commits_what_it_shares() -> None:
    assert proven(copy(1, 9), copy(2, 7), copy(3, 5)) == 7
    assert proven(copy(1, 9), copy(2, 7)) == 7
    assert proven(copy(1, 9)) == 0
    assert proven(copy(1, 9), voters=(1,)) == 9
    assert proven(copy(1, 9), copy(2, 7), voters=(1, 2, 3, 4)) == 0


def test_an_observer_has_no_vote() -> None:
    assert proven(copy(1, 9), copy(7, 9)) == 0
    assert proven(copy(1, 9), copy(7, 9), copy(2, 4)) == 4


def test_two_copies_of_one_voter_count_once() -> None:
    assert proven(copy(1, 9), copy(1, 9)) == 0
    assert proven(copy(1, 4), copy(1, 9), copy(2, 7)) == 7


def test_copies_without_a_name_count_for_no_voter() -> None:
    """Each may be an observer's, or a second copy of a voter that counts already."""
    assert proven(copy(1, 9), copy(None, 9), copy(None, 9)) == 0
    assert proven(copy(1, 9), copy(None, 9), copy(2, 7)) == 7


def test_where_nobody_knows_who_votes_only_a_snapshot_proves() -> None:
    agreement = agree([copy(1, 9), copy(2, 9)], ())
    assert (agreement.committed, agreement.why) == (0, "the voters are unknown")
    assert proven(copy(1, 9, snap=3), copy(2, 9), voters=()) == 3


def test_a_snapshot_proves_more_than_a_majority() -> None:
    assert proven(copy(1, 9, snap=8), copy(2, 7)) == 8
    assert proven(copy(1, 9, snap=3), copy(2, 7)) == 7


def test_a_fork_is_named_and_its_losing_side_holds_nothing_committed() -> None:
    agreement = agree([copy(1, 9), copy(2, 8, forks=(5, 2)), copy(3, 8, forks=(5, 2))], (1, 2, 3))
    assert agreement == Agreement(8, agreement.why, (1, 2), agreement.divergences)
    assert [str(each) for each in agreement.divergences] == [
        "node-1 and node-2 differ from offset 5 on",
        "node-1 and node-3 differ from offset 5 on",
    ]


def test_a_log_that_begins_at_a_snapshot_agrees_below_it() -> None:
    assert proven(copy(1, 9), copy(2, 9, start=6, snap=6)) == 9
    assert agree([copy(1, 4), copy(2, 9, start=6, snap=6)], (1, 2, 3)).holders == (1,)


def test_the_order_of_copies_does_not_matter() -> None:
    assert proven(copy(2, 9, start=6, snap=6), copy(1, 9)) == 9
    assert agree([copy(2, 9, start=6, snap=6), copy(1, 4)], (1, 2, 3)).holders == (0,)


def test_a_proof_says_what_it_rests_on() -> None:
    archive = copy(None, 9)._replace(name="archive", is_archive=True)
    for copies, voters, committed, why in (
        ([copy(1, 9), copy(2, 7)], (1, 2, 3), 7, "2 of 3 voters hold the same records up to there"),
        ([copy(1, 9), copy(2, 7)], (1, 2), 7, "2 of 2 voters hold the same records up to there"),
        (
            [copy(1, 9), copy(2, 7), copy(3, 8)],
            (1, 2, 3, 4, 5),
            7,
            "3 of 5 voters hold the same records up to there",
        ),
        ([copy(1, 9, snap=3)], (1, 2, 3), 3, "a snapshot of node-1 ends there"),
        ([copy(1, 5), archive], (1, 2, 3), 9, "archive is an archive"),
        ([copy(1, 9)], (1, 2, 3), 0, "these are the folders of less than a majority of the voters"),
        ([copy(1, 9), copy(2, 9)], (), 0, "the voters are unknown"),
    ):
        assert agree(copies, voters)[:2] == (committed, why)


def test_other_records_in_one_epoch_are_damage() -> None:
    with pytest.raises(CorruptLog, match="offset 5: node-1 and node-2 have different records"):
        proven(copy(1, 9), copy(2, 9, forks=(5, 1)))


def test_an_older_epoch_counts_once_a_majority_holds_the_newest() -> None:
    """As in Raft's figure 8: records that node 3 lacks may still lose to it in an election."""
    leader, follower = copy(1, 5, forks=(4, 4)), copy(2, 4)
    rival = copy(3, 4, forks=(2, 3))
    assert proven(leader, follower, rival) == 2
    assert proven(leader, follower) == 0
    assert agree([leader, follower], (1, 2, 3)).why == (
        "no majority holds a record of the newest epoch"
    )
    assert proven(leader, copy(2, 5, forks=(4, 4)), rival) == 5
    assert proven(leader, follower, copy(3, 3)) == 4, "nobody has a later epoch to win with"


def test_who_has_other_records_below_anothers_snapshot_does_not_hold_what_it_holds() -> None:
    """Node 1 led epoch 1 and wrote records that nobody took; node 2 began at a snapshot."""
    deposed = copy(1, 7)
    for follower in (
        copy(2, 5, start=5, snap=5, snap_epoch=2),
        copy(2, 7, start=5, snap=5, snap_epoch=2, forks=(5, 2)),
    ):
        for copies in ([deposed, follower], [follower, deposed]):
            agreement = agree(copies, (1, 2, 3))
            assert agreement.committed == 5
            assert [copies[place].voter for place in agreement.holders] == [2]
            assert [each.offset for each in agreement.divergences] == [4]


def test_each_proof_by_one_folder_says_what_it_rests_on() -> None:
    arguments = {"end": 9, "voters": [1, 2], "node_id": 1}
    assert proven_by_one(newest_snapshot_end=5, **arguments).why == "a snapshot ends at 5"
    assert proven_by_one(newest_snapshot_end=None, **arguments).why == (
        "no snapshot, and other voters may hold other records"
    )
    only = proven_by_one(end=9, voters=[1], node_id=1, newest_snapshot_end=5)
    assert only.why == "node 1 is the only voter"


def test_the_epoch_before_an_offset_is_that_of_the_record_there() -> None:
    later = copy(2, 9, start=6, snap=6, forks=(6, 3))
    assert [later.epoch_before(offset) for offset in (4, 6, 7, 9)] == [None, 1, 3, 3]
    assert copy(1, 9, forks=(5, 2)).epoch_before(5) == 1


def test_the_longest_of_two_copies_of_one_voter_counts() -> None:
    assert proven(copy(1, 9), copy(1, 4), copy(2, 7)) == 7
    assert proven(copy(1, 9), copy(2, 7), copy(2, 3)) == 7


def test_an_empty_log_holds_nothing_and_differs_from_none() -> None:
    agreement = agree([copy(1, 9), copy(2, 0), copy(3, 0)], (1, 2, 3))
    assert (agreement.committed, agreement.divergences) == (0, ())


def test_a_log_that_ends_where_another_begins_agrees_with_it() -> None:
    for copies in (
        [copy(1, 6), copy(2, 9, start=6, snap=6)],
        [copy(2, 9, start=6, snap=6), copy(1, 6)],
    ):
        agreement = agree(copies, (1, 2, 3))
        assert (agreement.committed, agreement.divergences) == (6, ())
        assert agreement.holders == (0, 1)


def test_two_of_five_folders_are_less_than_a_majority() -> None:
    assert agree([copy(1, 9), copy(2, 9)], (1, 2, 3, 4, 5)).why == (
        "these are the folders of less than a majority of the voters"
    )
