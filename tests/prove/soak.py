"""A node with mixed clients, and ``metalog pipeline follow``, for MINUTES each, side by side.

    make soak MINUTES=30

Clients list, create and delete ACLs, change passwords, log in rightly and wrongly, ask without
rights, and hang up in the middle of messages; each waits between its turns. ``follow`` gets a
file of audit lines and a change of ACLs every few seconds. The memory of both is read again and
again: it is flat if the last third of the time needs no more than the one before, but for
``SLACK``. The node's caches are full before the time begins: until then it grows with each new
name, and is meant to. The probes must answer all the time.
"""

from __future__ import annotations

import argparse
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import NamedTuple

from confluent_kafka.admin import (
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    AdminClient,
    ResourcePatternType,
    ResourceType,
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialUpsertion,
)

from metalog.hosts.host_port import Address, parse_addresses
from metalog.wire.client.connection import Connection
from metalog.wire.client.sasl import AuthenticationFailed
from metalog.wire.client.security import PLAINTEXT, client_settings
from tests.prove import results
from tests.support.disk.written_log import formatted
from tests.support.kafka.cases import REPOSITORY
from tests.support.kafka.tools import free_ports
from tests.support.node import hoarders
from tests.support.node.scraping import got, scraped
from tests.support.spark.followed_world import READ_T, WrittenLog, appears, line
from tests.support.wire.admin_requests import acl_filter, create, creation, delete, describe

SLACK = 1.05
LISTED = 2_000
FILLING, AT_ONCE = 2 << 16, 500
"""How many new names fill the caches: twice the entries of the largest, ``acl_fast_encode``'s."""
TURN_S, LOOK_S, BATCH_S = 0.1, 10.0, 20.0
LINES = 500
PASSWORD = "soaked-secret"
ANY_ACL = AclBindingFilter(
    ResourceType.ANY, None, ResourcePatternType.ANY, None, None,
    AclOperation.ANY, AclPermissionType.ANY,
)  # fmt: skip


class Soaked(NamedTuple):
    """MiB at each look; what was done; what went wrong, with its time in seconds."""

    mebibytes: list[float]
    done: int
    wrong: list[str]

    @property
    def thirds(self) -> tuple[float, float]:
        """The most MiB of the second third of the time, and of the last."""
        third = len(self.mebibytes) // 3
        return max(self.mebibytes[third : 2 * third]), max(self.mebibytes[2 * third :])

    @property
    def is_flat(self) -> bool:
        before, last = self.thirds
        return last <= before * SLACK


class Ports(NamedTuple):
    admins: Address
    users: Address
    watch: int


def node_soaked(seconds: float) -> Soaked:
    with TemporaryDirectory() as folder, node(Path(folder)) as ports:
        first = Connection(ports.admins, PLAINTEXT)
        names = [f"listed-{number}" for number in range(LISTED)]
        first.ask(create(*(creation(resource_name=name) for name in names)))
        at = ",".join(map(str, ports.admins)).replace(",", ":")
        admin = AdminClient({"bootstrap.servers": at, "log_level": 0})
        password(admin)
        fill_caches(first)
        turns = (churn, list_all, log_in, log_in_wrongly, ask_without_rights, hang_up, break_off)
        over, counts, wrong = threading.Event(), [0] * len(turns), list[str]()

        def take_turns(number: int, turn: Callable[[Ports, Random], None]) -> None:
            random = Random(number)
            while not over.wait(TURN_S):
                try:
                    turn(ports, random)
                    counts[number] += 1
                except Exception as failure:
                    wrong.append(f"{turn.__name__}: {failure!r}")

        clients = [threading.Thread(target=take_turns, args=each) for each in enumerate(turns)]
        for each in clients:
            each.start()
        mebibytes = []
        ends = time.monotonic() + seconds
        while time.monotonic() < ends:
            time.sleep(LOOK_S)
            password(admin)
            watched = f"127.0.0.1:{ports.watch}"
            for probe in ("/healthz", "/readyz"):
                status, said = got(watched, probe)
                if status != 200:
                    wrong.append(f"{probe}: {status} {said}")
            mebibytes.append(scraped(watched)["process_resident_memory_bytes", ""] / (1 << 20))
        over.set()
        for each in clients:
            each.join()
        return Soaked(mebibytes, sum(counts), wrong)


