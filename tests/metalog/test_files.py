"""The real disk, through the port by which everything reaches it."""

from pathlib import Path

import pytest

from metalog.files import LOCAL_FILES, opened, read_whole


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
