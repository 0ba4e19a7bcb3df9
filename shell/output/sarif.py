"""Writes findings as SARIF 2.1.0, the format of code scanning tools.

This module must not know how findings are computed.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Final
from urllib.parse import quote

from authorizer.analysis.lint.checks import CheckResult
from authorizer.analysis.lint.finding import Finding, Severity
from metalog.text.visible_text import safe, shown
from shell.inputs.lint_input import LintInput
from shell.output.output import Output
from shell.tasks.acl_words import sentence
from shell.version import VERSION

_SCHEMA: Final = "https://json.schemastore.org/sarif-2.1.0.json"
_LEVELS: Final = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "note"}


def print_sarif(results: Sequence[CheckResult], lint_input: LintInput, output: Output) -> None:
    rules = [
        {"id": result.check.id, "shortDescription": {"text": result.check.title}}
        for result in results
    ]
    found = [
        _result(number, result.check.id, finding, lint_input)
        for number, result in enumerate(results)
        for finding in result.found or ()
    ]
    driver = {"name": "metalog lint", "semanticVersion": VERSION, "rules": rules}
    run: dict[str, Any] = {"tool": {"driver": driver}, "columnKind": "unicodeCodePoints"}
    if output.missing:
        run["invocations"] = [_invocation(output.missing)]
    run["results"] = found
    report = {"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}
    output.line(safe(json.dumps(report, ensure_ascii=False, separators=(",", ":"))))


def _invocation(missing: Sequence[str]) -> dict[str, Any]:
    notifications = [
        {"level": "warning", "message": {"text": f"missing: {line}"}} for line in missing
    ]
    return {"executionSuccessful": True, "toolExecutionNotifications": notifications}


def _result(rule: int, check: str, finding: Finding, lint_input: LintInput) -> dict[str, Any]:
    subject = shown(finding.name) if finding.acl is None else sentence(finding.acl)
    return {
        "ruleId": check,
        "ruleIndex": rule,
        "level": _LEVELS[finding.severity],
        "message": {"text": f"{subject}: {finding.message}"},
        "locations": [_location(subject, finding, lint_input)],
    }


def _location(subject: str, finding: Finding, lint_input: LintInput) -> dict[str, Any]:
    location: dict[str, Any] = {"logicalLocations": [{"fullyQualifiedName": subject}]}
    position = lint_input.position_of(finding)
    if position is not None:
        physical: dict[str, Any] = {"artifactLocation": {"uri": quote(position.file)}}
        if position.line:
            physical["region"] = {"startLine": position.line}
            if position.column:
                physical["region"]["startColumn"] = position.column
        location["physicalLocation"] = physical
    return location
