"""A change larger than a batch takes effect as a whole or not at all, whatever interrupts it."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from metalog import Replica
from metalog.controller import transaction
from metalog.controller.migration import Migration, migrate
from metalog.controller.result import ControllerResult
from metalog.errors import CorruptLog, InvalidRequest, LogFenced, NotController
from metalog.image.metadata import MetadataImage
from metalog.log.folder.directory import DirectoryLog
from metalog.log.folder_writer.writer import WritableDirectoryLog
from metalog.records.messages import (
    AbortTransactionRecord,
    BeginTransactionRecord,
    EndTransactionRecord,
    FeatureLevelRecord,
    RemoveAccessControlEntryRecord,
)
from metalog.scram import ScramCredential, ScramMechanism
from tests.support.disk.memory_disk import MemoryDisk
from tests.support.disk.tiny_log import Recorder, ace, ids
from tests.support.disk.written_log import batches_in, copied, formatted

MANY = range(1000, 1050)
PATIENCE_S = 60
CREDENTIAL = ("a", ScramMechanism.SCRAM_SHA_256, ScramCredential(b"s", b"k" * 32, b"v" * 32, 4096))


@pytest.fixture(autouse=True)
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transaction, "RECORDS_PER_BATCH", 10)


def create_many(image: MetadataImage) -> ControllerResult[int]:
    assert not ids(image) & set(MANY)
    return ControllerResult([(ace(number), 0) for number in MANY], len(MANY))


def create(number: int) -> object:
    return lambda image: ControllerResult([(ace(number), 0)], number)


@contextmanager
def in_one_group(replica: Replica) -> Iterator[None]:
    """Holds the writer, so that all changes that are submitted meanwhile arrive together."""
    entered, leave = threading.Event(), threading.Event()

    def hold(image: MetadataImage) -> ControllerResult[None]:
        entered.set()
        leave.wait(PATIENCE_S)
        return ControllerResult((), None)

    replica.submit(hold)
    entered.wait(PATIENCE_S)
    yield
    leave.set()


def test_its_batches_stand_together_and_are_published_at_once(tmp_path: Path) -> None:
    folder = formatted(tmp_path / "d")
    seen = Recorder()
    with Replica(WritableDirectoryLog(folder), publishers=[seen]) as replica:
        with in_one_group(replica):
            before = replica.submit(create(7))  # type: ignore[arg-type]
            whole = replica.submit_transaction("many", create_many)
            after = replica.submit(create(8))  # type: ignore[arg-type]
        assert [each.result(PATIENCE_S) for each in (before, whole, after)] == [7, 50, 8]
    written = [list(map(type, batch.messages())) for batch in batches_in(folder)][-8:]
    assert [len(batch) for batch in written] == [1, 10, 10, 10, 10, 10, 2, 1]
    assert written[1][0] is BeginTransactionRecord
    assert written[6][-1] is EndTransactionRecord
    counts = [len(ids(image) & set(MANY)) for _, image, _ in seen.got]
    assert set(counts) == {0, len(MANY)}


@pytest.mark.parametrize("broken_at", range(6))
@pytest.mark.parametrize("what", ["write", "sync"])
def test_broken_off_nothing_of_it_is_there_and_a_second_run_does_it(
    tmp_path: Path, broken_at: int, what: str
) -> None:
    folder = formatted(tmp_path / "d")
    disk = MemoryDisk.of(folder)
    with Replica(WritableDirectoryLog(folder, files=disk)) as replica:
        replica.submit(create(7)).result(PATIENCE_S)  # type: ignore[arg-type]
        disk._fail_at = len(disk.steps) + 2 * broken_at + (what == "sync")
        with pytest.raises(LogFenced):
            replica.submit_transaction("many", create_many).result(PATIENCE_S)
        with pytest.raises(LogFenced):
            replica.submit(create(8)).result(PATIENCE_S)  # type: ignore[arg-type]
        assert ids(replica.image) >= {7}
        assert not ids(replica.image) & set(MANY)
    disk._fail_at = None
    with Replica(WritableDirectoryLog(folder, files=disk)) as again:
        is_whole = what == "sync" and broken_at == 5
        again.submit(create(9)).result(PATIENCE_S)  # type: ignore[arg-type]
        assert ids(again.image) & {7, 9, *MANY} == {7, 9, *(MANY if is_whole else ())}
        if not is_whole:
            again.submit_transaction("many", create_many).result(PATIENCE_S)
        assert ids(again.image) >= {7, 9, *MANY}


def test_an_older_metadata_version_gets_one_batch_or_nothing(tmp_path: Path) -> None:
    folder = copied("basic-4.3", tmp_path / "d")
    with Replica(WritableDirectoryLog(folder)) as replica:
        older = [(FeatureLevelRecord("metadata.version", 11), 0)]
        replica.submit(lambda image: ControllerResult(older, None)).result(PATIENCE_S)
        before = len(batches_in(folder))
        with pytest.raises(InvalidRequest, match=r"metadata\.version 3\.5-IV2 has no transactions"):
            replica.submit_transaction("many", create_many).result(PATIENCE_S)
        assert len(batches_in(folder)) == before
        replica.submit_transaction("one", create(7)).result(PATIENCE_S)  # type: ignore[arg-type]
    assert batches_in(folder)[-1].messages() == [ace(7)]


def test_what_contradicts_the_image_is_not_begun(tmp_path: Path) -> None:
    folder = formatted(tmp_path / "d")
    with Replica(WritableDirectoryLog(folder)) as replica:
        wrong = [*create_many(replica.image).records, (RemoveAccessControlEntryRecord(), 0)]
        with pytest.raises(CorruptLog, match="does not exist"):
            replica.submit_transaction("", lambda image: ControllerResult(wrong, None)).result(
                PATIENCE_S
            )
        nothing = replica.submit_transaction("", lambda image: ControllerResult((), "nothing"))
        assert nothing.result(PATIENCE_S) == "nothing"
    types = {type(message) for batch in batches_in(folder)[2:] for message in batch.messages()}
    assert not types & {BeginTransactionRecord, AbortTransactionRecord}
    with Replica(DirectoryLog(folder)) as reader, pytest.raises(NotController):
        reader.submit_transaction("", create_many)


def test_users_need_a_metadata_version_that_has_them(tmp_path: Path) -> None:
    folder = formatted(tmp_path / "d")
    with Replica(WritableDirectoryLog(folder)) as replica:
        image = replica.submit(lambda image: ControllerResult((), image)).result(PATIENCE_S)
    old = image._replace(features=image.features._replace(metadata_version=10))
    change = Migration(credentials=[CREDENTIAL])
    assert len(migrate(image, change, lambda size: bytes(size)).records) == 1
    with pytest.raises(InvalidRequest, match=r"3\.5-IV1 has no SCRAM users; raise it to 3\.5-IV2"):
        migrate(old, change, lambda size: bytes(size))


@pytest.mark.parametrize("error", [OSError("disk"), LogFenced("another writer")])
def test_after_a_failed_batch_no_later_change_of_the_group_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    """An acknowledged change is durable, so none may be appended into the open transaction."""
    log = WritableDirectoryLog(formatted(tmp_path / "d"))
    appended = log.append
    attempts: list[int] = []

    def failing(epoch: int, records: object) -> int:
        attempts.append(len(attempts))
        if attempts[-1] == 2:
            raise error
        return appended(epoch, records)  # type: ignore[arg-type]

    with Replica(log) as replica:
        with in_one_group(replica):
            monkeypatch.setattr(log, "append", failing)
            changes = [
                replica.submit_transaction("many", create_many),
                replica.submit(create(8)),  # type: ignore[arg-type]
                replica.submit_transaction("more", create_many),
            ]
        for each in changes:
            assert isinstance(each.exception(PATIENCE_S), LogFenced)
    assert len(attempts) == 3
