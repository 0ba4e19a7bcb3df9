"""``who-can`` and ``access`` on the demo agree with ``can`` in each case."""

from __future__ import annotations

import json
from typing import Any

import pytest

from shell.main import main
from tests.support.kafka.cases import DEMO

LOG = str(DEMO / "log-dir")
CONFIG = ("--config", str(DEMO / "server.properties"))
HOSTS = ["10.0.4.12", "192.0.2.1"]


def asked(capsys: pytest.CaptureFixture[str], *arguments: str) -> list[dict[str, Any]]:
    capsys.readouterr()
    main([*arguments, *CONFIG, "--json", "-q"])
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


@pytest.mark.parametrize("operation", ["read", "describe"])
@pytest.mark.parametrize("topic", ["payments", "customers", "orders"])
def test_who_can_says_what_can_says(
    operation: str, topic: str, capsys: pytest.CaptureFixture[str]
) -> None:
    found = asked(capsys, "who-can", LOG, operation, f"topic:{topic}")
    by_principal = {line["principal"]: line for line in found}
    for principal in ["User:zoe", *by_principal]:
        if principal == "User:*":
            continue
        line = by_principal.get(principal, by_principal["User:*"])
        for host in HOSTS:
            there = {each["host"]: each["result"] for each in line["hosts"]}
            code = main(
                ["can", LOG, principal, operation, f"topic:{topic}", "--host", host, "-q", *CONFIG]
            )
            assert there.get(host, line["result"]) == ("ALLOWED", "DENIED")[code]


def test_access_says_what_can_says_of_each_topic(capsys: pytest.CaptureFixture[str]) -> None:
    for principal in ("User:billing", "User:analytics", "User:contractor"):
        found = asked(capsys, "access", LOG, principal, "--host", HOSTS[0])
        may = {
            (operation, line["resourceName"])
            for line in found
            if line["patternType"] is None
            for operation in line["operations"]
        }
        for operation in ("READ", "WRITE", "DESCRIBE"):
            for topic in ("payments", "payments-eu", "customers"):
                question = [principal, operation, f"topic:{topic}", "--host", HOSTS[0]]
                code = main(["can", LOG, *question, "-q", *CONFIG])
                assert ((operation, topic) in may) is (code == 0)


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["who-can", LOG, "write", "topic:payments"], 0),
        (["who-can", LOG, "alter", "cluster"], 1),
        (["who-can", LOG, "alter"], 2),
        (["access", LOG, "User:billing"], 0),
        (["access", LOG, "User:contractor"], 1),
        (["access", LOG, "User:admin"], 0),
        (["access", LOG, "billing"], 2),
    ],
)
def test_exit_codes(arguments: list[str], code: int) -> None:
    assert main([*arguments, *CONFIG]) == code


@pytest.mark.parametrize("default", ["--allow-everyone", "--no-allow-everyone"])
@pytest.mark.parametrize("principal", ["User:billing", "User:contractor", "User:nobody"])
def test_access_is_0_exactly_if_some_request_is_allowed(
    principal: str, default: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """With the default to allow, one on a resource that no ACL reaches is."""
    options = (*CONFIG, default, "-q")
    questions = [
        [principal, operation, resource]
        for resource in ("topic:payments", "group:billing-eu", "transactional-id:new")
        for operation in ("read", "describe", "write")
        if (operation, resource[:5]) != ("write", "group")
    ]
    codes = {main(["can", LOG, *question, *options]) for question in questions}
    assert main(["access", LOG, principal, *options]) == (0 if 0 in codes else 1)
    capsys.readouterr()
    main(["access", LOG, principal, *options[:-1], "--json"])
    assert ("everything on each resource that no ACL reaches" in capsys.readouterr().err) is (
        default == "--allow-everyone"
    )
