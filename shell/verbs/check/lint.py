"""``metalog lint SOURCE``: ACLs that are wrong, useless or dangerous.

This module must not know what any check looks for.
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from operator import attrgetter
from typing import Any, Final

from authorizer.analysis.changes.upgrade import UpgradeEffect
from authorizer.analysis.lint.checks import CHECKS, CheckResult, lint, worst
from authorizer.analysis.lint.finding import Check, Finding, LintSubject, Severity
from authorizer.analysis.lint.upgrade import upgrade_checks
from authorizer.kafka_version import KafkaVersion
from metalog.acl import acl_fields
from metalog.errors import InvalidRequest
from metalog.gc_pause import gc_paused
from metalog.hosts.host_block import has_block
from metalog.image.state.features import CIDR_HOSTS_SINCE
from metalog.text.plurals import counted, plural
from metalog.text.visible_text import safe, shown
from shell.context import add_config, add_source
from shell.inputs.batch_questions import BatchQuestions
from shell.inputs.lint_input import LintInput, read_lint_input
from shell.output.output import Output
from shell.tasks.acl_words import sentence
from shell.tasks.upgrade_audit import turned_requests
from shell.views.other_kafka import say_other_result

USAGE: Final = "SOURCE [--only ID] [--except ID] [--for VERSION] [--fail-on SEVERITY] [options]"
FORMATS: Final = ("text", "json", "sarif", "github", "junit")
PAGED: Final = True
EPILOG: Final = """\
metalog lint /var/kafka/metadata --config server.properties
metalog lint acls/ -o github --fail-on warning       in a pull request
metalog lint SOURCE --for 4.4 --audit kafka-authorizer.log      what an upgrade changes