@contextmanager
def node(folder: Path) -> Iterator[Ports]:
    admins, users, watch = free_ports(3)
    config = folder / "server.properties"
    config.write_text(
        "process.roles=broker,controller\nnode.id=1\n"
        f"listeners=ADMINS://127.0.0.1:{admins},USERS://127.0.0.1:{users},CONTROLLER://127.0.0.1:0\n"
        "listener.security.protocol.map=ADMINS:PLAINTEXT,USERS:SASL_PLAINTEXT,CONTROLLER:PLAINTEXT\n"
        "controller.listener.names=CONTROLLER\nsasl.enabled.mechanisms=SCRAM-SHA-256\n"
        "authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer\n"
        "super.users=User:ANONYMOUS\n"
        "metadata.log.max.record.bytes.between.snapshots=1000000\n"
        f"metrics.listener=http://127.0.0.1:{watch}\n"
        f"metadata.log.dir={formatted(folder / 'log')}\n"
    )
    serving = [sys.executable, "-m", "shell.main", "serve", "--config", str(config)]
    with (folder / "node.log").open("wb") as log:
        running = subprocess.Popen(serving, cwd=REPOSITORY, stdout=log, stderr=log)
        try:
            while not is_open(users):
                if running.poll() is not None:
                    raise RuntimeError((folder / "node.log").read_text())
                time.sleep(0.2)
            [at_admins, at_users] = parse_addresses(f"127.0.0.1:{admins},127.0.0.1:{users}")
            yield Ports(at_admins, at_users, watch)
        finally:
            running.terminate()
            running.wait()


def is_open(port: int) -> bool:
    with suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
        return True
    return False


def password(admin: AdminClient) -> None:
    credential = ScramCredentialInfo(ScramMechanism.SCRAM_SHA_256, 4096)
    change = UserScramCredentialUpsertion("app", credential, PASSWORD.encode())
    admin.alter_user_scram_credentials([change])["app"].result(60)


def fill_caches(connection: Connection) -> None:
    for first in range(0, FILLING, AT_ONCE):
        created_and_deleted(connection, [f"first-{first + each}" for each in range(AT_ONCE)])


def churn(ports: Ports, random: Random) -> None:
    name = f"churn-{random.randrange(1_000_000)}"
    connection = Connection(ports.admins, PLAINTEXT)
    created_and_deleted(connection, [f"{name}-{number}" for number in range(20)])
    connection.close()


def created_and_deleted(connection: Connection, names: list[str]) -> None:
    """An ACL of each of ``names``, which none has before or after; each has a principal of its
    own."""
    connection.ask(
        create(*(creation(resource_name=name, principal=f"User:{name}") for name in names))
    )
    connection.ask(
        delete(*(acl_filter(resource_name_filter=name, principal_filter=None) for name in names))
    )


def list_all(ports: Ports, random: Random) -> None:
    connection = Connection(ports.admins, PLAINTEXT)
    answer = connection.ask(describe(principal_filter=None))
    assert len(answer.resources) >= LISTED
    connection.close()


def settings_of(password: str, user: str = "app") -> dict[str, str]:
    module = "org.apache.kafka.common.security.scram.ScramLoginModule"
    return {
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "SCRAM-SHA-256",
        "sasl.jaas.config": f'{module} required username="{user}" password="{password}";',
    }


def log_in(ports: Ports, random: Random) -> None:
    connection = Connection(ports.users, client_settings(settings_of(PASSWORD)))
    answer = connection.ask(describe(principal_filter=None))
    assert answer.error_code != 0
    connection.close()


def log_in_wrongly(ports: Ports, random: Random) -> None:
    user = random.choice(("app", f"nobody-{random.randrange(1_000_000)}"))
    try:
        Connection(ports.users, client_settings(settings_of("wrong", user)))
    except AuthenticationFailed:
        return
    raise AssertionError("a wrong password was taken")


def ask_without_rights(ports: Ports, random: Random) -> None:
    app = {
        "bootstrap.servers": f"127.0.0.1:{ports.users[1]}",
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "SCRAM-SHA-256",
        "sasl.username": "app",
        "sasl.password": PASSWORD,
        "log_level": 0,
    }
    admin = AdminClient(app)
    assert admin.describe_acls(ANY_ACL).result(60) == []  # librdkafka passes over the error


def hang_up(ports: Ports, random: Random) -> None:
    """Bytes of any kind, and the end."""
    with socket.create_connection(ports.users, timeout=60) as client, suppress(OSError):
        client.sendall(random.randbytes(random.randrange(2_000)))


def break_off(ports: Ports, random: Random) -> None:
    """The middle of the longest message that a stranger may send."""
    with suppress(OSError):
        hoarders.of_a_login(ports.users).close()


