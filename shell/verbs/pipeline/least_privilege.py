"""``metalog pipeline least-privilege DIR``: the narrowest ALLOWs that the requests needed.

This module must not know how the least set is found.
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any, Final

from metalog.acl import WILDCARD_PRINCIPAL, acl_fields
from metalog.errors import InvalidRequest
from metalog.text.plurals import counted, plural
from metalog.text.visible_text import shown
from metalog_sources.formats.document import AclEntry, AclNotes, Document, Own
from shell.arguments.pipeline import add_spark, check_installed, opened_folder
from shell.options import at_least
from shell.output.output import Cell, Output
from shell.tasks.acl_words import sentence
from shell.tasks.command_target import ANY_CLUSTER
from shell.views.accepted_findings import (
    AcceptedFindings,
    accepted_json,
    accepted_text,
    add_accepted,
)
from shell.views.pipeline.findings import (
    FindingOptions,
    add_tolerance,
    add_window,
    chosen_window,
    print_basis,
    say_missing,
    share_of,
)
from shell.views.plans.plan import SIGNS, print_commands

if TYPE_CHECKING:
    from metalog_sources.targets.plan import PlanStep
    from metalog_spark.findings.least_privilege import LeastSet, PrincipalProposal
    from metalog_spark.findings.windows.window import Window
    from metalog_spark.report.triage.accepted import Accepted
    from metalog_spark.store.table_store import Tables

USAGE: Final = "DIR [--from MOMENT] [--to MOMENT] [--principal TYPE:NAME] [options]"
FORMATS: Final = ("text", "json", "commands", "yaml")
PAGED: Final = True
EPILOG: Final = """\
metalog pipeline least-privilege DIR --from -90d
metalog pipeline least-privilege DIR --principal User:app            ACLs to add and to remove
metalog pipeline least-privilege DIR -o yaml > least.yaml
metalog plan @prod least.yaml --prune
metalog pipeline what-if DIR least.yaml                              requests that it would break

A principal gets a literal ALLOW for each resource that it used. It gets a prefixed ALLOW if enough
of the names share a prefix up to a separator (. - _) and no other known name (with --slack: few
other names) has the prefix. No principal gets more than it has today. DENYs stay, and most ALLOWs
whose use is unknown. A principal that used an ALLOW of User:* gets an ALLOW of its own.
A replay of the window proves that the proposal allows every request that was allowed and
would be allowed today.

