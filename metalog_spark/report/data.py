"""Computes a report's contents from the gathered input.

A team's page has the rows whose principal or resource the team owns. The coverage is that of the
whole cluster, because unlogged requests can concern any team. This module must not know Spark, nor
HTML.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from metalog.acl import words_of
from metalog.text.plurals import counted, plural, ranged
from metalog_spark.findings.usage.acl_lifetimes import ACL_COLUMNS, acl_of
from metalog_spark.report import sections
from metalog_spark.report.access import access
from metalog_spark.report.contents import (
    SECTIONS,
    Access,
    Excess,
    Number,
    ReportContents,
    Section,
    TimeBars,
    can_go_text,
)
from metalog_spark.report.rows import Row, Rows
from metalog_spark.report.text.times import configuration_text, log_end
from metalog_spark.report.text.words import day, roughly, share
from metalog_spark.report.traffic import EVERYBODY, Traffic, counts_by_bar

if TYPE_CHECKING:
    from metalog.acl import Acl
    from metalog_spark.report.gather import Gathered, Parts
    from metalog_spark.report.triage.owners import Team

_MOST_SHOWN: Final = 10
_COMMON_WORDS: Final = ("log", "logs", "data", "metadata", "tables", "__cluster_metadata-0")


class _TeamFilter(NamedTuple):
    """Selects the rows of one team; None selects all rows."""

    team: Team | None

    def has_principal(self, name: str) -> bool:
        return self.team is None or self.team.owns_principal(name)

    def has_acl(self, acl: Acl) -> bool:
        return self.team is None or self.team.covers(acl)

    def has_row(self, row: Row) -> bool:
        """``row`` has the columns of an ACL."""
        return self.team is None or self.has_acl(acl_of(row[name] for name in ACL_COLUMNS))

    def has_pattern(self, row: Row) -> bool:
        """``row`` has the columns of a pattern, and a principal."""
        return self.has_row({"host": "*", "operation": "ALL", "permission_type": "ALLOW", **row})

    def has_exposed(self, row: Row) -> bool:
        acl = row["acl"]
        return self.has_principal(row["principal"]) or (acl is not None and self.has_row(acl))


class _Uses(NamedTuple):
    """Counts of grants (ALLOW) in force, by their use."""

    grants: int
    used: int
    can_go: int
    unknown: int


def contents(
    gathered: Gathered,
    team: Team | None,
    *,
    teams: Sequence[tuple[str, str]] = (),
    made_by: str = "",
    section_command: str = "",
) -> ReportContents:
    """The page of ``team``, or of the whole cluster."""
    owned, parts = _TeamFilter(team), gathered.parts
    traffic = gathered.traffic[EVERYBODY if team is None else team.name]
    acls, least = _in_force(parts, owned), _least(parts, owned)
    uses = None if parts.unused.refused else _uses(acls)
    can_go = None if uses is None else uses.can_go
    disagreeing = _of_team(parts.disagreements, owned)
    excess = [row for row in least if row["excess"] > 0]
    return ReportContents(
        cluster=_cluster_name(gathered),
        team=None if team is None else team.name,
        facts=tuple(_facts(gathered)),
        sentence=_sentence(uses, sum(map(owned.has_acl, gathered.acls)), traffic),
        caveats=tuple(_caveats(parts)),
        numbers=(
            Number(
                traffic.requests,
                f"{plural(traffic.requests, 'answer')}, {sum(traffic.denied):,} denied",
                "window",
            ),
            Number(can_go, f"{plural(can_go or 0, 'grant')} that can go", "unused"),
            _dangers(list(filter(owned.has_exposed, parts.exposure))),
            Number(
                disagreeing.requests,
                plural(
                    disagreeing.requests,
                    "answer that contradicts the ACLs",
                    "answers that contradict the ACLs",
                ),
                "disagreements",
            ),
        ),
        window=_window(gathered, owned, traffic),
        excess=tuple(map(_excess, excess[:_MOST_SHOWN])),
        excess_says=_excess_says(gathered, len(excess), len(least)),
        access=_access(gathered, owned, acls),
        sections=tuple(section_of(parts, section, team) for section in SECTIONS),
        teams=tuple(teams),
        made_by=made_by,
        section_command=section_command,
    )


def section_of(parts: Parts, section: str, team: Team | None) -> Section:
    """One of ``SECTIONS``. Only the ``parts`` that the section needs are computed."""
    owned = _TeamFilter(team)
    end = log_end(parts.history, parts.window)
    made: dict[str, Callable[[], Section]] = {
        "may": lambda: sections.access(list(filter(owned.has_pattern, parts.may)), end),
        "unused": lambda: _unused(parts, owned, end),
        "least": lambda: sections.least(parts.least, _least(parts, owned), end),
        "exposure": lambda: sections.exposure(list(filter(owned.has_exposed, parts.exposure)), end),
        "denied": lambda: sections.denied(_of_team(parts.denied, owned)),
        "drift": lambda: sections.drift(
            list(filter(owned.has_row, parts.drift)), parts.configs, parts.since, end
        ),
        "disagreements": lambda: sections.disagreements(_of_team(parts.disagreements, owned)),
        "unseen": lambda: sections.unseen(parts),
    }
    return made[section]()


def _in_force(parts: Parts, owned: _TeamFilter) -> list[Row]:
    return [row for row in parts.unused.rows if row["alive"] and owned.has_row(row)]


def _least(parts: Parts, owned: _TeamFilter) -> list[Row]:
    rows = [row for row in parts.least.rows if owned.has_principal(row["principal"])]
    return sorted(rows, key=lambda row: (-row["excess"], row["principal"]))


def _uses(acls: Sequence[Row]) -> _Uses:
    grants = [row for row in acls if row["permission_type"] == "ALLOW"]
    states = [row["state"] for row in grants]
    return _Uses(
        len(grants),
        states.count("USED"),
        sum(row["can_go"] for row in grants),
        states.count("UNKNOWN"),
    )


def _unused(parts: Parts, owned: _TeamFilter, end: str) -> Section:
    acls = _in_force(parts, owned)
    today = [] if parts.unused.refused else parts.usage_counts.lifetimes.at(None)
    return sections.unused(parts.unused, acls, len(_not_judged(acls, today, owned)), end)


def _not_judged(judged: Sequence[Row], today: Sequence[Acl], owned: _TeamFilter) -> list[Acl]:
    known = {acl_of(row[name] for name in ACL_COLUMNS) for row in judged}
    return [acl for acl in today if owned.has_acl(acl) and acl not in known]


def _access(gathered: Gathered, owned: _TeamFilter, judged: Sequence[Row]) -> Access:
    parts = gathered.parts
    later = _not_judged(judged, gathered.acls, owned)
    own = _least(parts, owned)
    order = [row["principal"] for row in (*own, *_least(parts, _TeamFilter(None)))]
    made = access([*judged, *map(_without_finding, later)], order)
    says = f"{made.says}, for the ACLs in force at {log_end(parts.history, parts.window)}."
    if any(row["excess"] > 0 for row in own):
        says += (
            " The principals with the most excess come first."
            if owned.team is None
            else " The team's own principals come first, sorted by excess."
        )
    if judged and later:
        says += f" The use of {counted(len(later), 'ACL')} that came after this window is unknown."
    return made._replace(says=says)


def _without_finding(acl: Acl) -> Row:
    return {**dict(zip(ACL_COLUMNS, words_of(acl), strict=True)), "state": "UNKNOWN"}


def _of_team(rows: Rows, owned: _TeamFilter) -> Rows:
    return rows if owned.team is None else rows.of_teams.get(owned.team.name, Rows())


def _cluster_name(gathered: Gathered) -> str:
    if gathered.name is not None:
        return gathered.name
    place = next((str(row["source"]) for row in gathered.parts.history), gathered.path)
    words = [word.rstrip("*?") for word in reversed(place.split("/"))]
    return next((word for word in words if word and word not in _COMMON_WORDS), place)


def _facts(gathered: Gathered) -> list[tuple[str, str]]:
    first, last = day(gathered.parts.window.start_us), day(gathered.parts.window.end_us - 1)
    sources = dict.fromkeys(row["source"] for row in gathered.parts.history)
    ends = [row["to_offset"] for row in gathered.parts.history if row["to_offset"] is not None]
    begins = [
        row["from_offset"] for row in gathered.parts.history if row["from_offset"] is not None
    ]
    log = ", ".join(sources) or "none"
    if ends and begins:
        log += f" (start offset {min(begins):,}, end offset {max(ends):,})"
    brokers = len(gathered.strips) - 1
    return [
        ("Window", ranged(first, last)),
        ("Metadata log", log),
        ("Audit logs", f"{counted(gathered.lines, 'line')} of {counted(brokers, 'broker')}"),
        ("Configuration", configuration_text(gathered.periods, gathered.parts.window)),
    ]


def _sentence(uses: _Uses | None, acls: int, traffic: Traffic) -> str:
    answers = roughly(traffic.requests)
    if uses is None:
        return (
            f"The use of {counted(acls, 'ACL')} is unknown, because no allowed request is certain."
        )
    if not uses.grants:
        return (
            f"There is no grant, and {answers}"
            f" {plural(traffic.requests, 'answer was', 'answers were')} given."
        )
    were = "was" if 1 in (uses.used, uses.grants) else "were"
    used = f"{uses.used:,} of {counted(uses.grants, 'grant')} {were} used"
    if uses.can_go or not uses.unknown:
        left = f"; the use of {uses.unknown:,} is unknown" if uses.unknown else ""
        return (
            f"{used}; {can_go_text(uses.can_go)} without changing any of {answers}"
            f" {plural(traffic.requests, 'answer')}{left}."
        )
    return f"{used}; the use of the other {uses.unknown:,} is unknown, so none is called unused."


def _caveats(parts: Parts) -> Iterator[str]:
    seen = parts.seen
    if seen.share_without_controller > parts.tolerated:
        yield seen.kept_text()
    if seen.broken:
        yield seen.broken_text()
    yield from seen.clocks
    if seen.ambiguous:
        yield seen.ambiguous_text()
    if seen.waiting is not None:
        yield seen.waiting.uses_text()
    if seen.uncounted is not None:
        yield seen.uncounted.uses_text()
    if seen.later is not None:
        yield seen.later.text()


def _dangers(exposed: Sequence[Row]) -> Number:
    errors, warnings = (
        sum(row["severity"] == severity for row in exposed) for severity in ("ERROR", "WARNING")
    )
    dangers = errors + warnings
    text = f"{plural(dangers, 'danger')}, {counted(errors, 'error')} among them"
    return Number(dangers, text, "exposure")


def _window(gathered: Gathered, owned: _TeamFilter, traffic: Traffic) -> TimeBars:
    bars = gathered.bars
    changed = [bar for bar, acl in gathered.changes if owned.has_acl(acl_of(acl))]
    *brokers, log = gathered.strips
    both, denials, nothing = (sum(strip.hours[part] for strip in brokers) for part in range(3))
    hours = both + denials + nothing
    days = -(-sum(log.hours) // 24)
    says = (
        f"{counted(days, 'day')} of {counted(len(brokers), 'broker')}: allowed and denied requests "
        f"are known for {share(both, hours)} of all hours, only denials for "
        f"{share(denials, hours)}, nothing for {share(nothing, hours)}."
    )
    if log.hours[2]:
        says += f" The metadata log is missing for {counted(log.hours[2], 'hour')}."
    return TimeBars(
        bars.start,
        bars.step,
        traffic.allowed,
        traffic.denied,
        counts_by_bar(changed, bars),
        gathered.strips,
        says,
    )


def _excess(row: Row) -> Excess:
    return Excess(
        row["principal"],
        row["granted"],
        row["used"],
        row["acls_today"],
        row["acls_least"],
        sections.lines(row["remedy"]),
        sections.remark(row),
    )


def _excess_says(gathered: Gathered, excessive: int, principals: int) -> str:
    if gathered.parts.least.refused:
        return f"Not known: {gathered.parts.least.refused}."
    if not excessive:
        return "No principal is granted more than the proposed ACLs allow."
    among = counted(principals, "principal")
    first = f"; the first {_MOST_SHOWN} are shown" if excessive > _MOST_SHOWN else ""
    are = plural(excessive, "is", "are")
    return (
        f"{excessive:,} of {among} {are} granted more than the proposed ACLs allow{first}."
        " The columns Used and Granted count pairs of an operation and a known name. The column"
        f" ACLs counts ACLs in force at {log_end(gathered.parts.history, gathered.parts.window)}"
        " and the proposed ACLs. The commands replace the ACLs in force by the proposed ACLs."
    )
