"""A SOURCE is opened, or refused in one line with the reason and the remedy."""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path

import pytest

from metalog.disk.files import LocalFiles
from metalog.errors import InvalidSource, MetalogError
from metalog.log.folder.layout import segment_name
from metalog.records.batch import assemble_batch, encode_batch
from metalog.records.record import RawRecord
from metalog_sources.source import Source, open_source
from tests.support.kafka.cases import DEMO, REPOSITORY, kafka_case


def opened(text: object, **environ: str) -> Source:
    return open_source(str(text), environ=environ)


def refused(text: object, **environ: str) -> str:
    with pytest.raises(MetalogError) as caught:
        opened(text, **environ)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_a_folder_and_its_partition() -> None:
    case = kafka_case("basic-4.3")
    assert opened(case.log_dir).kind == "folder"
    assert opened(case.metadata_dir).log.bounds() == opened(case.log_dir).log.bounds()


def test_the_demo_is_named_by_a_folder_that_a_clone_has() -> None:
    kind, _, place = opened("@demo").describe.partition(" ")
    assert (kind, (REPOSITORY / place).is_dir()) == ("folder", True)


def test_a_segment_and_a_snapshot() -> None:
    case = kafka_case("trimmed-4.3")
    segment = opened(case.metadata_dir / segment_name(811))
    assert (segment.kind, segment.log.bounds()[:3]) == ("segment", (811, 835, 1))
    snapshot = opened(case.metadata_dir / "00000000000000000723-0000000001.checkpoint")
    assert (snapshot.kind, snapshot.log.bounds()[:3]) == ("snapshot", (723, 723, 1))
    bootstrap = opened(case.log_dir / "bootstrap.checkpoint")
    assert (bootstrap.kind, bootstrap.log.bounds()[:2]) == ("snapshot", (0, 0))


def test_a_segment_may_have_any_name(tmp_path: Path) -> None:
    case = kafka_case("trimmed-4.3")
    copy = tmp_path / "copy.log"
    copy.write_bytes((case.metadata_dir / segment_name(811)).read_bytes())
    assert opened(copy).log.bounds()[:3] == (811, 835, 1)


def test_folders_joined_by_plus() -> None:
    names = ("node-11", "node-12-uncommitted", "node-13")
    folders = [kafka_case(f"quorum-4.3/{name}").log_dir for name in names]
    source = opened("+".join(map(str, folders)))
    assert source.kind == "folders"
    assert source.log.bounds()[1:4] == (265, 4, 265)
    divergences = [
        problem for problem in source.log.problems if "differ from offset 207" in problem
    ]
    assert len(divergences) == 2
    assert all(str(folders[1]) in problem for problem in divergences)


def test_a_plus_in_a_name_is_a_plus(tmp_path: Path) -> None:
    link = tmp_path / "a+b"
    link.symlink_to(kafka_case("basic-4.3").log_dir)
    assert opened(link).kind == "folder"


def test_folders_of_two_clusters_are_refused() -> None:
    folders = [kafka_case("basic-4.3").log_dir, kafka_case("quorum-4.3/node-11").log_dir]
    assert "give the folders of one quorum" in refused("+".join(map(str, folders)))


def test_one_folder_is_no_majority_of_its_own(tmp_path: Path) -> None:
    folder = kafka_case("quorum-4.3/node-11").log_dir
    (tmp_path / "again").symlink_to(folder)
    assert "is named twice" in refused(f"{folder}+{tmp_path / 'again'}")
    assert "a folder is missing beside a +" in refused(f"{folder}+")


def test_a_folder_without_an_owner_counts_for_no_voter(tmp_path: Path) -> None:
    folders = [kafka_case(f"quorum-4.3/{name}").log_dir for name in ("node-11", "node-13")]
    shutil.copytree(folders[1] / "__cluster_metadata-0", tmp_path / "copy")
    source = opened(f"{folders[0]}+{tmp_path / 'copy'}")
    assert source.log.bounds().end == 263, "the end of the copy's snapshot, which proves itself"
    assert source.log.problems == (
        f"{tmp_path / 'copy'}: no meta.properties names its voter; copy that file too",
    )


