"""Two teams with a repository each plan, review and apply in turn, and never undo each other. A
week of simulated changes runs many times on a target in memory, and once by the command on a
running node. Between a plan and its apply the other team goes on, and people change other ACLs with
kafka-acls. A third team may own ACLs on ``*``, which match both teams' names. An interrupted apply
is finished later, with changes by others in between. Overlapping prefixes, or ACLs outside a team's
own, may undo another team's change: each such ACL must be an ownership finding of both repositories
together."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

from authorizer.config import AuthorizerConfig
from metalog.acl import Acl, Operation, PatternType, PermissionType, ResourceType
from metalog.errors import InvalidTarget
from metalog_sources.formats.document import AclEntry, Document, Own, is_owned, joined
from metalog_sources.formats.yaml import read_yaml, write_yaml
from metalog_sources.source import open_source
from metalog_sources.targets.ownership import acls_outside, owned_twice
from metalog_sources.targets.plan import SavedPlan, make_plan, remaining
from metalog_sources.targets.target import carry_out
from shell.main import main
from shell.tasks.plans.saved import ChangeSincePlan, changed_since, plan_to_save
from tests.support.disk.written_log import formatted
from tests.support.node.running import running_in
from tests.support.worlds.memory_target import MemoryTarget

WEEKS = 20
HOURS = 7 * 24
PEOPLE = ["User:a", "User:b", "User:c", "User:*"]
OPERATIONS = [Operation.READ, Operation.WRITE, Operation.ALL]


def some_acl(random: Random, prefix: str, *, denies: bool = True) -> Acl:
    """An ACL on a name that begins with ``prefix``, mostly an ALLOW."""
    is_prefixed = random.random() < 0.2
    return Acl(
        random.choice([ResourceType.TOPIC, ResourceType.GROUP]),
        prefix if is_prefixed else prefix + random.choice(["eu", "us", "x"]),
        PatternType.PREFIXED if is_prefixed else PatternType.LITERAL,
        random.choice(PEOPLE),
        random.choice(["*", "*", "10.0.0.1"]),
        random.choice(OPERATIONS),
        PermissionType.DENY if denies and random.random() < 0.2 else PermissionType.ALLOW,
    )


class Team:
    """A team's repository: its own patterns, and its wanted ACLs. ``is_killed``: an apply of
    ``plan`` was interrupted. ``is_reached``: since ``plan`` was made, others changed ACLs that
    match its names."""

    pattern_type = PatternType.PREFIXED

    def __init__(self, prefix: str, random: Random) -> None:
        self.prefix = prefix
        self.owns = tuple(
            Own(kind, prefix, self.pattern_type)
            for kind in (ResourceType.TOPIC, ResourceType.GROUP)
        )
        self.wanted = {self.some_acl(random) for _ in range(4)}
        self.plan: SavedPlan | None = None
        self.reviewed: set[Acl] = set()
        self.is_killed = self.is_reached = False

    def some_acl(self, random: Random) -> Acl:
        return some_acl(random, self.prefix)

    @property
    def document(self) -> Document:
        return Document(tuple(map(AclEntry, sorted(self.wanted))), self.owns)

    @property
    def file(self) -> Document:
        """Its repository as read, with the position of each entry."""
        return read_yaml(write_yaml(self.document), f"{self.prefix}.yaml")

    def reaches(self, other: Team) -> bool:
        """Whether its ACLs may decide on the names of ``other``."""
        return self.prefix[:2] == other.prefix[:2]

    def owned(self, acls: set[Acl]) -> set[Acl]:
        return {acl for acl in acls if is_owned(acl, self.owns)}

    def change_its_mind(self, random: Random) -> None:
        self.wanted ^= {self.some_acl(random)}


class Platform(Team):
    """The team that owns ``*``, which matches the other teams' names."""

    pattern_type = PatternType.LITERAL

    def some_acl(self, random: Random) -> Acl:
        return some_acl(random, "*")._replace(resource_name="*", pattern_type=self.pattern_type)


