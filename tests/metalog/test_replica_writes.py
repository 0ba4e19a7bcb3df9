"""An acknowledged change is durable and in force; a failed write is reported."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from pathlib import Path

import pytest

from authorizer import Action, Operation, RequestContext, StandardAuthorizer, topic
from metalog import Replica
from metalog.acl import AccessControlEntryFilter as EntryFilter
from metalog.acl import Acl, AclFilter
from metalog.controller.result import ControllerResult
from metalog.controller.scram import AlterScramRequest, ScramDeletion, ScramUpsertion
from metalog.errors import (
    CorruptLog,
    ErrorCode,
    InvalidRequest,
    InvalidTarget,
    LogFenced,
    NotController,
    Unanswered,
)
from metalog.ids import Uuid
from metalog.image.metadata import MetadataImage
from metalog.image.state.acls import acl_of
from metalog.log.folder.directory import DirectoryLog
from metalog.log.folder_writer.writer import WritableDirectoryLog
from metalog.log.memory import WritableMemoryLog
from metalog.records.acl_codes import record_of
from metalog.records.messages import (
    AbortTransactionRecord,
    BeginTransactionRecord,
    EndTransactionRecord,
    FeatureLevelRecord,
    LeaderChangeMessage,
    NoOpRecord,
    RemoveAccessControlEntryRecord,
)
from tests.support.disk.memory_disk import MemoryDisk
from tests.support.disk.tiny_log import BEGIN, ace, ids
from tests.support.disk.written_log import FIRST_ACL, batches_in, copied, formatted, image_in
from tests.support.suite.waiting import eventually
from tests.support.worlds.small_acls import allow

WHO = "anyone"


def acl(name: str, principal: str = "User:app") -> Acl:
    return allow(name, principal=principal)


def done(future: Future) -> object:  # type: ignore[type-arg]
    return future.result(timeout=60)


@contextmanager
def held(replica: Replica) -> Iterator[None]:
    """Requests made in the block form one group."""
    entered, leave = threading.Event(), threading.Event()

    def hold(image: MetadataImage) -> ControllerResult[None]:
        entered.set()
        leave.wait(60)
        return ControllerResult((), None)

    first = replica.submit(hold)
    entered.wait(60)
    yield
    leave.set()
    done(first)


def test_the_first_writer_writes_what_kafkas_first_controller_writes(tmp_path: Path) -> None:
    folder = formatted(tmp_path / "d")
    with Replica(WritableDirectoryLog(folder)) as replica:
        [result] = replica.create_acls(WHO, [acl("t")])
        assert done(result) == (ErrorCode.NONE, None)
        assert len(replica.image.acls) == 2
    leader, bootstrap, change = batches_in(folder)
    assert isinstance(leader.messages()[0], LeaderChangeMessage)
    assert bootstrap.messages() == [
        BeginTransactionRecord(name="Bootstrap records"),
        FeatureLevelRecord("metadata.version", 30),
        FIRST_ACL,
        EndTransactionRecord(),
    ]
    assert [acl_of(message) for message in change.messages()] == [acl("t")]  # type: ignore[arg-type]


def test_the_next_writer_writes_no_bootstrap_records(tmp_path: Path) -> None:
    folder = copied("basic-4.3", tmp_path / "d")
    before = batches_in(folder)
    with Replica(WritableDirectoryLog(folder)) as replica:
        done(replica.submit(lambda image: ControllerResult((), None)))
    [leader] = batches_in(folder)[len(before) :]
    assert leader.is_control


@pytest.mark.parametrize("has_version", [False, True])
def test_an_open_transaction_is_aborted(tmp_path: Path, has_version: bool) -> None:
    folder = copied("basic-4.3", tmp_path / "d") if has_version else formatted(tmp_path / "d")
    log = WritableDirectoryLog(folder)
    log.append(log.claim(), [(BEGIN, 0), (ace(77), 0)])
    log.close()
    with Replica(WritableDirectoryLog(folder)) as replica:
        done(replica.submit(lambda image: ControllerResult((), None)))
        assert 77 not in ids(replica.image)
    written = [type(message) for message in batches_in(folder)[-1].messages()]
    assert written[0] is AbortTransactionRecord
    assert len(written) == (1 if has_version else 5)


@pytest.mark.parametrize("has_version", [False, True])
@pytest.mark.parametrize("level", [12, 13])
def test_an_open_transaction_that_cannot_be_aborted_leaves_the_log_as_it_is(
    tmp_path: Path, has_version: bool, level: int
) -> None:
    """Kafka: "metadata.version 3.6-IV0 does not support transactions. Cannot continue"."""
    folder = formatted(tmp_path / "d", level=level)
    log = WritableDirectoryLog(folder)
    epoch = log.claim()
    if has_version:
        log.append(epoch, [(FeatureLevelRecord("metadata.version", level), 0)])
    begun = log.append(epoch, [(BEGIN, 0), (ace(77), 0)]) - 2
    log.close()
    with Replica(WritableDirectoryLog(folder)) as replica:
        change = replica.submit(lambda image: ControllerResult([(NoOpRecord(), 0)], None))
        if level == 13:
            done(change)
        else:
            refusal = f"offset {begun}: .* 3.6-IV0 has no transactions"
            with pytest.raises(CorruptLog, match=refusal):
                done(change)
        assert 77 not in ids(replica.image)
    after = [message for batch in batches_in(folder) for message in batch.messages()]
    followed = [*map(type, after[begun + 2 :])]
    assert followed[:1] == [LeaderChangeMessage]
    assert (followed[1:] == []) is (level == 12)


def test_one_group_is_one_batch_and_one_sync(tmp_path: Path) -> None:
    folder = formatted(tmp_path / "d")
    disk = MemoryDisk.of(folder)
    with Replica(WritableDirectoryLog(folder, files=disk)) as replica:
        with held(replica):
            before = len(disk.steps)
            waiting = [replica.create_acls(WHO, [acl(f"t{n}"), acl("t0")]) for n in range(50)]
        for pair in waiting:
            assert [done(each) for each in pair] == [(ErrorCode.NONE, None)] * 2
        assert disk.steps[before:] == [f"write {0:020d}.log", f"sync {0:020d}.log"]
        assert len(replica.image.acls) == 51


def test_each_of_a_group_sees_those_before_it(tmp_path: Path) -> None:
    folder = formatted(tmp_path / "d")
    with Replica(WritableDirectoryLog(folder)) as replica:
        entry = AclFilter(entry=EntryFilter(principal="User:app"))
        with held(replica):
            [created] = replica.create_acls(WHO, [acl("t")])
            [again] = replica.create_acls(WHO, [acl("t")])
            [deleted] = replica.delete_acls(WHO, [entry])
            [bad] = replica.create_acls(WHO, [acl("")])
            [gone] = replica.delete_acls(WHO, [entry])
            [anew] = replica.create_acls(WHO, [acl("t")])
        assert done(created) == done(again) == done(anew) == (ErrorCode.NONE, None)
        assert done(deleted).deleted == [acl("t")]  # type: ignore[attr-defined]
        assert done(gone).deleted == []  # type: ignore[attr-defined]
        assert done(bad) == (ErrorCode.INVALID_REQUEST, "Invalid empty resource name")
        assert list(replica.image.acls.by_id.values()).count(acl("t")) == 1
    assert len(batches_in(folder)[-1].messages()) == 3


def test_scram_users_are_altered(tmp_path: Path) -> None:
    folder = formatted(tmp_path / "d")
    with Replica(WritableDirectoryLog(folder)) as replica:
        upsert = ScramUpsertion("alice", 1, 4096, b"salt", b"s" * 32)
        results = done(replica.alter_scram(AlterScramRequest(upsertions=[upsert])))
        assert results == {"alice": (ErrorCode.NONE, None)}
        assert replica.image.scram.credential(1, "alice") is not None  # type: ignore[arg-type]
        missing = AlterScramRequest(deletions=[ScramDeletion("bob", 1)])
        results = done(replica.alter_scram(missing))
        assert results["bob"].code is ErrorCode.RESOURCE_NOT_FOUND  # type: ignore[index]


def test_the_authorizer_decides_by_what_it_created(tmp_path: Path) -> None:
    folder = formatted(tmp_path / "d")
    authorizer = StandardAuthorizer()
    context = RequestContext(principal="User:app", host="10.0.0.1")
    question = Action(Operation.READ, topic("t"))
    with Replica(WritableDirectoryLog(folder), publishers=[authorizer]):
        [created] = authorizer.create_acls(context, [acl("t")])
        assert not done(created)
        assert authorizer.is_allowed(context, question)
        [deleted] = authorizer.delete_acls(context, [AclFilter(entry=EntryFilter("User:app"))])
        assert done(deleted).deleted == [acl("t")]  # type: ignore[attr-defined]
        assert not authorizer.is_allowed(context, question)
    with pytest.raises(NotController):
        authorizer.create_acls(context, [acl("t")])


def test_an_authorizer_without_a_writer_says_so() -> None:
    authorizer = StandardAuthorizer.from_acls([])
    with pytest.raises(NotController, match="ACLs cannot be changed here"):
        authorizer.create_acls(RequestContext("User:a", "h"), [acl("t")])


def test_a_failed_write_fails_its_group_and_all_after_it(tmp_path: Path) -> None:
    folder = formatted(tmp_path / "d")
    disk = MemoryDisk.of(folder)
    with Replica(WritableDirectoryLog(folder, files=disk)) as replica:
        done(replica.create_acls(WHO, [acl("kept")])[0])
        with held(replica):
            disk._fail_at = len(disk.steps) + 1
            waiting = [*replica.create_acls(WHO, [acl("a")]), *replica.create_acls(WHO, [acl("b")])]
            [unchanged] = replica.create_acls(WHO, [acl("kept")])
        for future in (*waiting, unchanged, *replica.create_acls(WHO, [acl("c")])):
            with pytest.raises(LogFenced, match="No space left"):
                done(future)
        assert acl("kept") in replica.image.acls.by_id.values()
        assert len(replica.image.acls) == 2


def test_a_request_that_is_too_large_fails_alone(tmp_path: Path) -> None:
    folder = formatted(tmp_path / "d")
    with Replica(WritableDirectoryLog(folder)) as replica:
        with held(replica):
            [small] = replica.create_acls(WHO, [acl("small")])
            large = [acl(f"{number:0>32000}") for number in range(300)]
            [huge, *_] = replica.create_acls(WHO, large)
        assert not done(small)
        with pytest.raises(InvalidRequest, match="at most 8388608"):
            done(huge)
        assert not done(replica.create_acls(WHO, [acl("next")])[0])


def test_a_change_that_contradicts_the_image_fails_alone_and_is_not_written(tmp_path: Path) -> None:
    folder = formatted(tmp_path / "d")
    with Replica(WritableDirectoryLog(folder)) as replica:
        with held(replica):
            bad = replica.submit(
                lambda image: ControllerResult([(RemoveAccessControlEntryRecord(), 0)], None)
            )
            unknown = replica.submit(
                lambda image: ControllerResult(
                    [(record_of(Uuid(b"u" * 16), acl("bad"))._replace(resource_type=99), 0)], None
                )
            )
            raising = replica.submit(lambda image: 1 / 0)  # type: ignore[arg-type, return-value]
            [good] = replica.create_acls(WHO, [acl("good \ufffd")])
        with pytest.raises(CorruptLog, match="does not exist"):
            done(bad)
        with pytest.raises(CorruptLog, match=r"has a resource type.* \(codes 99, 3, 3, 3\)"):
            done(unknown)
        with pytest.raises(ZeroDivisionError):
            done(raising)
        assert not done(good)


def test_what_may_not_be_written_is_refused_at_the_start(tmp_path: Path) -> None:
    folder = copied("quorum-4.3/node-11", tmp_path / "d")
    with pytest.raises(InvalidTarget, match="one of 3 voters"):
        Replica(WritableDirectoryLog(folder)).start()


def test_a_reader_changes_nothing(tmp_path: Path) -> None:
    with (
        Replica(DirectoryLog(copied("basic-4.3", tmp_path / "d"))) as replica,
        pytest.raises(NotController, match="only reads"),
    ):
        replica.create_acls(WHO, [acl("t")])


def test_who_still_waits_when_it_closes_is_told(tmp_path: Path) -> None:
    folder = formatted(tmp_path / "d")
    replica = Replica(WritableDirectoryLog(folder))
    replica.start()
    with held(replica):
        [late] = replica.create_acls(WHO, [acl("late")])
        closing = threading.Thread(target=replica.close)
        closing.start()
        assert eventually(lambda: replica.create_acls(WHO, [acl("later")])[0].done())
    closing.join()
    with pytest.raises(LogFenced, match="closed"):
        done(late)
    with pytest.raises(LogFenced, match="closed"):
        done(replica.create_acls(WHO, [acl("later")])[0])
    assert acl("late") not in image_in(folder).acls.by_id.values()
    WritableDirectoryLog(folder).claim()


def test_many_callers_at_once_lose_nothing(tmp_path: Path) -> None:
    folder = formatted(tmp_path / "d")
    acknowledged: list[str] = []

    def work(worker: int) -> None:
        for number in range(25):
            name = f"{worker}-{number}"
            if not done(replica.create_acls(WHO, [acl(name)])[0]):
                acknowledged.append(name)
                assert acl(name) in replica.image.acls.by_id.values()

    with Replica(WritableDirectoryLog(folder)) as replica:
        workers = [threading.Thread(target=work, args=(number,)) for number in range(8)]
        for each in workers:
            each.start()
        for each in workers:
            each.join()
        last = replica.image
    assert len(acknowledged) == 200
    found = image_in(folder)
    assert {each.resource_name for each in found.acls.by_id.values()} >= set(acknowledged)
    assert found.acls == last.acls
    assert len(batches_in(folder)) < 200


def test_a_replica_is_active_from_its_claim_on() -> None:
    """A patient one may wait long for a log that another process holds."""

    class Unreached(WritableMemoryLog):
        can_be_claimed = False

        def claim(self) -> int:
            if not self.can_be_claimed:
                raise Unanswered("no answer")
            return super().claim()

    log = Unreached()
    replica = Replica(log, is_patient=True)
    assert not replica.is_active
    with replica:
        assert not replica.is_active
        log.can_be_claimed = True
        assert eventually(lambda: replica.is_active)
