"""Lists all lint checks, and runs them.

This module must not know what any of them looks for.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Final, NamedTuple

from authorizer.analysis.cells.names import can_be_named
from authorizer.analysis.changes.default_rule import without_cover
from authorizer.analysis.lint.finding import Check, Finding, LintSubject, Severity
from authorizer.analysis.lint.too_open import (
    all_topics,
    deny_misses_star,
    everyone,
    internal_topic,
    open_by_default,
    super_user_acl,
    super_user_like,
)
from authorizer.analysis.lint.unusual import (
    bound_twice,
    idle_deny,
    incomplete_client,
    no_owner,
    outside_owned,
    owned_twice,
    principal_type,
    principal_without_user,
    redundant,
    unknown_topic,
    user_without_acl,
)
from authorizer.analysis.lint.without_effect import (
    cluster_name,
    expired,
    host_form,
    impossible_topic,
    open_ended_prefix,
    operation,
    overridden_allow,
    principal_form,
    star_in_name,
    unknown_code,
)
from metalog.acl import WILDCARD, Acl, PatternType, ResourceType

CHECKS: Final[tuple[Check, ...]] = tuple(
    module.CHECK
    for module in (
        everyone,
        internal_topic,
        super_user_like,
        open_by_default,
        all_topics,
        deny_misses_star,
        super_user_acl,
        host_form,
        principal_form,
        star_in_name,
        impossible_topic,
        cluster_name,
        unknown_code,
        operation,
        overridden_allow,
        open_ended_prefix,
        expired,
        bound_twice,
        unknown_topic,
        principal_without_user,
        principal_type,
        idle_deny,
        redundant,
        incomplete_client,
        user_without_acl,
        owned_twice,
        outside_owned,
        no_owner,
    )
)
"""In three groups: too open, without effect, unusual."""


_ADD_ACLS_FIRST: Final = (
    "first add ACLs on this name for everybody who needs access: allow.everyone.if.no.acl.found "
    "opens a name without ACLs to everyone"
)


class CheckResult(NamedTuple):
    """One check's findings, the most severe first; None if the check was left out."""

    check: Check
    found: tuple[Finding, ...] | None


def lint(subject: LintSubject, checks: Iterable[Check] = CHECKS) -> list[CheckResult]:
    """The results of ``checks`` on ``subject``.

    No removal is advised that would open names to everybody (``allow.everyone.if.no.acl.found``).
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
    """The results without the removals that together would open a name to everybody."""
    findings = [each for result in results for each in result.found or ()]
    removed = {acl: None for each in findings if not each.add for acl in each.remove}
    left = [acl for acl in acls if acl not in removed]
    opened = {_pattern(acl) for acl in without_cover(filter(_has_a_name, removed), left)}

    def safe(finding: Finding) -> Finding:
        if finding.add or opened.isdisjoint(map(_pattern, finding.remove)):
            return finding
        advice = "; ".join(filter(None, (finding.advice, _ADD_ACLS_FIRST)))
        return finding._replace(remove=(), advice=advice)

    return [
        result._replace(found=None if result.found is None else tuple(map(safe, result.found)))
        for result in results
    ]


def _pattern(acl: Acl) -> tuple[ResourceType, str, PatternType]:
    return acl[:3]


def _has_a_name(acl: Acl) -> bool:
    kind, name, pattern = acl[:3]
    if pattern is PatternType.LITERAL:
        return name == WILDCARD or can_be_named(kind, name)
    return can_be_named(kind, name) or can_be_named(kind, f"{name}x")


def worst(results: Iterable[CheckResult]) -> Severity | None:
    return max((each.severity for result in results for each in result.found or ()), default=None)