Exit code: 0 nothing to change, 1 changes, 2 no answer."""
_SHOWN: Final = 20


def configure(parser: ArgumentParser) -> None:
    add_window(parser)
    group = parser.add_argument_group("proposal")
    group.add_argument("--principal", metavar="TYPE:NAME", help="only this principal")
    group.add_argument(
        "--prefix-from",
        type=at_least(0, "--prefix-from"),
        default=3,
        metavar="N",
        help="propose a prefix for this many names or more; 0: never (default: 3)",
    )
    group.add_argument(
        "--slack",
        type=share_of("--slack"),
        default=0.0,
        metavar="SHARE",
        help="allowed share of unused names under a proposed prefix, such as 10%% (default: 0)",
    )
    add_tolerance(group)
    add_accepted(group)
    group.add_argument("--all", action="store_true", help="print long lists in full")
    add_spark(parser)


def run(arguments: Namespace, output: Output) -> int:
    check_installed(output)
    from metalog_spark.findings.least_privilege import least_set
    from metalog_spark.findings.usage.minimal_cover import CoverLimits

    acceptances = AcceptedFindings(arguments.accepted, "least")
    limits = CoverLimits(arguments.prefix_from, arguments.slack)
    with opened_folder(arguments, output) as tables:
        window = chosen_window(arguments, tables, output)
        if arguments.principal is not None:
            _check_is_known(arguments.principal, tables, window)
        with output.busy("looking for the least set"):
            found = least_set(tables, window, limits, tolerated=arguments.tolerate)
    options = FindingOptions(tables, window, arguments.tolerate)
    say_missing(options, found.seen, output)
    if found.ends_allow_everyone:
        output.warn(
            "allow.everyone.if.no.acl.found is true: set it to false when these ACLs are in force; "
            "until it is false, a resource that loses its last ACL is open to everyone"
        )
    chosen = [each for each in found.proposals if arguments.principal in (None, each.principal)]
    proposals, accepted = acceptances.split(chosen, lambda each: {"principal": each.principal})
    acceptances.warn_of_unmatched_or_ended(output)
    if output.format == "json":
        for each, entry in [*((each, None) for each in proposals), *accepted]:
            output.record(_as_json(each, options, entry))
        output.note(_proof_text(found, arguments.principal))
    elif output.format == "commands":
        print_basis(options, found.seen, found.proof.requests, (), output)
        for each, entry in accepted:
            output.line(f"# Kept: {shown(each.principal)}: {accepted_text(entry)}.")
        print_commands(
            _ordered(proposals), ANY_CLUSTER, output, allow_everyone=found.ends_allow_everyone
        )
    elif output.format == "yaml":
        output.raw(_yaml(found, arguments.principal, [each for each, _ in accepted]).encode())
    else:
        _print(found, proposals, options, arguments, output)
        for each, entry in accepted:
            output.line(f"{shown(each.principal)} keeps its ACLs: {accepted_text(entry)}")
    return 1 if any(each.plan.steps for each in proposals) else 0


def _check_is_known(principal: str, tables: Tables, window: Window) -> None:
    from authorizer.analysis.explain.names import nearest_name
    from authorizer.trace import is_allow
    from metalog_spark.findings.windows.questions import nearest_allowed
    from metalog_spark.findings.windows.state import acls_now

    known = {acl.principal for acl in acls_now(tables) if is_allow(acl)}
    if principal in known:
        return
    name = principal if ":" in principal else f"User:{principal}"
    known |= nearest_allowed(tables, window, {principal, name})
    if principal not in known:
        near = nearest_name(name, known)
        advice = f"; did you mean {near}?" if near else ""
        raise InvalidRequest(
            f"{principal} has no ALLOW and was allowed nothing in the window{advice}"
        )


def _ordered(proposals: Sequence[PrincipalProposal]) -> list[PlanStep]:
    """Additions for all principals come before any removal."""
    from metalog_sources.targets.plan import phases

    return list(chain(*phases([step for each in proposals for step in each.plan.steps])))


def _print(
    found: LeastSet,
    proposals: Sequence[PrincipalProposal],
    options: FindingOptions,
    arguments: Namespace,
    output: Output,
) -> None:
    from metalog_spark.findings.least_privilege import USES_OF_EVERYONE

    names = {each.principal for each in proposals}
    least = sum(len(each.least) for each in proposals)
    today = sum(len(each.today) for each in proposals)
    allows = plural(least, "ALLOW")
    are = plural(today, "is", "are")
    output.prose(f"{least:,} {allows} would be enough; today there {are} {today:,}.")
    output.prose(_proof_text(found, arguments.principal))
    output.line()
    most = None if arguments.all else _SHOWN
    head = ("principal", "has", "needs", "may", "did", "left", "requests")
    rows: list[list[Cell | str]] = [[Cell(text, "faint") for text in head]]
    rows += [_cells(each) for each in proposals[:most]]
    output.aligned(rows)
    if most is not None and len(proposals) > most:
        output.line(f"… and {len(proposals) - most:,} more (--all)")
    for each in proposals[:1]:
        output.line(f"Requests of {shown(each.principal)}: {_command(each, options)}")
    output.line()
    output.prose(
        "has, needs: the principal's ALLOWs today, and in the least set. may, did, left: pairs of "
        "a known name and an operation: allowed today; used; allowed by the least set."
        + (f" User:*: {USES_OF_EVERYONE}." if WILDCARD_PRINCIPAL in names else "")
    )
    if arguments.principal is not None:
        output.line()
        for each in proposals:
            output.aligned([SIGNS[step.change], sentence(step.acl)] for step in each.plan.steps)


def _cells(each: PrincipalProposal) -> list[Cell | str]:
    numbers = (len(each.today), len(each.least), each.granted, each.used, each.left)
    return [
        Cell(shown(each.principal), "strong"),
        *(f"{number:,}" for number in numbers),
        f"{each.requests:,}",
    ]


def _proof_text(found: LeastSet, principal: str | None) -> str:
    """The proof is about all principals, even if only one ``principal`` is shown."""
    proof = found.proof
    still_allowed = proof.allowed - proof.by_super_users - proof.revoked - proof.inexpressible
    outside = [
        f"{number:,} {what}"
        for number, what in (
            (proof.by_super_users, "of super users, who need no ACL"),
            (proof.revoked, "that today's ACLs do not allow any more"),
            (proof.inexpressible, "by allow.everyone.if.no.acl.found, inexpressible as ACLs"),
        )
        if number
    ]
    others = f" Not compared: {', '.join(outside)}." if outside else ""
    whose = "" if principal is None else " of all principals"
    return (
        f"Replayed {counted(proof.requests, 'request')}{whose}: the least set allows all"
        f" {still_allowed:,} that were allowed and that today's ACLs allow, and none that is"
        f" denied today.{others}"
    )


def _command(each: PrincipalProposal, options: FindingOptions) -> str:
    from metalog_spark.findings.windows.request_rows import RequestFilter, command_for

    wanted = RequestFilter(principal=each.principal, result="ALLOWED")
    return command_for(options.tables, options.window, wanted)


def _as_json(
    each: PrincipalProposal, options: FindingOptions, entry: Accepted | None
) -> dict[str, Any]:
    from metalog_sources.targets.plan import step_fields

    return {
        "principal": each.principal,
        "aclsToday": len(each.today),
        "aclsLeast": len(each.least),
        "granted": each.granted,
        "used": each.used,
        "left": each.left,
        "excess": each.excess,
        "requests": each.requests,
        "least": [acl_fields(acl) for acl in each.least],
        "steps": [step_fields(step) for step in each.plan.steps],
        "accepted": accepted_json(entry),
        "command": _command(each, options),
    }


def _yaml(found: LeastSet, principal: str | None, accepted: Sequence[PrincipalProposal]) -> str:
    """The principals of ``accepted`` keep today's ACLs. The YAML has ``owns``, so that ``metalog
    plan --prune`` removes the other ACLs."""
    from metalog_sources.formats.yaml import write_yaml
    from metalog_spark.findings.producers import HARDCODE

    proposed = {acl for each in accepted for acl in each.least}
    today = {acl for each in accepted for acl in each.today}
    acls = [acl for acl in found.acls if acl not in proposed - today]
    acls += [acl for each in accepted for acl in each.today if acl not in acls]
    acls = [acl for acl in acls if principal in (None, acl.principal)]
    entries = (
        AclEntry(acl, _NOTED if acl.resource_name == HARDCODE else AclNotes()) for acl in acls
    )
    return write_yaml(Document(tuple(entries), (Own(principal=principal),)))


_NOTED: Final = AclNotes(comment="For idempotent producers, Kafka checks this name first (KIP-679)")