def follow_soaked(seconds: float) -> Soaked:
    with TemporaryDirectory() as name:
        folder = Path(name)
        log = WrittenLog(folder / "log")
        log.bind(1, 1, READ_T)
        (folder / "server.properties").write_text("super.users=\n")
        options = {
            "--log": log.folder,
            "--audit": folder / "audit",
            "--out": folder / "out",
            "--config": folder / "server.properties",
            "--every": "5",
            "--master": "local[1]",
            "--spark-conf": "spark.driver.memory=512m",
        }
        (folder / "audit").mkdir()
        words = [str(word) for option in options.items() for word in option]
        with (folder / "follow.log").open("wb") as said:
            running = subprocess.Popen(
                [sys.executable, "-m", "shell.main", "pipeline", "follow", *words],
                cwd=REPOSITORY, stdout=said, stderr=said, env={**os.environ, "NO_COLOR": "1"},
            )  # fmt: skip
            try:
                return followed(folder, log, running, seconds)
            finally:
                running.send_signal(signal.SIGINT)
                with suppress(subprocess.TimeoutExpired):
                    running.wait(180)
                running.kill()


def followed(
    folder: Path, log: WrittenLog, running: subprocess.Popen[bytes], seconds: float
) -> Soaked:
    """A file, a change and a look at each turn."""
    mebibytes, wrong, done = [], list[str](), 0
    ends = time.monotonic() + seconds
    while time.monotonic() < ends:
        at = 10.0 * (done + 1)
        names = [f"User:u{number % 7}" for number in range(LINES)]
        lines = [line(at + number / 100, each, allowed=True) for number, each in enumerate(names)]
        appears(folder / "audit", f"b1.log.{done}", lines)
        log.bind(at + 6, 2 + done % 50, READ_T._replace(principal=f"User:u{done % 7}"))
        log.goes_on(at + 60)
        done += 1
        time.sleep(BATCH_S)
        if running.poll() is not None:
            wrong.append(f"it ended: {(folder / 'follow.log').read_text()[-2000:]}")
            break
        mebibytes.append(sum(used_mebibytes(running.pid)))
    return Soaked(mebibytes, done * LINES, wrong)


def used_mebibytes(process: int) -> Iterator[float]:
    """The resident memory of each Python process, and of each JVM the heap in use after a
    collection: a JVM gives back no memory."""
    children = subprocess.run(
        ["ps", "-o", "pid=", "--ppid", str(process)], capture_output=True, text=True, check=False
    ).stdout.split()
    with suppress(OSError):
        command = Path(f"/proc/{process}/cmdline").read_bytes()
        if b"java" in command.split(b"\0")[0]:
            for request in ("GC.run", "GC.heap_info"):
                said = subprocess.run(
                    ["jcmd", str(process), request], capture_output=True, text=True, check=False
                ).stdout
            yield sum(
                int(used) / 1024 for used in re.findall(r"(?:heap|generation) .*?used (\d+)K", said)
            )
        else:
            status = Path(f"/proc/{process}/status").read_text()
            found = re.search(r"VmRSS:\s+(\d+) kB", status)
            yield int(found[1]) / 1024 if found else 0.0
    for child in children:
        yield from used_mebibytes(int(child))


SOAKS = {
    "soak of a node": ("a turn of one of seven kinds of clients", node_soaked),
    "soak of follow": ("an audit line", follow_soaked),
}


def main() -> int:
    parser = argparse.ArgumentParser(prog="make soak", description=__doc__)
    parser.add_argument("--minutes", type=float, default=30)
    parser.add_argument("--only", choices=SOAKS, action="append")
    parser.add_argument("--results", type=Path, default=results.RESULTS)
    parser.add_argument("--page", type=Path, default=results.PAGE)
    given = parser.parse_args()
    found: dict[str, Soaked] = {}
    chosen = given.only or list(SOAKS)

    def soak(name: str) -> None:
        found[name] = SOAKS[name][1](given.minutes * 60)

    threads = [threading.Thread(target=soak, args=(name,)) for name in chosen]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    for name in chosen:
        soaked = found[name]
        before, last = soaked.thirds
        print(name, [round(each, 1) for each in soaked.mebibytes], soaked.wrong[:10])
        kept = results.Tried(
            SOAKS[name][0], 0, results.code(), tries=soaked.done,
            last=f"{datetime.now(UTC):%Y-%m-%d}",
            broken=tuple(range(len(soaked.wrong) + (not soaked.is_flat)))[: results.MOST_BROKEN],
            figures=f"{given.minutes:g} minutes; {before:.0f} MiB at most in the second third of"
            f" the time, {last:.0f} MiB in the last",
        )  # fmt: skip
        everything = {**results.read(given.results), name: kept}
        results.write(everything, given.results)
        given.page.write_text(results.rendered(given.page.read_text(), everything))
    return any(each.wrong or not each.is_flat for each in found.values())


if __name__ == "__main__":
    sys.exit(main())