class Sprawling(Team):
    """A team that sometimes writes ACLs outside its own, also on other teams' names."""

    def some_acl(self, random: Random) -> Acl:
        prefix = random.choice([self.prefix, self.prefix, self.prefix[:2], f"{self.prefix[:3]}-"])
        return some_acl(random, prefix, denies=False)


class Week:
    """A week of a target in memory; ``refused`` are the refused plans with the reasons, and
    ``undone`` the ACLs that one team removed and another wanted."""

    def __init__(
        self, seed: int, *, has_platform: bool = False, others: tuple[str, ...] = ()
    ) -> None:
        self.random = Random(seed)
        self.teams = [Team("pay-", self.random), Team("shop-", self.random)]
        self.teams += [Sprawling(prefix, self.random) for prefix in others]
        self.undone: set[Acl] = set()
        if has_platform:
            self.teams.append(Platform("*", self.random))
        self.finished = 0
        self.target = MemoryTarget({some_acl(self.random, "legacy-") for _ in range(3)})
        self.meddled: set[str] = set()
        self.refused: list[tuple[Team, list[ChangeSincePlan]]] = []
        self.applied = 0

    def run(self) -> None:
        for _ in range(HOURS):
            self.random.choice([self.plan, self.plan, self.apply, self.apply, self.stranger])()
        for team in self.teams:
            self.plan_of(team)
            self.apply_of(team)

    def plan(self) -> None:
        team = self.random.choice(self.teams)
        team.change_its_mind(self.random)
        self.plan_of(team)

    def plan_of(self, team: Team) -> None:
        plan = make_plan(self.target.acls, team.document, prune=True)
        team.plan = plan_to_save("memory", self.target.acls, plan, AuthorizerConfig())
        team.reviewed = set(team.wanted)
        team.is_killed = team.is_reached = False
        self.meddled.discard(team.prefix)

    def apply(self) -> None:
        self.apply_of(self.random.choice(self.teams))

    def apply_of(self, team: Team) -> None:
        plan, team.plan = team.plan, None
        if plan is None:
            return
        before = set(self.target.acls)
        if since := list(changed_since(plan, before, AuthorizerConfig())):
            self.refused.append((team, since))
            assert team.prefix in self.meddled or team.is_reached, since
            return
        self.target.left = self.random.randrange(3) if self.random.random() < 0.2 else 1 << 30
        was_killed, team.is_killed = team.is_killed, False
        try:
            carry_out(self.target, remaining(plan, before))
        except InvalidTarget:
            team.plan, team.is_killed = plan, True
            assert list(changed_since(plan, self.target.acls, AuthorizerConfig())) == []
        else:
            self.applied += 1
            self.finished += was_killed
            assert team.owned(self.target.acls) == team.owned(team.reviewed)
        self.target.left = 1 << 30
        others = {acl for acl in before | self.target.acls if not is_owned(acl, team.owns)}
        assert (others & self.target.acls) - team.reviewed == (others & before) - team.reviewed
        if self.target.acls != before:
            self._reach_others(team)
        self._check_undone(team, before - self.target.acls)

    def _check_undone(self, team: Team, removed: set[Acl]) -> None:
        """Each reviewed ACL that was undone is in a finding of all files together."""
        undone = removed & {
            acl for other in self.teams if other is not team for acl in other.wanted
        }
        if not undone:
            return
        files = joined(each.file for each in self.teams)
        named = {each.entry.acl for each in acls_outside(files) if each.owner is not None}
        twice = [(each.first.own, each.second.own) for each in owned_twice(files)]
        assert all(
            acl in named or any(one.covers(acl) and other.covers(acl) for one, other in twice)
            for acl in undone
        )
        self.undone |= undone

    def _reach_others(self, team: Team) -> None:
        """A change on ``*`` concerns all names; a change on a name concerns this name and ``*``."""
        for other in self.teams:
            is_platforms = isinstance(team, Platform) or isinstance(other, Platform)
            other.is_reached |= other is not team and (is_platforms or team.reaches(other))

    def stranger(self) -> None:
        """A person with kafka-acls: mostly on other names, sometimes on names that a team owns or
        reads."""
        if self.random.random() < 0.8:
            self.target.acls ^= {some_acl(self.random, "legacy-")}
            for platform in self.teams[2:]:
                platform.is_reached = True
            return
        team = self.random.choice(self.teams)
        self.target.acls ^= {team.some_acl(self.random)}
        self.meddled.add(team.prefix)
        self._reach_others(team)