Exit code: 0 no finding of the severity of --fail-on or worse, 1 such a finding, or a changed
answer to a request of --audit, 2 no answer, or an unreadable line of --audit."""

_FINDINGS_SHOWN: Final = 20
_STYLES: Final = {Severity.ERROR: "bad", Severity.WARNING: "warn", Severity.INFO: "faint"}
_GITHUB: Final = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "notice"}
_SEVERITIES: Final = {severity.name.lower(): severity for severity in reversed(Severity)}


def configure(parser: ArgumentParser) -> None:
    add_source(parser)
    add_config(parser)
    group = parser.add_argument_group("checks")
    group.add_argument(
        "--only", action="append", metavar="ID", help="run only this check; repeatable"
    )
    group.add_argument(
        "--except", action="append", metavar="ID", help="skip this check; repeatable"
    )
    group.add_argument(
        "--fail-on",
        choices=_SEVERITIES,
        metavar="SEVERITY",
        help="exit with 1 for this severity or worse: error, warning, info (default: info; "
        "with --for: error)",
    )
    group.add_argument("--all", action="store_true", help="print long lists in full")
    group.add_argument(
        "--for",
        metavar="VERSION",
        help="instead of the checks, print the decisions that change under VERSION: 4.3 or 4.4",
    )
    group.add_argument(
        "--audit",
        metavar="FILE",
        help="with --for: count the logged requests whose decision changes",
    )
    group.set_defaults(requests=None)


def run(arguments: Namespace, output: Output) -> int:
    checks, version = _chosen(arguments), _version(arguments)
    if version is not None:
        checks = upgrade_checks(version)
    lint_input = read_lint_input(arguments, output)
    with gc_paused():
        results = lint(lint_input.subject, checks)
    _say_left_out(results, output)
    if output.is_text:
        _print(results, lint_input, output, whole=arguments.all)
    elif output.format == "json":
        for check, finding in _findings(results):
            output.record(_as_json(check, finding, lint_input))
    elif output.format == "sarif":
        from shell.output.sarif import print_sarif

        print_sarif(results, lint_input, output)
    elif output.format == "github":
        _print_annotations(results, lint_input, output)
    else:
        _print_junit(results, output)
    code = 0
    if version is not None:
        code = _say_upgrade(lint_input, version, arguments, output)
    elif lint_input.is_kafka_assumed:
        _say_if_other_kafka_differs(results, lint_input.subject, checks, output)
    found = worst(results)
    if code:
        return code
    fails_on = arguments.fail_on or ("info" if version is None else "error")
    return 1 if found is not None and found >= _SEVERITIES[fails_on] else 0


def _say_if_other_kafka_differs(
    results: Sequence[CheckResult], subject: LintSubject, checks: Sequence[Check], output: Output
) -> None:
    if not has_block(acl.host for acl in subject.acls):
        return
    config = subject.config
    other = config._replace(kafka_version=config.kafka.other)
    found, other_found = (
        dict.fromkeys(_findings(each))
        for each in (results, lint(subject._replace(config=other), checks))
    )
    differing = {finding.acl for _, finding in found.keys() ^ other_found.keys()}
    if differing:
        say_other_result(filter(differing.__contains__, subject.acls), config.kafka, output)


def _say_upgrade(
    lint_input: LintInput, to: KafkaVersion, arguments: Namespace, output: Output
) -> int:
    """Returns the exit code for ``--audit``: 2 if a line is unreadable, 1 if an answer changes."""
    level = lint_input.metadata_version
    if lint_input.subject.config.kafka is to:
        output.note(
            f"Kafka {to.value} is already in use; the report compares it with {to.other.value}"
        )
    if level is not None and level >= CIDR_HOSTS_SINCE:
        output.note(
            f"metadata.version is {level}: Kafka 4.3 cannot read this log, and no Kafka lowers the"
            " level, so a downgrade is impossible"
        )
    if arguments.audit is None:
        return 0
    many = BatchQuestions(Namespace(audit=arguments.audit, requests=None, question=[]))
    turned, requests = turned_requests(lint_input.subject, to, many.groups(output))
    text = f"{turned:,} of {counted(requests, 'logged request')} would get another answer."
    if output.is_text:
        output.line(text)
    else:
        output.note(text)
    return 2 if many.bad else min(turned, 1)


def _chosen(arguments: Namespace) -> list[Check]:
    known = {check.id: check for check in CHECKS}
    only, skipped = arguments.only or known, getattr(arguments, "except") or ()
    for name in (*only, *skipped):
        if name not in known:
            from authorizer.analysis.explain.names import nearest_name

            near = nearest_name(name, known.keys())
            advice = f"did you mean {near}?" if near else f"the checks are {', '.join(known)}"
            raise InvalidRequest(f"no check has the id {name!r}; {advice}")
    chosen = [check for check in CHECKS if check.id in only and check.id not in skipped]
    if not chosen:
        raise InvalidRequest("no check is left: --except leaves out all of them")
    return chosen


def _version(arguments: Namespace) -> KafkaVersion | None:
    named = getattr(arguments, "for")
    if named is None:
        if arguments.audit is not None:
            raise InvalidRequest("--audit needs --for VERSION")
        return None
    if arguments.only or getattr(arguments, "except"):
        raise InvalidRequest("--for has its own checks; leave out --only and --except")
    for version in KafkaVersion:
        if version.value == named:
            return version
    known = " or ".join(version.value for version in KafkaVersion)
    raise InvalidRequest(f"--for {named}: supported versions are Kafka {known}")


def _say_left_out(results: Iterable[CheckResult], output: Output) -> None:
    left_out: dict[str, list[str]] = {}
    for check, found in results:
        if found is None and check.needs is not None:
            left_out.setdefault(check.needs.value, []).append(check.id)
    for need, names in left_out.items():
        checks = plural(len(names), "check", "checks")
        verb = plural(len(names), "it needs", "they need")
        output.note(f"skipped {checks} {', '.join(names)}: {verb} {need}")


def _findings(results: Iterable[CheckResult]) -> Iterator[tuple[Check, Finding]]:
    return ((check, finding) for check, found in results for finding in found or ())


def _print(
    results: Sequence[CheckResult], lint_input: LintInput, output: Output, *, whole: bool
) -> None:
    for check, found in results:
        if not found:
            continue
        output.line(f"{output.paint(check.id, 'name')}: {output.paint(check.title, 'strong')}")
        kept = found if whole else found[:_FINDINGS_SHOWN]
        for heading, findings in groupby(kept, key=attrgetter("severity", "message", "advice")):
            _print_group(heading, output)
            for finding in findings:
                _print_subject(finding, lint_input, output)
        if len(kept) < len(found):
            output.line(f"    … and {len(found) - len(kept):,} more (--all)")
        output.line()
    output.line(_summary(results, len(lint_input.subject.acls)))


def _print_group(heading: tuple[Severity, str, str], output: Output) -> None:
    severity, message, advice = heading
    word = severity.name.lower()
    output.line(f"  {output.paint(word, _STYLES[severity])}{' ' * (8 - len(word))} {safe(message)}")
    if advice:
        output.line(f"  {' ' * 9}{output.paint(safe(advice), 'faint')}")


def _print_subject(finding: Finding, lint_input: LintInput, output: Output) -> None:
    where = [output.paint(text, "faint") for text in _where(finding, lint_input)]
    output.line("  ".join([f"    {_subject(finding)}", *where]))
    if finding.by is not None:
        output.line(f"      by {sentence(finding.by)}")
    for command in lint_input.target.commands(finding.commands):
        output.line(f"      {output.paint(command, 'faint')}")


def _subject(finding: Finding) -> str:
    return shown(finding.name) if finding.acl is None else sentence(finding.acl)


def _where(finding: Finding, lint_input: LintInput) -> list[str]:
    if finding.acl is None:
        return []
    position, ids = lint_input.position_of(finding), lint_input.ids(finding.acl)
    if position is not None:
        return [safe(str(position))]
    return [f"/acl/id/{each}" for each in ids] if len(ids) > 1 else []


def _summary(results: Iterable[CheckResult], acl_count: int) -> str:
    counts = Counter(finding.severity for _, finding in _findings(results))
    among = counted(acl_count, "ACL")
    if not counts:
        return f"Nothing found in {among}."
    parts = [
        counted(counts[severity], word, word if word == "info" else None)
        for word, severity in _SEVERITIES.items()
        if counts[severity]
    ]
    return f"{', '.join(parts)} in {among}."


def _as_json(check: Check, finding: Finding, lint_input: LintInput) -> dict[str, Any]:
    acl = finding.acl
    ids = [] if acl is None else lint_input.ids(acl)
    position = lint_input.position_of(finding)
    return {
        "check": check.id,
        "severity": finding.severity.name,
        "message": finding.message,
        "acl": None if acl is None else acl_fields(acl),
        "ids": ids,
        "name": finding.name or None,
        "by": None if finding.by is None else acl_fields(finding.by),
        "advice": finding.advice or None,
        "turned": [_effect_json(each) for each in finding.effects],
        **lint_input.target.as_json(finding.commands),
        "file": None if position is None else position.file,
        "line": None if position is None else position.line or None,
        "column": None if position is None else position.column or None,
    }


def _effect_json(effect: UpgradeEffect) -> dict[str, Any]:
    witness = effect.witness
    return {
        "principal": witness.principal,
        "hosts": effect.region,
        "host": witness.host,
        "resourceType": witness.resource_type.name,
        "resourceName": witness.resource_name,
        "gains": [each.name for each in sorted(effect.gains)],
        "loses": [each.name for each in sorted(effect.loses)],
    }


def _print_annotations(
    results: Sequence[CheckResult], lint_input: LintInput, output: Output
) -> None:
    from shell.output.ci_reports import annotation

    for check, finding in _findings(results):
        position = lint_input.position_of(finding)
        at = (position.file, position.line, position.column) if position is not None else ("", 0, 0)
        message = f"{_subject(finding)}: {finding.message}"
        level = _GITHUB[finding.severity]
        output.line(annotation(level, f"metalog lint: {check.id}", message, *at))


def _print_junit(results: Sequence[CheckResult], output: Output) -> None:
    from shell.output.ci_reports import Case, print_junit

    cases = []
    for check, found in results:
        failures = [f"{_subject(finding)}: {finding.message}" for finding in found or ()]
        needs = "" if check.needs is None else check.needs.value
        cases.append(Case(check.id, failures, f"needs {needs}" if found is None else None))
    print_junit("metalog lint", cases, output)
