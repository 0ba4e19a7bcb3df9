"""The charts in the report are what ``make vendor`` made of the locked Apache ECharts."""

from __future__ import annotations

import json
from hashlib import sha256

from tests.support.kafka.cases import REPOSITORY

VENDOR = REPOSITORY / "metalog_spark" / "report" / "vendor"


def test_what_is_there_is_what_was_made() -> None:
    lines = (VENDOR / "SHA256SUMS").read_text(encoding="ascii").splitlines()
    sums = {name: digest for digest, name in (line.split() for line in lines)}
    assert {"echarts.js", "charts.js", "package-lock.json", "LICENSE", "NOTICE"} <= sums.keys()
    assert sums == {name: sha256((VENDOR / name).read_bytes()).hexdigest() for name in sums}


def test_it_is_the_version_that_the_lock_names() -> None:
    wanted = json.loads((VENDOR / "package.json").read_text(encoding="utf-8"))
    lock = json.loads((VENDOR / "package-lock.json").read_text(encoding="utf-8"))
    locked = lock["packages"]["node_modules/echarts"]
    assert wanted["dependencies"] == {"echarts": locked["version"]}
    assert locked["integrity"].startswith("sha512-")
    assert f'"{locked["version"]}"' in (VENDOR / "echarts.js").read_text(encoding="utf-8")


def test_the_lock_names_no_registry() -> None:
    assert "resolved" not in (VENDOR / "package-lock.json").read_text(encoding="utf-8")


def test_its_licences_go_with_it() -> None:
    bundle = (VENDOR / "echarts.js").read_text(encoding="utf-8")
    assert "Apache License" in (VENDOR / "LICENSE").read_text(encoding="utf-8")
    for name in ("NOTICE", "LICENSE-zrender", "LICENSE-d3"):
        assert (VENDOR / name).read_text(encoding="utf-8") in bundle


def test_nothing_in_it_is_made_into_code_as_it_runs() -> None:
    bundle = (VENDOR / "echarts.js").read_text(encoding="utf-8")
    assert "eval(" not in bundle
    assert "new Function" not in bundle
    assert "</script" not in bundle.lower()