class TestRefused:
    def test_nothing(self, tmp_path: Path) -> None:
        assert "there is no such file or folder" in refused(tmp_path / "missing")
        assert "a running cluster is cluster://a:1,b:2 (brokers)" in refused("a:1,b:2")
        assert "there is no such folder" in refused(f"{DEMO / 'log-dir'}+{tmp_path / 'missing'}")
        assert "SOURCE is missing" in refused("")

    def test_an_empty_folder(self, tmp_path: Path) -> None:
        assert "an empty folder" in refused(tmp_path)

    def test_a_folder_that_is_no_log(self, tmp_path: Path) -> None:
        (tmp_path / "file").touch()
        assert "not a metadata log" in refused(tmp_path)

    def test_a_file_of_another_kind(self, tmp_path: Path) -> None:
        (tmp_path / "file.txt").touch()
        assert "unknown kind of file" in refused(tmp_path / "file.txt")

    def test_a_log_of_an_ordinary_topic(self, tmp_path: Path) -> None:
        records = [RawRecord(0, 0, at, b"key", b'{"order": 1}', ()) for at in range(3)]
        path = tmp_path / segment_name(0)
        path.write_bytes(encode_batch(assemble_batch(0, 0, 1000, records)))
        assert "the log of an ordinary topic?" in refused(path)

    def test_a_folder_of_an_ordinary_topic(self, tmp_path: Path) -> None:
        records = [RawRecord(0, 0, at, b"key", b'{"order": 1}', ()) for at in range(3)]
        topic = tmp_path / "payments-0"
        topic.mkdir()
        (topic / segment_name(0)).write_bytes(encode_batch(assemble_batch(0, 0, 1000, records)))
        (topic / "leader-epoch-checkpoint").write_text("0\n1\n0 0\n")
        assert "the log of an ordinary topic?" in refused(topic)
        (topic / segment_name(0)).write_bytes(b"")
        assert "the log of an ordinary topic?" in refused(topic)
        (topic / "leader-epoch-checkpoint").unlink()
        shutil.copy(kafka_case("basic-4.3").metadata_dir / segment_name(0), topic)
        assert opened(topic).kind == "folder"

    def test_the_folder_above_a_log_dir(self, tmp_path: Path) -> None:
        shutil.copytree(kafka_case("basic-4.3").log_dir, tmp_path / "log-dir")
        assert f"did you mean {tmp_path / 'log-dir'}?" in refused(tmp_path)

    def test_a_log_that_is_no_kafka_log(self, tmp_path: Path) -> None:
        path = tmp_path / "server.log"
        path.write_bytes(b"[2026-11-21 09:07:30,000] INFO started (kafka.server.KafkaServer)\n" * 9)
        assert str(path) in refused(path)

    @pytest.mark.parametrize(
        ("url", "problem"),
        [
            ("quorum://localhost", "'localhost' is not HOST:PORT; give quorum://HOST:PORT[,"),
            ("quorum://", "'' is not HOST:PORT"),
            ("quorum://a:9093/b", "'a:9093/b' is not HOST:PORT"),
            ("topic://localhost:9092", "give topic://HOST:PORT[,HOST:PORT]/TOPIC"),
            ("topic:///acls", "give topic://HOST:PORT[,HOST:PORT]/TOPIC"),
            ("topic://localhost:9092/a/b", "give topic://HOST:PORT[,HOST:PORT]/TOPIC"),
            ("topic://localhost:9092/acls?at=1", "the ? only snapshots=DIR is supported"),
            ("topic://localhost:9092/acls?snapshots=", "the ? only snapshots=DIR is supported"),
            ("topic://localhost:9092/acls?snapshots=gone", "gone: there is no such folder of"),
        ],
    )
    def test_a_topic_that_is_none(self, url: str, problem: str) -> None:
        assert problem in refused(url)

    @pytest.mark.parametrize("scheme", ["kafka", "file", "folder"])
    def test_unknown_kinds(self, scheme: str) -> None:
        """Among them words for kinds that are paths, not addresses."""
        assert f"unknown scheme {scheme}://" in refused(f"{scheme}://localhost:9092")


class OwnedBy(LocalFiles):
    def __init__(self, owners: dict[Path, frozenset[int]]) -> None:
        self._owners = owners

    def owners(self, path: Path) -> frozenset[int]:
        return self._owners.get(path, frozenset({0}))


