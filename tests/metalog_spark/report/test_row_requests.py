"""The commands that lead from a row to its requests can be pasted, whatever names clients
chose."""

from __future__ import annotations

import subprocess
from types import SimpleNamespace

import pytest

from metalog.acl import ResourceType
from metalog_spark.findings.windows.request_rows import RequestFilter
from metalog_spark.report.sections import unseen
from metalog_spark.report.text.row_requests import row_requests
from shell.arguments.resources import parse_resource

HOSTILE = "x\nrm -rf $HOME; `id` 'a\" !"


def test_no_name_ends_a_remark() -> None:
    request = {"us": 0, "broker": HOSTILE, "result": "DENIED", "operation": "READ"}
    request |= {"host": HOSTILE, "file": HOSTILE, "line": 7}
    command, *rest = row_requests({"command": "true", "requests_first": [request], "requests": 12})
    assert command == "true"
    assert rest[1:] == ["# and 11 more"]
    assert all(line.startswith("# ") and "\n" not in line for line in rest)
    assert row_requests({"requests": 1}) is None


def test_a_row_of_a_table_has_no_line_number() -> None:
    request = {"us": 0, "broker": "b1", "result": "DENIED", "operation": "READ", "host": "h"}
    request |= {"file": "lines.parquet", "line": None}
    _, first = row_requests({"command": "true", "requests_first": [request], "requests": 1})
    assert first.endswith("DENIED READ from h (lines.parquet)")
    row = {"first": {"file": "lines.parquet", "line": None}, "lines": 3, "reason": "why"}
    parts = SimpleNamespace(history=[], rejected=[row], ambiguous=[])
    what = "rejected lines (position of the first)"
    assert unseen(parts).rows == [(what, "lines.parquet", None, 3, "why")]


@pytest.mark.parametrize("name", [HOSTILE, "plain", "-o", "a:b", "*"])
def test_a_shell_gets_the_names_as_they_are(name: str) -> None:
    wanted = RequestFilter(
        principal=name, resource_type="TOPIC", resource_name=name, disagrees=True
    )
    script = f"printf '%s\\0' {wanted.options()}"
    done = subprocess.run(["bash", "-c", script], capture_output=True, check=True)
    words = done.stdout.decode().split("\0")[:-1]
    assert words in (
        ["--principal", name, "--resource", f"TOPIC:{name}", "--disagrees"],
        [f"--principal={name}", "--resource", f"TOPIC:{name}", "--disagrees"],
    )


@pytest.mark.parametrize("name", ["", "LITERAL:z", "LITERAL:", "literal:z", "*", "-x", HOSTILE])
@pytest.mark.parametrize("kind", ["GROUP", "CLUSTER", "USER"])
def test_the_verb_reads_every_resource_of_an_audit_line(kind: str, name: str) -> None:
    """Old consumers have an empty group."""
    wanted = RequestFilter(resource_type=kind, resource_name=name)
    done = subprocess.run(
        ["bash", "-c", f"printf '%s\\0' {wanted.options()}"], capture_output=True, check=True
    )
    option, resource, _ = done.stdout.decode().split("\0")
    assert option == "--resource"
    assert parse_resource(resource, may_be_empty=True) == (ResourceType[kind], name)
