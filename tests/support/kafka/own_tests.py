"""Kafka's own test classes, run against a node of ours through its addresses: `make kafka-tests`.

These tests reach their cluster through an interface, which Kafka's admin client implements here.
docs/reference/kafka-tests.md gets the results. This module must not know what a
test asks.

    python -m tests.support.kafka.own_tests JARS
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.support.disk.written_log import formatted
from tests.support.kafka.cases import REPOSITORY
from tests.support.node.running import running_in

CLASSES = (
    "org.apache.kafka.tools.AclCommandTest",
    "org.apache.kafka.tools.UserScramCredentialsCommandTest",
)
PAGE = REPOSITORY / "docs" / "reference" / "kafka-tests.md"
_SOURCE = Path(__file__).parent / "java" / "KafkaTests.java"
_BEGIN, _END = "<!--runs-->\n", "<!--end of runs-->"


def outcomes(jars: Path) -> Iterator[tuple[str, str]]:
    """Each case as ``Class.method``, and its result: ``passed``, or ``failed`` and why."""
    with TemporaryDirectory() as folder:
        log = Path(folder) / "log"
        formatted(log)
        with running_in(log) as node:
            addresses = [str(node.addresses[name]) for name in ("PLAINTEXT", "CONTROLLER")]
            command = ["java", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-cp", f"{jars}/*"]
            done = subprocess.run(
                [*command, str(_SOURCE), *addresses, *CLASSES],
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                text=True,
                check=True,
            )
    for line in done.stdout.splitlines():
        if line.startswith("CASE\t"):
            _, case, outcome = line.split("\t", 2)
            yield case, outcome.replace("\t", ": ")


def rendered(page: str, found: list[tuple[str, str]]) -> str:
    """``page`` with a table of ``found`` between its marks."""
    passed = sum(1 for _, outcome in found if outcome == "passed")
    head = f"On {datetime.now(UTC):%Y-%m-%d}, {passed} of {len(found)} passed.\n\n"
    rows = "".join(f"| `{case}` | {outcome[:200]} |\n" for case, outcome in sorted(found))
    table = head + "| case | outcome |\n|---|---|\n" + rows
    between = re.compile(re.escape(_BEGIN) + ".*?" + re.escape(_END), re.DOTALL)
    return between.sub(lambda _: _BEGIN + "\n" + table + "\n" + _END, page)


if __name__ == "__main__":
    FOUND = list(outcomes(Path(sys.argv[1]).resolve()))
    PAGE.write_text(rendered(PAGE.read_text(), FOUND))
    print("".join(f"{case}: {outcome}\n" for case, outcome in FOUND), end="")
