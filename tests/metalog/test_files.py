"""The real disk behind the port of files."""

import os
import stat
from contextlib import suppress
from pathlib import Path
from threading import Thread

import pytest

from metalog.disk.files import (
    LOCAL_FILES,
    is_descriptor,
    opened,
    read_whole,
    replace_whole,
    write_out,
)


def test_what_is_written_is_read(tmp_path: Path) -> None:
    file = LOCAL_FILES.create(tmp_path / "a")
    file.write(b"one")
    file.write(b"two")
    file.sync()
    file.close()
    LOCAL_FILES.rename(tmp_path / "a", tmp_path / "b")
    LOCAL_FILES.sync_folder(tmp_path)
    assert LOCAL_FILES.names(tmp_path) == ["b"]
    assert read_whole(LOCAL_FILES, tmp_path / "b") == b"onetwo"
    LOCAL_FILES.remove(tmp_path / "b")
    assert LOCAL_FILES.names(tmp_path) == []


def test_a_file_is_written_on_from_where_it_is_cut(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"0123456789")
    file = LOCAL_FILES.extend(tmp_path / "a", 4)
    file.write(b"xy")
    file.close()
    assert (tmp_path / "a").read_bytes() == b"0123xy"
    with pytest.raises(FileNotFoundError):
        LOCAL_FILES.extend(tmp_path / "b", 0)


def test_what_root_makes_belongs_to_whom_the_folder_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given: list[tuple[Path, int, int]] = []
    monkeypatch.setattr(os, "geteuid", lambda: 0)

    def fchown(descriptor: int, user: int, group: int) -> None:
        given.append((Path(f"/proc/self/fd/{descriptor}").readlink(), user, group))

    monkeypatch.setattr(os, "fchown", fchown)
    LOCAL_FILES.make_folder(tmp_path / "x" / "y")
    LOCAL_FILES.create(tmp_path / "x" / "a").close()
    for _ in range(2):
        LOCAL_FILES.lock(tmp_path / ".lock").close()
    owner = tmp_path.stat()
    paths = (tmp_path / "x", tmp_path / "x" / "y", tmp_path / "x" / "a", tmp_path / ".lock")
    assert given == [(path, owner.st_uid, owner.st_gid) for path in paths]


