"""Measures changes of ACLs, on Kafka and on ours side by side, and writes bench/changes.md.

The first measurement is durable creations per second, by one caller and by 64 at once. On Kafka's
side, its Java Admin client sends them to a broker and controller in one process. On ours,
``Replica.create_acls`` writes to a folder on the same disk, and syncs every group. The second is a
snapshot of many ACLs, written and loaded. Each side is a fresh process, and this program writes
every number in the page.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from threading import Thread
from typing import Any, NamedTuple

import workloads
from changes_page import LINGER, OURS, Round, page

from tests.support.kafka.tools import JARS, KAFKA_VERSION, QUIET, KafkaTools, RealKafka

ROOT = Path(__file__).parents[1]
FOLDER = workloads.FOLDER / "changes"
PEER = f"{workloads.FOLDER / 'peer' / 'peer.jar'}:{workloads.FOLDER / 'peer' / 'jars'}/*"
CALLERS = (1, 64)
ACLS = "load"
SERVERS, CONTROLLERS = "bootstrap.servers", "bootstrap.controllers"
SIDES: dict[str, tuple[str, dict[str, str]]] = {
    "Kafka": (SERVERS, {}),
    "Kafka, which waits for nothing": (SERVERS, {LINGER: "0"}),
    "Kafka's controller, which waits for nothing": (CONTROLLERS, {LINGER: "0"}),
}
_TICKS = os.sysconf("SC_CLK_TCK")


class Effort(NamedTuple):
    """Durations in seconds of elapsed time."""

    warmup_s: float
    round_s: float
    rounds: int


FULL = Effort(15, 4, 5)
QUICK = Effort(8, 2, 3)


class Server(KafkaTools):
    """Kafka as its own start script runs it, without the test settings for a fast start."""

    def command(
        self, main: str, *arguments: str | Path, logging: str = "", more_jars: str = ""
    ) -> list[str]:
        java = ["java", "-server", "-XX:+UseG1GC", "-Xmx1g", "-Xms1g", logging or "-Dquiet"]
        return [*java, "-cp", f"{self.jars}/*{more_jars}", main, *map(str, arguments)]


@contextmanager
def fresh(name: str) -> Iterator[Path]:
    folder = FOLDER / name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    yield folder
    shutil.rmtree(folder)


def rounds_of(command: list[str], server: int | None = None) -> list[Round]:
    """The rounds that the process of one side prints, and the server's CPU time during them."""
    results = []
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        before = 0.0
        for line in process.stdout:
            now = 0.0 if server is None else cpu_of(server)
            if line != "ready\n":
                creates, wall_ns, cpu_ns = map(int, line.split())
                results.append(Round(creates, wall_ns / 1e9, cpu_ns / 1e9 + now - before))
            before = now
    if process.returncode:
        raise SystemExit(f"{' '.join(command)} failed")
    return results


def cpu_of(process: int) -> float:
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS


def kafkas_creates(
    bootstrap_key: str, settings: dict[str, str], effort: Effort
) -> dict[int, list[Round]]:
    with fresh("kafka") as folder:
        kafka = RealKafka(Server(JARS), folder, settings)
        kafka.tools.storage("format", "-t", "kraft-metalog-bench-AA", "-c", kafka.config)
        with kafka:
            assert kafka._process is not None
            server = kafka._process.pid
            java = ["java", "-Xmx512m", QUIET, "-cp", PEER, "kraftmetalog.peer.Changes"]
            address = kafka.bootstrap if bootstrap_key == SERVERS else _controller(kafka.config)
            return {
                callers: rounds_of(
                    [*java, bootstrap_key, address, str(callers), *_times(effort)], server
                )
                for callers in CALLERS
            }


def _controller(config: Path) -> str:
    settings = dict(line.partition("=")[::2] for line in config.read_text().splitlines())
    return settings["controller.quorum.voters"].partition("@")[2]


def our_creates(effort: Effort) -> dict[int, list[Round]]:
    by_callers = {}
    for callers in CALLERS:
        with fresh("ours") as folder:
            config = folder / "server.properties"
            config.write_text(
                f"process.roles=controller\nnode.id=1\nlog.dirs={folder / 'log-dir'}\n"
                "controller.listener.names=C\nlisteners=C://127.0.0.1:9093\n"
                "controller.quorum.bootstrap.servers=127.0.0.1:9093\n"
            )
            metalog = [sys.executable, "-m", "shell.main", "format", str(folder / "log-dir")]
            subprocess.run(
                [*metalog, "--config", config, "--standalone"],
                check=True,
                capture_output=True,
                cwd=ROOT,
            )
            job = ["create", str(folder / "log-dir"), str(callers), *_times(effort)]
            by_callers[callers] = rounds_of([sys.executable, __file__, "--job", *job])
    return by_callers