class TestNames:
    """``metalog.toml``: in this folder, above it, else in the user's configuration folder."""

    @pytest.fixture
    def work(self, tmp_path: Path) -> Path:
        (tmp_path / "log").symlink_to(kafka_case("basic-4.3").log_dir)
        (tmp_path / "metalog.toml").write_text(
            '[sources.prod]\nurl = "log"\nconfig = "server.properties"\n'
            '[sources.absolute]\nurl = "/nowhere"\ncommand-config = "c.properties"\n'
        )
        below = tmp_path / "a" / "b"
        below.mkdir(parents=True)
        return below

    def test_a_name_is_found_above(self, work: Path) -> None:
        source = open_source("@prod", environ={}, cwd=work)
        assert source.log.bounds().end == 574
        assert source.config == work.parents[1] / "server.properties"
        assert source.command_config is None

    def test_an_unknown_name_is_refused_with_a_table_that_toml_can_read(
        self, tmp_path: Path
    ) -> None:
        with pytest.raises(InvalidSource, match=re.escape('[sources."a.b"] and a url')):
            open_source("@a.b", environ={}, cwd=tmp_path)
        with pytest.raises(InvalidSource, match="joins the paths of folders, not names"):
            open_source("@prod+@prod", environ={}, cwd=tmp_path)

    def test_a_name_of_the_user(self, work: Path, tmp_path: Path) -> None:
        home = tmp_path / "home" / ".config" / "metalog"
        home.mkdir(parents=True)
        (home / "metalog.toml").write_text(f'[sources.mine]\nurl = "{tmp_path / "log"}"\n')
        source = open_source("@mine", environ={"HOME": str(tmp_path / "home")}, cwd=work)
        assert source.log.bounds().end == 574

    def test_the_demo_travels_with_the_package_and_gives_way(self, work: Path) -> None:
        demo = open_source("@demo", environ={}, cwd=work)
        assert demo.log.bounds().end == 179
        assert demo.config is not None
        assert "super.users=User:admin" in demo.config.read_text()
        with pytest.raises(InvalidSource, match="did you mean @demo"):
            open_source("@dmo", environ={}, cwd=work)
        (work / "metalog.toml").write_text('[sources.demo]\nurl = "../../log"\n')
        assert open_source("@demo", environ={}, cwd=work).log.bounds().end == 574

    def test_the_one_in_the_environment(self, work: Path) -> None:
        for value in ("@prod", str(work.parents[1] / "log")):
            source = open_source("@", environ={"METALOG_SOURCE": value}, cwd=work)
            assert source.log.bounds().end == 574
        with pytest.raises(InvalidSource, match=r"\$METALOG_SOURCE, which has no SOURCE"):
            open_source("@", environ={}, cwd=work)

    def test_above_it_must_belong_to_the_user_or_to_root(self, work: Path, tmp_path: Path) -> None:
        """As git's safe.directory: the file's owner decides where a password is sent."""
        other = os.geteuid() + 1
        theirs = OwnedBy({tmp_path / "metalog.toml": frozenset({other})})
        said = f"{tmp_path}/metalog.toml is skipped: it belongs to user {other}"
        with pytest.raises(InvalidSource, match=f"no usable metalog.toml defines @prod: {said}"):
            open_source("@prod", environ={}, cwd=work, files=theirs)
        home = tmp_path / "home"
        (home / "metalog").mkdir(parents=True)
        (home / "metalog" / "metalog.toml").write_text(
            f'[sources.prod]\nurl = "{work}/../../log"\n'
        )
        environ = {"XDG_CONFIG_HOME": str(home)}
        source = open_source("@prod", environ=environ, cwd=work, files=theirs)
        assert source.config is None
        assert [note.startswith(said) for note in source.notes] == [True]
        assert open_source("@prod", environ={}, cwd=tmp_path, files=theirs).notes == ()
        roots = OwnedBy({tmp_path / "metalog.toml": frozenset({0})})
        assert open_source("@prod", environ={}, cwd=work, files=roots).notes == ()

    def test_under_sudo_the_callers_count(self, work: Path, tmp_path: Path, monkeypatch) -> None:
        theirs = OwnedBy({tmp_path / "metalog.toml": frozenset({1234})})
        environ = {"SUDO_UID": "1234"}
        monkeypatch.setattr(os, "geteuid", lambda: 0)
        assert open_source("@prod", environ=environ, cwd=work, files=theirs).notes == ()
        monkeypatch.setattr(os, "geteuid", lambda: 1)
        with pytest.raises(InvalidSource, match="is skipped"):
            open_source("@prod", environ=environ, cwd=work, files=theirs)

    @pytest.mark.parametrize(
        ("document", "said"),
        [
            ("", "did you mean|is not in"),
            ('[sources.prod]\nurl = "x"', "did you mean @prod"),
            ("[sources", "not TOML"),
            ("sources = 3", "not a table"),
            ("[sources]\nprdo = 3", "prdo is not a table; write"),
            ('[sources.prdo]\nurl = "x"\nkafka.version = 4.4', 'write kafka.version = "…"'),
            ("[sources.prdo]\nurl = ['x']", 'prdo: url is not a text; write url = "…"'),
            ("[sources.prdo]", "needs a url"),
            ('[sources.prdo]\nurl = "@x"', "needs a url that does not begin with @"),
            ('[sources.prdo]\nurl = "x"\ncofnig = "y"', "did you mean config"),
        ],
    )
    def test_what_cannot_be_looked_up(self, tmp_path: Path, document: str, said: str) -> None:
        (tmp_path / "metalog.toml").write_text(document)
        with pytest.raises(InvalidSource, match=said) as caught:
            open_source("@prdo", environ={}, cwd=tmp_path)
        assert "metalog.toml" in str(caught.value)
        assert "\n" not in str(caught.value)