def test_nothing_is_made_through_a_link(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").write_bytes(b"of somebody else")
    (tmp_path / "a").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(OSError, match="symbolic links"):
        LOCAL_FILES.create(tmp_path / "a")
    with pytest.raises(OSError, match="symbolic links"):
        LOCAL_FILES.lock(tmp_path / "a")
    assert (tmp_path / "elsewhere").read_bytes() == b"of somebody else"


def test_a_file_that_was_left_over_gives_nothing_of_itself(tmp_path: Path) -> None:
    """Neither its mode, nor a hard link to it, nor an open descriptor of it."""
    left_over = tmp_path / ".a.tmp"
    left_over.write_bytes(b"")
    left_over.chmod(0o666)
    (tmp_path / "second name").hardlink_to(left_over)
    mask = os.umask(0o077)
    try:
        with left_over.open("rb") as kept:
            replace_whole(LOCAL_FILES, tmp_path / "a", b"secret")
            assert kept.read() == b""
    finally:
        os.umask(mask)
    assert (tmp_path / "second name").read_bytes() == b""
    assert (tmp_path / "a").stat().st_mode & 0o777 == 0o600
    assert LOCAL_FILES.names(tmp_path) == ["a", "second name"]


def test_a_pipe_is_read_to_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    sent = b"0123456789" * 10_000
    for limit, fits in ((len(sent), True), (len(sent) - 1, False)):
        monkeypatch.setattr("metalog.disk.files.STREAM_LIMIT", limit)
        source, sink = os.pipe()
        writer = Thread(target=_write_all, args=(sink, sent))
        writer.start()
        path = Path(f"/dev/fd/{source}")
        if fits:
            assert read_whole(LOCAL_FILES, path) == sent
        else:
            with pytest.raises(OSError, match="gives more than"):
                read_whole(LOCAL_FILES, path)
        os.close(source)
        writer.join()


def _write_all(descriptor: int, data: bytes) -> None:
    with suppress(BrokenPipeError), os.fdopen(descriptor, "wb") as sink:
        sink.write(data)


def test_a_lock_is_held_once_and_given_back(tmp_path: Path) -> None:
    held = LOCAL_FILES.lock(tmp_path / ".lock")
    with pytest.raises(BlockingIOError):
        LOCAL_FILES.lock(tmp_path / ".lock")
    held.close()
    held.close()
    LOCAL_FILES.lock(tmp_path / ".lock").close()


def test_whoever_may_write_beside_a_lock_may_take_it(tmp_path: Path) -> None:
    """Two users of a group take turns to write in a shared folder."""
    before = os.umask(0o002)
    try:
        LOCAL_FILES.lock(tmp_path / ".lock").close()
    finally:
        os.umask(before)
    assert (tmp_path / ".lock").stat().st_mode & 0o777 == 0o664


def test_a_small_file_is_replaced_whole(tmp_path: Path) -> None:
    for data in (b"long before", b"new"):
        replace_whole(LOCAL_FILES, tmp_path / "a", data)
        assert (tmp_path / "a").read_bytes() == data
    assert LOCAL_FILES.names(tmp_path) == ["a"]


def test_two_can_write_out_one_file_at_the_same_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sync = os.fsync

    def second(descriptor: int) -> None:
        monkeypatch.setattr(os, "fsync", sync)
        write_out(tmp_path / "a", b"of the second")
        assert (tmp_path / "a").read_bytes() == b"of the second"
        sync(descriptor)

    monkeypatch.setattr(os, "fsync", second)
    write_out(tmp_path / "a", b"of the first")
    assert os.fsync is sync
    assert (tmp_path / "a").read_bytes() == b"of the first"
    assert LOCAL_FILES.names(tmp_path) == ["a"]


def test_what_cannot_be_replaced_leaves_nothing_beside_it(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    for path in (tmp_path / "folder", tmp_path / "nowhere" / "a"):
        with pytest.raises(OSError, match=f"{path}'$"):
            replace_whole(LOCAL_FILES, path, b"new")
    assert LOCAL_FILES.names(tmp_path) == ["folder"]


def test_a_block_device_is_not_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    disk = tmp_path / "disk"
    disk.write_bytes(b"before")
    of_a_file = Path.stat

    def of_a_disk(path: Path, **options: bool) -> os.stat_result:
        status = of_a_file(path, **options)
        mode = stat.S_IFBLK | 0o600 if path == disk else status.st_mode
        return os.stat_result((mode, *status[1:]))

    monkeypatch.setattr(Path, "stat", of_a_disk)
    with pytest.raises(OSError, match="a block device, such as a disk: give a file"):
        write_out(disk, b"after")
    assert disk.read_bytes() == b"before"


def test_an_open_file_of_this_process_has_many_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As root, a file in place of ``/dev/stdout`` would be there for every program."""
    (tmp_path / "dev").symlink_to("/dev")
    monkeypatch.chdir("/dev")
    for name in ("/dev/stdout", "//dev/stdout", "stdout", f"{tmp_path}/dev/stdout", "fd/1"):
        assert is_descriptor(Path(name))
    for name in (f"/proc/self/fd/{10**9}", "/dev/fd/x", "/dev/null", str(tmp_path / "stdout")):
        assert not is_descriptor(Path(name))


def test_a_read_names_its_place_and_stops_at_the_end(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"0123456789")
    with opened(LOCAL_FILES, tmp_path / "a") as file:
        assert file.size() == 10
        assert file.read_at(3, 4) == b"3456"
        assert file.read_at(8, 100) == b"89"
        assert file.read_at(20, 1) == b""


def test_an_open_file_sees_what_is_appended(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"01")
    with opened(LOCAL_FILES, path) as file, path.open("ab") as writer:
        writer.write(b"23")
        writer.flush()
        assert file.read_at(0, file.size()) == b"0123"


def test_what_is_a_file_is_no_folder(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"")
    assert LOCAL_FILES.is_file(path)
    assert not LOCAL_FILES.is_folder(path)
    assert LOCAL_FILES.is_folder(tmp_path)
    assert not LOCAL_FILES.is_file(tmp_path)
    assert not LOCAL_FILES.is_file(path / "below a file")
    assert not LOCAL_FILES.is_folder(tmp_path / "missing")


def test_what_is_missing_cannot_be_opened(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        LOCAL_FILES.open(tmp_path / "missing")
