"""Measures proofs on large sets of ACLs, and writes bench/proofs.md.

The jobs: a change of ten among many ACLs, the equivalence of two sets that are written
differently, and a claim about a prefix. Each job is a fresh process, so that its memory can be
measured. This program writes every number in the page.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from pathlib import Path
from random import Random
from resource import RUSAGE_SELF, getrusage
from typing import Final, NamedTuple

import workloads

from authorizer.analysis.cells.claims import AccessClaim, ClaimKind, prove
from authorizer.analysis.cells.clients import ANY_HOST
from authorizer.analysis.cells.difference import SetComparison
from authorizer.analysis.cells.names import NamePattern
from authorizer.analysis.cells.sessions import PrincipalSet, Requests, checked_operations
from authorizer.config import AuthorizerConfig
from metalog.acl import (
    SUPPORTED_OPERATIONS,
    Acl,
    Operation,
    PatternType,
    PermissionType,
    ResourceType,
)

ROOT: Final = Path(__file__).parents[1]
KINDS: Final = (ResourceType.TOPIC, ResourceType.TOPIC, ResourceType.TOPIC, ResourceType.GROUP)
CONFIG: Final = AuthorizerConfig(frozenset({"User:admin"}))
FULL: Final = (10_000, 20_000, 50_000)
QUICK: Final = (1_000, 2_000)


class ProofJob(NamedTuple):
    """A job, and its limit: ``most_s`` seconds with ``at`` ACLs."""

    name: str
    title: str
    at: int
    most_s: int


JOBS: Final = (
    ProofJob("change", "a change of 10 ACLs: every request whose answer changes", 10_000, 2),
    ProofJob("same", "two sets, shuffled, one with each ALL written as its operations", 50_000, 60),
    ProofJob("claim", "nobody but its team may do anything on topics of a prefix", 50_000, 1),
)


def acls_of(number: int, random: Random) -> list[Acl]:
    """Teams with fifty ACLs each, on the team's own names. One ACL in thirty is for every
    principal, one in fifty names a host."""
    acls: dict[Acl, None] = {}
    while len(acls) < number:
        team = random.randrange(number // 50 + 1)
        kind = random.choice(KINDS)
        is_prefix = random.random() < 0.3
        name = f"team{team:04d}-"
        if not is_prefix or random.random() < 0.5:
            name += f"{random.choice('abcdef')}{random.randrange(30)}"
        everybody = random.random() < 0.03
        acl = Acl(
            kind,
            name,
            PatternType.PREFIXED if is_prefix else PatternType.LITERAL,
            "User:*" if everybody else f"User:app{team:04d}-{random.randrange(5)}",
            f"10.0.{team % 250}.{random.randrange(9)}" if random.random() < 0.02 else "*",
            random.choice([*sorted(SUPPORTED_OPERATIONS[kind]), Operation.ALL]),
            PermissionType.ALLOW if random.random() < 0.95 else PermissionType.DENY,
        )
        acls[acl] = None
    return list(acls)


def rewritten(acls: list[Acl], random: Random) -> list[Acl]:
    """The same meaning with other ACLs in another order."""
    written = []
    for acl in acls:
        is_all = acl.operation is Operation.ALL
        operations = SUPPORTED_OPERATIONS[acl.resource_type] if is_all else [acl.operation]
        written += [acl._replace(operation=operation) for operation in sorted(operations)]
    random.shuffle(written)
    return written


def claim_of(team: int) -> AccessClaim:
    """The claim that only a team's own principals may use the topics with its prefix."""
    kind = ResourceType.TOPIC
    holders = frozenset({"User:admin", *(f"User:app{team:04d}-{app}" for app in range(5))})
    names = NamePattern(f"team{team:04d}-")
    requests = Requests(PrincipalSet(holders), ANY_HOST, checked_operations(kind), kind, names)
    return AccessClaim(ClaimKind.DENY, (requests,))


def run(name: str, number: int) -> dict[str, float]:
    random = Random(23)
    acls = acls_of(number, random)
    other = rewritten(acls, random) if name == "same" else acls[5:]
    if name == "change":
        new = Acl(
            ResourceType.TOPIC,
            "",
            PatternType.PREFIXED,
            "User:new",
            "*",
            Operation.READ,
            PermissionType.ALLOW,
        )
        other += [new._replace(resource_name=f"team000{team}") for team in range(5)]
    claims = (claim_of(team) for team in range(number // 50)) if name == "claim" else ()
    claim = next(
        (candidate for candidate in claims if prove(acls, CONFIG, candidate).is_proven), None
    )
    begun, cpu = time.perf_counter(), time.process_time()
    if claim is not None:
        cells, found = prove(acls, CONFIG, claim).cells, 0
    else:
        compared = SetComparison(acls, other, CONFIG)
        found = sum(1 for _ in compared.differences()) + len(list(compared.by_type()))
        cells = compared.cells
    return {
        "seconds": time.perf_counter() - begun,
        "cpu": time.process_time() - cpu,
        "cells": cells,
        "found": found,
        "megabytes": getrusage(RUSAGE_SELF).ru_maxrss / 1024,
    }


def page(figures: dict[tuple[str, int], dict[str, float]], command: str) -> str:
    lines = [
        "# Proofs on many ACLs",
        "",
        f"`{command}` writes this page. Teams have fifty ACLs each, for names of their own; one in",
        "thirty is for everybody, one in fifty names a host. A cell is one operation of one kind",
        "of request. Memory is the whole process's, with both sets.",
        "",
        "| what | ACLs | cells | seconds | CPU seconds | MB | at most |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    for job in JOBS:
        for (name, number), got in figures.items():
            if name == job.name:
                most = f"{job.most_s} s" if number == job.at else ""
                lines.append(
                    f"| {job.title} | {number:,} | {got['cells']:,.0f} | {got['seconds']:.2f} |"
                    f" {got['cpu']:.2f} | {got['megabytes']:,.0f} | {most} |"
                )
    lines += [
        "",
        "The cells, and with them time and memory, grow with the ACLs that a change or a claim",
        "touches, not with the product of principals, hosts and names. A principal or host is",
        "decided separately only where its own ACLs match. The answers for everybody else are",
        "decided once. The rest of the time is one pass over the ACLs.",
    ]
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="rough, in seconds")
    parser.add_argument("--job", nargs=2, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.job:
        name, number = arguments.job
        print(json.dumps(run(name, int(number))))
        return
    figures = {}
    for job in JOBS:
        for number in QUICK if arguments.quick else FULL:
            command = [sys.executable, __file__, "--job", job.name, str(number)]
            done = subprocess.run(command, check=True, capture_output=True, text=True)
            figures[job.name, number] = json.loads(done.stdout)
    text = page(figures, "make bench-proofs" + (" QUICK=1" if arguments.quick else ""))
    workloads.FOLDER.mkdir(parents=True, exist_ok=True)
    target = workloads.FOLDER if arguments.quick else ROOT / "bench"
    (target / "proofs.md").write_text(text)
    print(text)


if __name__ == "__main__":
    main()
