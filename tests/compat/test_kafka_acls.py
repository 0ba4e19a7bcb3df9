"""``metalog kafka-acls`` and Kafka's own, on one cluster: the same commands print the same lines.
The lines are compared sorted, since Kafka's order is that of a hash table."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import pytest

from tests.support.command.runs import Run
from tests.support.command.terminal import at_a_terminal
from tests.support.kafka.tools import RealKafka

pytestmark = pytest.mark.xdist_group("real-kafka")

MAIN = "org.apache.kafka.tools.AclCommand"
ROLES = (
    "--add", "--allow-principal", "User:app", "--allow-principal", "Group:apps",
    "--allow-host", "10.0.0.1", "--allow-host", "10.0.0.2", "--producer", "--idempotent",
    "--topic", "side", "--transactional-id", "side-1", "--consumer", "--group", "side",
    "--resource-pattern-type", "prefixed",
)  # fmt: skip
ENTRIES = (
    "--add", "--allow-principal", "User:a", "--deny-principal", "User:b",
    "--deny-host", "10.0.0.9", "--operation", "DescribeConfigs", "--operation", "all",
    "--topic", "side-", "--topic", "sid", "--resource-pattern-type", "prefixed",
)  # fmt: skip
REMOVED = (
    "--remove", "--topic", "side", "--topic", "side-", "--topic", "sid", "--group", "side",
    "--transactional-id", "side-1", "--resource-pattern-type", "any",
)  # fmt: skip


def lines_of(text: str) -> list[str]:
    """Sorted; the first ACL below a heading has one blank more than the others."""
    return sorted(text.replace(": \n \t", ": \n\t").splitlines())


class Beside:
    """Runs one command with Kafka's kafka-acls or with ours, on the same cluster."""

    def __init__(self, kafka: RealKafka, run: Run) -> None:
        self._kafka = kafka
        self._run = run
        self._target = f"cluster://{kafka.bootstrap}"

    def theirs(self, *arguments: str) -> list[str]:
        return lines_of(self._kafka.acls(*arguments))

    def ours(self, *arguments: str) -> list[str]:
        done = self._run("kafka-acls", self._target, *arguments)
        assert done.returncode == 0, done.stderr
        return lines_of(done.stdout)

    def at_a_terminal(self, typed: str, *arguments: str) -> list[list[str]]:
        bootstrap = ("--bootstrap-server", self._kafka.bootstrap)
        theirs = self._kafka.tools.command(MAIN, *bootstrap, *arguments)
        ours = [sys.executable, "-m", "shell.main", "kafka-acls", self._target, *arguments]
        printed = []
        for command in (theirs, ours):
            text, code = at_a_terminal(command, typed=typed, environment={"NO_COLOR": "1"})
            assert code == 0, text
            printed.append(lines_of(text))
        return printed

    def refusals(self, *arguments: str) -> list[str]:
        """The first line of each on stderr."""
        bootstrap = ("--bootstrap-server", self._kafka.bootstrap)
        theirs = self._kafka.tools.answer(MAIN, *bootstrap, *arguments)
        ours = self._run("kafka-acls", self._target, *arguments)
        assert theirs.exit_code != 0 != ours.returncode
        return [said.splitlines()[0] for said in (theirs.err, ours.stderr)]


@pytest.fixture
def beside(real_kafka: RealKafka, run: Run) -> Iterator[Beside]:
    made = Beside(real_kafka, run)
    yield made
    made.ours(*REMOVED, "--force")
    made.ours("--remove", "--force", "--cluster")


def test_adding_listing_and_removing(beside: Beside) -> None:
    """Each finds and lists what the other added."""
    assert beside.ours(*ROLES)
    added = beside.theirs(*ENTRIES)
    found = beside.theirs(*ROLES)
    assert all(line.endswith(" already exists.") for line in found)
    assert beside.ours(*ROLES) == found != []
    listed = beside.theirs("--list")
    assert beside.ours("--list") == listed
    named = ("--list", "--topic", "side-", "--group", "side", "--resource-pattern-type")
    both = ("--principal", "User:b", "--principal", "User:nobody", "--principal", "User:b")
    for asked in ((*named, "match"), (*named, "any"), (*named, "prefixed", *both)):
        assert beside.ours(*asked) == beside.theirs(*asked)

    some = ("--remove", "--allow-principal", "User:app", "--allow-host", "10.0.0.1")
    theirs, ours = beside.at_a_terminal("n\n", *some, "--operation", "Read", "--topic", "side")
    assert ours == theirs != []
    assert beside.ours("--list") == listed
    match = ("--remove", "--force", "--topic", "side-x", "--resource-pattern-type", "match")
    assert beside.theirs(*match) == []
    without = beside.ours("--list")
    assert without != listed
    assert beside.ours(*ENTRIES) == added
    assert beside.ours(*ROLES)
    assert beside.ours("--list") == listed
    assert beside.ours(*match) == []
    assert beside.ours("--list") == without


@pytest.mark.parametrize(
    "arguments",
    [
        ("--list", "--add"),
        ("--add", "--topic", "t", "--producer", "--operation", "Read"),
        ("--remove", "--allow-principal", "User:a"),
    ],
    ids=" ".join,
)
def test_what_is_refused(real_kafka: RealKafka, run: Run, arguments: tuple[str, ...]) -> None:
    theirs, ours = Beside(real_kafka, run).refusals(*arguments)
    assert ours == f"metalog: {theirs.rstrip()}"
