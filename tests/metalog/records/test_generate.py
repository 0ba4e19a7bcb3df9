"""The committed codecs are those of the schema."""

import pytest

from metalog.records.codegen import generate


@pytest.mark.once
def test_nothing_that_is_committed_is_stale(capsys):
    assert generate.main(["--check"]) == 0, capsys.readouterr().out


def test_a_stale_module_is_named(tmp_path, monkeypatch, capsys):
    wanted = {"a.py": "1\n", "b.py": "2\n"}
    monkeypatch.setattr(generate, "modules", lambda: wanted)
    monkeypatch.setattr(generate, "FOLDER", tmp_path)
    (tmp_path / "gone.py").write_text("3\n")
    assert generate.main(["--check"]) == 1
    assert capsys.readouterr().out.count(": stale;") == 3
    assert generate.main([]) == 0
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == wanted
    assert generate.main(["--check"]) == 0
    assert generate.main(["--wrong"]) == 2