def _times(effort: Effort) -> list[str]:
    return [str(effort.warmup_s), str(effort.round_s), str(effort.rounds)]


def create(folder: str, callers: str, warmup_s: str, round_s: str, rounds: str) -> None:
    """Our side of ``bench/peer``'s Changes; returns the lines that it prints."""
    from authorizer import StandardAuthorizer
    from metalog import Replica, WritableDirectoryLog
    from metalog.acl import Acl, Operation, PatternType, PermissionType, ResourceType

    created = [0] * int(callers)

    def work(caller: int) -> None:
        for number in count():
            acl = Acl(
                ResourceType.TOPIC,
                f"{caller}-{number}",
                PatternType.LITERAL,
                "User:bench",
                "*",
                Operation.READ,
                PermissionType.ALLOW,
            )
            [result] = replica.create_acls(None, [acl])
            if result.result():
                raise SystemExit(result.result())
            created[caller] += 1

    with Replica(WritableDirectoryLog(folder), publishers=[StandardAuthorizer()]) as replica:
        for caller in range(int(callers)):
            Thread(target=work, args=(caller,), daemon=True).start()
        time.sleep(float(warmup_s))
        print("ready", flush=True)
        for _ in range(int(rounds)):
            before, wall, cpu = sum(created), time.perf_counter_ns(), time.process_time_ns()
            time.sleep(float(round_s))
            now = sum(created)
            spent = time.perf_counter_ns() - wall, time.process_time_ns() - cpu
            print(now - before, *spent, flush=True)
        os._exit(0)


def snapshots(effort: Effort) -> tuple[dict[str, Any], dict[str, Any]]:
    """Figures of both sides: elapsed and CPU nanoseconds per ACL."""
    with fresh("snapshots") as folder:
        job = [str(workloads.FOLDER), "3", str(effort.rounds), ACLS, str(folder)]
        java = ["java", "-XX:+UseSerialGC", "-Xmx4g", "-cp", PEER, "kraftmetalog.peer.Snapshots"]
        kafka = subprocess.run([*java, *job], capture_output=True, text=True, check=True)
    with fresh("snapshots") as folder:
        job[-1] = str(folder)
        ours = subprocess.run(
            [sys.executable, __file__, "--job", "snapshot", *job],
            capture_output=True,
            text=True,
            check=True,
        )
    return json.loads(kafka.stdout), json.loads(ours.stdout)


def snapshot(files: str, _: str, rounds: str, acl_set: str, folder: str) -> None:
    """Our side of ``bench/peer``'s Snapshots; without a warm-up, since Python compiles no machine
    code."""
    from ours import read_acls
    from stopwatch import Stopwatch

    from metalog.image.manifest import Provenance
    from metalog.image.metadata import MetadataImage
    from metalog.image.state.acls import AclsImage
    from metalog.image.table import Table
    from metalog_sources.replay import replay_source
    from metalog_sources.source import open_source
    from snapshot.writer import write_snapshot

    watch = Stopwatch(0, 0, int(rounds))
    acls = read_acls(Path(files), acl_set)
    image = MetadataImage(provenance=Provenance(1, 1, 0), acls=AclsImage(Table(acls.items())))
    target = Path(folder)
    path = write_snapshot(image, target, timestamp=0)
    watch.time_whole("write", len(acls), lambda: write_snapshot(image, target, timestamp=0))
    watch.time_whole(
        "load", len(acls), lambda: replay_source(open_source(str(path), environ={})).image
    )
    print(json.dumps(watch.figures))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="rough, in a minute")
    parser.add_argument("--job", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.job:
        name, *rest = arguments.job
        {"create": create, "snapshot": snapshot}[name](*rest)
        return
    effort = QUICK if arguments.quick else FULL
    workloads.make()
    creates = {side: kafkas_creates(*how, effort) for side, how in SIDES.items()}
    creates[OURS] = our_creates(effort)
    command = "make bench-changes" + (" QUICK=1" if arguments.quick else "")
    text = page(creates, snapshots(effort), command, KAFKA_VERSION)
    target = workloads.FOLDER if arguments.quick else ROOT / "bench"
    (target / "changes.md").write_text(text)
    print(text)


if __name__ == "__main__":
    main()