@pytest.mark.once
@pytest.mark.parametrize(("has_platform", "weeks"), [(False, WEEKS), (True, WEEKS // 2)])
def test_a_week_of_two_teams_many_times(has_platform: bool, weeks: int) -> None:
    """The other team's changes refuse no plan. A change by a stranger inside a team's own does, and
    so does a change by the owner of ``*`` if it turned another answer."""
    refused = applied = finished = 0
    for seed in range(weeks):
        week = Week(seed, has_platform=has_platform)
        try:
            week.run()
        except AssertionError as failure:
            failure.add_note(f"in Week({seed}, has_platform={has_platform})")
            raise
        refused += len(week.refused)
        applied += week.applied
        finished += week.finished
        assert week.undone == set()
        assert not [*owned_twice(joined(each.file for each in week.teams))]
    assert applied > 20 * weeks
    assert 0 < refused < applied
    assert finished > weeks


def test_what_teams_with_overlapping_prefixes_undo_is_among_the_findings_on_ownership() -> None:
    weeks = [Week(seed, others=("pay-eu", "shop-us")) for seed in range(WEEKS // 5)]
    for seed, week in enumerate(weeks):
        try:
            week.run()
        except AssertionError as failure:
            failure.add_note(f"in Week({seed}, others=…)")
            raise
    assert all(week.undone for week in weeks)
    assert sum(week.applied for week in weeks) > 10 * len(weeks)


@pytest.mark.once
def test_a_week_of_two_teams_on_a_node(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """By the command over the network: a plan a day for each team, applied the next day."""
    random = Random(18)
    teams = [Team("pay-", random), Team("shop-", random)]
    with running_in(formatted(tmp_path / "node")) as node:
        url = f"cluster://{node.addresses['PLAINTEXT']}"

        def metalog(verb: str, *arguments: object) -> int:
            return main([verb, url, *map(str, arguments), "--super-users", "User:ANONYMOUS", "-q"])

        def held() -> set[Acl]:
            return set(open_source(url, environ={}).store.state().document.acls)  # type: ignore[union-attr]

        def file(team: Team, suffix: str) -> Path:
            return tmp_path / f"{team.prefix}{suffix}"

        def plan(team: Team) -> None:
            file(team, "acls.yaml").write_text(write_yaml(team.document))
            team.reviewed = set(team.wanted)
            saved = "--save", file(team, "plan.json")
            assert metalog("plan", file(team, "acls.yaml"), "--prune", *saved) == 0

        for team in teams:
            plan(team)
        for _ in range(7):
            for team in teams:
                legacy = ("--add", "--allow-principal", "User:z", "--operation", "Read")
                name = f"legacy-{random.randrange(99)}"
                assert metalog("kafka-acls", *legacy, "--topic", name) == 0
                before = held()
                assert metalog("apply", file(team, "plan.json")) == 0
                now = held()
                assert team.owned(now) == team.reviewed
                assert now - team.owned(now) == before - team.owned(before)
                team.change_its_mind(random)
                plan(team)
        capsys.readouterr()
        meddling = ("--add", "--allow-principal", "User:z", "--operation", "All")
        assert metalog("kafka-acls", *meddling, "--topic", "pay-new") == 0
        assert metalog("apply", file(teams[0], "plan.json")) == 2
        assert (
            "ALLOW User:z ALL on topic pay-new from any host was added: the plan's files own it"
        ) in capsys.readouterr().err
        assert metalog("apply", file(teams[1], "plan.json")) == 0
