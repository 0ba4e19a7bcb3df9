"""Teams are distinguished by the patterns that they own, in the format of ACL files."""

import re
import textwrap

import pytest

from metalog.acl import Acl
from metalog.errors import InvalidRequest
from metalog_spark.report.triage.owners import Team, file_names, read_owners
from shell.verbs.pipeline.report import EPILOG
from tests.support.kafka.cases import REPOSITORY
from tests.support.worlds.small_acls import allow

OWNERS = """\
payments:
  - principal: [User:billing, User:ledger]
  - resourceType: [TOPIC, GROUP]
    resourceName: payments-
    patternType: PREFIXED
search:
  - principal: User:crawler
"""


def topic(name: str, principal: str = "User:x") -> Acl:
    return allow(name, principal=principal)


def test_a_team_has_principals_and_resources() -> None:
    payments, search = read_owners(OWNERS, "owners.yaml")
    assert (payments.name, search.name) == ("payments", "search")
    assert payments.owns_principal("User:ledger")
    assert not payments.owns_principal("User:crawler")
    assert payments.covers(topic("payments-eu"))
    assert payments.covers(topic("orders", "User:billing"))
    assert not payments.covers(topic("orders"))
    assert search.covers(topic("orders", "User:crawler"))
    assert not search.covers(topic("payments-eu"))


def test_the_example_of_the_guide_is_one() -> None:
    guide = (REPOSITORY / "docs" / "guide" / "pipeline" / "report.md").read_text(encoding="utf-8")
    [text] = re.findall(r"^```yaml\n(payments:.*?)^```", guide, re.MULTILINE | re.DOTALL)
    assert [team.name for team in read_owners(text, "report.md")] == ["payments", "search"]
    assert textwrap.indent(text.partition("search:")[0].rstrip(), "  ") in EPILOG


def test_two_documents_may_speak_of_one_team() -> None:
    [team] = read_owners("a: [{principal: User:x}]\n---\na: [{principal: User:y}]\n", "o.yaml")
    assert team.owns_principal("User:x")
    assert team.owns_principal("User:y")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "o.yaml: names no team"),
        ("a: []", "o.yaml, line 1, column 4: a owns nothing"),
        ("a: [{}]", "o.yaml, line 1, column 5: an empty entry owns nothing"),
        ("a: [{topic: x}]", "o.yaml, line 1, column 6: unknown key 'topic'"),
        ("a: [{principal: [}]", "o.yaml, line 1, column 18: not YAML"),
        ("- a", "o.yaml, line 1, column 1: a file of owners must be a mapping"),
        ('" ": [{principal: User:x}]', "o.yaml, line 1, column 6: a team has no name"),
    ],
)
def test_a_mistake_is_named_with_its_place(text: str, said: str) -> None:
    with pytest.raises(InvalidRequest) as caught:
        read_owners(text, "o.yaml")
    assert str(caught.value).startswith(said)


def test_each_team_has_a_file_of_its_own() -> None:
    teams = [Team(name, ()) for name in ("Pay & Bill", "pay/bill", "../..", "_")]
    assert list(file_names("report", teams).values()) == [
        "report-pay-bill.html",
        "report-pay-bill-2.html",
        "report-team.html",
        "report-team-2.html",
    ]


def test_a_long_name_is_shortened_in_that_of_its_file() -> None:
    found = file_names("report", [Team("é" + "x" * 300, ()), Team("x" * 400, ())])
    assert len(set(found.values())) == len(found)
    assert max(map(len, found.values())) < 100
