"""``metalog prove``: a claim is proven, or its witness is shown with a change of its decision."""

from __future__ import annotations

import json
import os
import shlex
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

from metalog.errors import InvalidRequest
from shell.arguments.yaml_files.claims import read_claims
from shell.main import main
from shell.views.proofs import claim_text
from tests.support.command.runs import Run
from tests.support.kafka.cases import DEMO, REPOSITORY

LOG = str(DEMO / "log-dir")
CONFIG = ("--config", str(DEMO / "server.properties"))
GUIDE = REPOSITORY / "docs" / "guide" / "prove.md"
PROMPT = "    $ metalog "
PII = "deny: {principal: any except [User:x, User:y], operation: Read, resource: topic:pii-*}"
CLAIMS = f"""\
{PII}
---
only: {{principals: [User:payments-service], operation: Write, resource: topic:payments}}
---
never:
  - {{principal: User:billing, operation: [Alter, All], resource: cluster}}
  - principal: any except [super.users]
    operation: Read
    resource: topic:pay*
    host: any except [10.0.0.0/8]
    comment: from nowhere else
allow: {{principal: User:billing, operation: Read, resource: topic:payments}}
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "claims.yaml"
    path.write_text(CLAIMS)
    return path


def records(capsys: pytest.CaptureFixture[str]) -> list[dict[str, object]]:
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def test_a_witness_is_a_question_that_explain_answers_so(
    path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["prove", LOG, str(path), *CONFIG, "-o", "json", "-q"]) == 1
    proofs = records(capsys)
    assert [(each["proven"], each["line"], each["column"]) for each in proofs] == [
        (False, 1, 7),
        (False, 3, 7),
        (True, 6, 5),
        (False, 7, 5),
        (False, 12, 8),
    ]
    for proof in proofs:
        if not proof["proven"]:
            _, *words = shlex.split(str(proof["explain"]))
            main([*words, "-o", "json", "-q"])
            [explained] = records(capsys)
            witness = proof["witness"]
            assert isinstance(witness, dict)
            assert {key: explained[key] for key in witness} == witness


def test_the_text_has_the_claim_the_witness_and_the_command(
    capsys: pytest.CaptureFixture[str],
) -> None:
    claim = "deny: {principal: any except [super.users], operation: Read, resource: topic:pay*}"
    assert main(["prove", LOG, claim, *CONFIG]) == 1
    said, where, reason, explain, end, command, first = capsys.readouterr().out.splitlines()
    assert said == "broken  nobody but super users may READ topics that begin with pay  (2 cells)"
    assert where == "  claim 1, line 1, column 7: User:analytics may READ topic pay from 10.0.0.1"
    assert reason == "  This ACL matches: ALLOW User:analytics READ on topic * from any host."
    assert explain.startswith(f"  metalog explain {LOG} User:analytics READ topic:pay --host 10.0.")
    assert end == "  to reverse this decision, add 1 ACL"
    assert command.endswith(
        "--add --deny-principal User:analytics --operation Read --topic pay"
        " --resource-pattern-type prefixed"
    )
    assert first.startswith("first: export")


def test_a_proof_has_its_cells(capsys: pytest.CaptureFixture[str]) -> None:
    claim = "never: {principal: User:contractor, operation: All, resource: [topic:*, cluster]}"
    assert main(["prove", LOG, claim, *CONFIG]) == 0
    assert "(15 cells)" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (PII, "nobody but User:x and User:y may READ topics that begin with pii-"),
        (PII.replace("any ex", "'any ex").replace("y]", "y]'"), "nobody but User:x and User:y may"),
        ("deny:\n  principal: any except [User:x]\n  operation: Read\n  resource: any", "nobody"),
        ("deny: {principal: {any except: [User:x]}, operation: Read, resource: any}", "nobody but"),
        ("allow: {principal: any, operation: All, resource: cluster}", "everybody may do anything"),
        (
            "only: {principals: User:a, operation: Read, resource: [topic:t, group:g]}",
            "only User:a may READ topic t or group g",
        ),
        (
            "never: {principal: User:a, operation: All, resource: any except [group:g*]}",
            "User:a may not do anything on anything but groups that begin with g",
        ),
        (
            "never: {principal: [User:a, User:b], operation: Read, resource: topic:t, host: '::1'}",
            "User:a and User:b may not READ topic t from 0:0:0:0:0:0:0:1",
        ),
    ],
)
def test_a_claim_is_read_in_each_of_its_forms(text: str, said: str) -> None:
    [stated] = read_claims([text])
    assert claim_text(stated).startswith(said)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (PII.replace("Read", "Raed"), "line 1, column 59: unknown operation 'Raed'; did you mean"),
        (PII.replace("pii-*", "p*i"), "line 1, column 75: 'p*i' has a * before its end"),
        (PII.replace("User:y", "y"), "line 1, column 39: principal 'y' has no type"),
        (
            "deny:\n  principal: 'any except [User:x, y]'\n  operation: Read\n  resource: any",
            "column 34: principal 'y' has no type",
        ),
        (
            'deny: {principal: "any except [User:a]\\n--- x", operation: Read, resource: topic:t}',
            "column 19: 'any except [User:a]\\n--- x': after any except comes one list; write"
            " principal: any except [User:x, User:y]",
        ),
        (
            PII.replace("[User:x, User:y]", "User:b"),
            "'any except User:b': after any except comes one list; write principal: any except [",
        ),
        (
            PII.replace("any except [User:x, User:y]", "'any except '"),
            "column 19: 'any except ': after",
        ),
        (PII.replace("topic:pii-*", "any except"), "write resource: any except [topic:x]"),
        (PII.replace("pii-*", "p, host: any except x"), "write host: any except [10.0.0.0/8]"),
        (PII.replace("pii-*", "pi i"), "no topic can be called 'pi i'"),
        (PII.replace("topic:pii-*", "cluster"), "column 59: Kafka never checks READ on a CLUSTER"),
        (PII.replace("any except [User:x, User:y]", "'User:*'"), "column 19: User:* means every"),
        (PII.replace("pii-*", "p, host: 10.0.0.0/33"), "'10.0.0.0/33' is neither an address"),
        (
            "only: {principals: any, operation: Read, resource: topic:t}",
            "column 20: 'only' must list",
        ),
        (
            "only: {principals: User:a, operation: Read, resource: any}",
            "'only' must list resources",
        ),
        (
            "deny: {principal: any, resource: any}",
            "line 1, column 7: a claim of 'deny' has no operation",
        ),
        ("deny: {principal: any, rule: x}", "column 24: unknown key 'rule' in a claim"),
        ("dany: {principal: any}", "column 1: unknown key 'dany' in claims; did you mean deny?"),
        ("- deny: 1", "line 1, column 1: not a claim"),
        ("deny: []", "has no claims"),
        ("", "'' is neither a file nor YAML"),
        ("@prod", "@prod is a SOURCE, not a claim; give the SOURCE first"),
        ("nobody reads pay", "'nobody reads pay' is neither a file nor YAML; write {deny:"),
        (
            "only: {principals: any except [User:x], operation: Read, resource: topic:pay}",
            "'only' must list principals; if nobody but User:x is allowed, write deny with any",
        ),
        (PII.replace("}", ""), "not YAML"),
    ],
)
def test_a_wrong_claim_is_one_line_with_its_place(text: str, said: str) -> None:
    with pytest.raises(InvalidRequest) as caught:
        read_claims([text])
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


def test_claims_stand_in_expectation_files_beside_questions(
    path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """An entry about one principal, host and name stays a question, from an unnamed host."""
    path.write_text(
        "deny:\n"
        "  - {principal: User:billing, operation: Read, resource: topic:payments}\n"
        "  - {principal: User:billing, operation: Read, resource: topic:payments, host: any}\n"
        "  - {principal: any except [User:x], operation: Read, resource: topic:pay*}\n"
    )
    assert main(["test", LOG, str(path), *CONFIG]) == 1
    printed = capsys.readouterr().out
    assert printed.endswith("2 of 3 expectations are not met.\n")
    assert "may READ topic payments from 10.0.4.12" in printed
    assert main(["test", LOG, str(path), *CONFIG, "-o", "github"]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert [line.split(",")[1] for line in lines] == ["line=3", "line=4"]
    assert main(["test", LOG, str(path), *CONFIG, "-o", "junit"]) == 1
    suite = ElementTree.fromstring(capsys.readouterr().out)
    assert (suite.get("tests"), suite.get("failures")) == ("3", "2")
    assert main(["test", LOG, str(path), *CONFIG, "-o", "json"]) == 1
    assert [each.get("proven", each.get("met")) for each in records(capsys)] == [True, False, False]


def test_a_claim_of_a_principal_that_nobody_knows_is_pointed_out(
    capsys: pytest.CaptureFixture[str],
) -> None:
    claim = "never: {principal: User:biling, operation: Alter, resource: cluster}"
    assert main(["prove", LOG, claim, *CONFIG]) == 0
    assert "line 1, column 8: no ACL and no SCRAM user has the principal User:biling" in (
        capsys.readouterr().err
    )


def test_the_other_kafka_is_named_where_it_breaks_a_claim(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    acls = tmp_path / "acls.yaml"
    acls.write_text(
        "acls:\n- {principal: User:a, operation: Read, resourceType: Topic, resourceName: pay,"
        " host: 10.0.0.0/8}\n"
    )
    claim = "never: {principal: User:a, operation: Read, resource: topic:pay}"
    assert main(["prove", str(acls), claim]) == 0
    assert "under Kafka 4.4 1 claim would have the other result" in capsys.readouterr().err
    assert main(["prove", str(acls), claim, "--kafka", "4.4"]) == 1
    assert "may READ topic pay from 10.0.0.1" in capsys.readouterr().out


def test_the_guide_shows_what_the_command_prints(run: Run) -> None:
    """METALOG_WRITE_TRANSCRIPTS=1 writes the page anew."""
    written = GUIDE.read_text(encoding="utf-8")
    lines: list[str] = []
    is_output = False
    for line in written.splitlines():
        if line.startswith(PROMPT):
            done = run(*shlex.split(line.removeprefix(PROMPT)))
            lines += [line, *(f"    {each}" for each in done.stdout.splitlines())]
            is_output = True
        elif not (is_output and line.startswith("    ")):
            lines.append(line)
            is_output = False
    found = "\n".join(lines) + "\n"
    if os.environ.get("METALOG_WRITE_TRANSCRIPTS"):
        GUIDE.write_text(found, encoding="utf-8")
        return
    assert found == written


def test_a_claim_may_be_longer_than_the_name_of_a_file() -> None:
    names = ", ".join(f"User:team-{number}" for number in range(40))
    [claim] = read_claims([PII.replace("User:x, User:y", names)])
    assert len(claim.principals.names) == 40
    [claim] = read_claims([PII.replace("pii-", "x" * 248)])
    assert claim_text(claim).endswith("x" * 248)
