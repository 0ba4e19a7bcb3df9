"""Lists all lint checks, and runs them.

This module must not know what a check looks for.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Final, NamedTuple

from authorizer.analysis.cells.names import can_be_named
from authorizer.analysis.changes.default_rule import without_cover
from authorizer.analysis.lint import too_open, unusual, without_effect
from authorizer.analysis.lint.finding import Check, Finding, LintSubject, Severity
from metalog.acl import CLUSTER_NAME, WILDCARD, Acl, PatternType, ResourceType

CHECKS: Final = (*too_open.CHECKS, *without_effect.CHECKS, *unusual.CHECKS)

_ADD_ACLS_FIRST: Final = (
    "first add ACLs on this name for everybody who needs access: allow.everyone.if.no.acl.found "
    "opens a name without ACLs to everyone"
)


class CheckResult(NamedTuple):
    """A check's findings, the most severe first; None if the check's input is missing."""

    check: Check
    found: tuple[Finding, ...] | None


def lint(subject: LintSubject, checks: Iterable[Check] = CHECKS) -> list[CheckResult]:
    """The results of ``checks`` on ``subject``.

    Together, the removals can open a name to all (``allow.everyone.if.no.acl.found``), with or
    without the replacements. Findings on such a name get an empty ``remove``.
    """
    results = []
    for check in checks:
        if check.needs is not None and not subject.has(check.needs):
            results.append(CheckResult(check, None))
        else:
            findings = sorted(check.find(subject), key=lambda each: -each.severity)
            results.append(CheckResult(check, tuple(findings)))
    return _without_opening(results, subject.acls) if subject.config.allow_everyone else results


def _without_opening(results: list[CheckResult], acls: Collection[Acl]) -> list[CheckResult]:
    findings = [each for result in results for each in result.found or ()]
    opened: set[tuple[ResourceType, str, PatternType]] = set()
    for applied in (findings, [each for each in findings if not each.add]):
        removed = {acl: None for each in applied for acl in each.remove}
        left = [acl for acl in acls if acl not in removed]
        left += [acl for each in applied for acl in each.add]
        opened.update(map(_pattern, without_cover(filter(_can_match_a_name, removed), left)))

    def safe(finding: Finding) -> Finding:
        if opened.isdisjoint(map(_pattern, finding.remove)):
            return finding
        advice = "; ".join(filter(None, (finding.advice, _ADD_ACLS_FIRST)))
        return finding._replace(remove=(), advice=advice)

    return [
        result._replace(found=None if result.found is None else tuple(map(safe, result.found)))
        for result in results
    ]


def _pattern(acl: Acl) -> tuple[ResourceType, str, PatternType]:
    return acl[:3]


def _can_match_a_name(acl: Acl) -> bool:
    kind, name, pattern = acl[:3]
    if pattern is PatternType.LITERAL:
        return name == WILDCARD or can_be_named(kind, name)
    if kind is ResourceType.CLUSTER:
        return CLUSTER_NAME.startswith(name)
    return can_be_named(kind, name) or can_be_named(kind, f"{name}x")


def worst(results: Iterable[CheckResult]) -> Severity | None:
    return max((each.severity for result in results for each in result.found or ()), default=None)
