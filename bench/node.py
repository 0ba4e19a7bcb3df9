"""Measures a node and a real Kafka side by side, over sockets, and writes bench/node.md.

2,000 silent clients are connected all the time. The loads are, in this order:

- clients list 10,000 ACLs, first while none changes and then while one does;
- 64 clients create ACLs, one at a time each, and each durable before its answer;
- clients create and delete ACLs in turn, which shows how much memory stays in use.

Requests are encoded once and answers are only counted. So the client, on the same machine, costs
little, and the same for both sides. This program writes every number in the page.
"""

from __future__ import annotations

import argparse
import asyncio
import re
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from itertools import count
from pathlib import Path
from typing import NamedTuple

import workloads
from changes import ROOT, Effort, Server, cpu_of
from changes_page import LINGER, OURS
from node_page import BUSY, IDLE, LISTED, LISTERS, Load, NodeFigures, page

from metalog.wire.frames import framed
from metalog.wire.messages import write_request
from metalog.wire.schema import Body, request_type
from tests.support.disk.written_log import formatted
from tests.support.kafka.tools import JARS, KAFKA_VERSION, RealKafka, free_ports
from tests.support.wire.admin_requests import acl_filter, create, creation, delete, describe

ACLS_A_REQUEST = 1_000
LOOKS = 6
"""How often the memory is read while ACLs are created and deleted in turn."""


class NodeEffort(NamedTuple):
    """The rounds of each load, and the seconds in which memory is observed."""

    loads: Effort
    lasting_s: float


FULL = NodeEffort(Effort(10, 4, 5), 60)
QUICK = NodeEffort(Effort(4, 2, 3), 6)


class Side(NamedTuple):
    name: str
    port: int
    process: int

    @property
    def mebibytes(self) -> float:
        """The process's resident memory."""
        status = Path(f"/proc/{self.process}/status").read_text()
        match = re.search(r"VmRSS:\s+(\d+) kB", status)
        return int(match[1]) / 1024 if match else 0.0


class RawClient:
    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer

    @classmethod
    async def connected(cls, port: int) -> RawClient:
        client = cls(*await asyncio.open_connection("127.0.0.1", port, limit=1 << 20))
        await client.ask(HELLO)
        return client

    async def ask(self, frame: bytes) -> None:
        """Send a frame and wait for its answer, which is not decoded."""
        self._writer.write(frame)
        size = int.from_bytes(await self._reader.readexactly(4), "big")
        await self._reader.readexactly(size)

    def close(self) -> None:
        self._writer.close()


def frame_of(body: Body) -> bytes:
    return framed(write_request(body, 1, "bench"))


HELLO = frame_of(request_type(18, 0)())
LIST = frame_of(describe(principal_filter=None))


def creations() -> Iterator[bytes]:
    for number in count():
        yield frame_of(create(creation(resource_name=f"busy-{number}")))


def by_turns(caller: int) -> Iterator[bytes]:
    """Create an ACL and delete it again, in turn."""
    name = f"turn-{caller}"
    made = frame_of(create(creation(resource_name=name)))
    unmade = frame_of(delete(acl_filter(resource_name_filter=name)))
    while True:
        yield from (made, unmade)


def listings() -> Iterator[bytes]:
    while True:
        yield LIST


async def load(side: Side, asking: list[tuple[RawClient, Iterator[bytes]]], seconds: float) -> Load:
    began, cpu = time.perf_counter(), cpu_of(side.process)
    until = began + seconds
    took: list[float] = []

    async def ask_on(client: RawClient, frames: Iterator[bytes]) -> None:
        while (begun := time.perf_counter()) < until:
            await client.ask(next(frames))
            took.append(time.perf_counter() - begun)

    await asyncio.gather(*(ask_on(*asker) for asker in asking))
    spent = time.perf_counter() - began
    p99_s = sorted(took)[int(len(took) * 0.99)]
    return Load(len(took) / spent, p99_s, (cpu_of(side.process) - cpu) / len(took))


async def rounds(
    side: Side, asking: list[tuple[RawClient, Iterator[bytes]]], effort: Effort
) -> list[Load]:
    await load(side, asking, effort.warmup_s)
    return [await load(side, asking, effort.round_s) for _ in range(effort.rounds)]


async def measured(side: Side, effort: NodeEffort) -> NodeFigures:
    first = await RawClient.connected(side.port)
    for begin in range(0, LISTED, ACLS_A_REQUEST):
        names = [f"listed-{number}" for number in range(begin, begin + ACLS_A_REQUEST)]
        many = [creation(resource_name=name, principal="User:listed") for name in names]
        await first.ask(frame_of(create(*many)))
    at_start = side.mebibytes
    idle = [await RawClient.connected(side.port) for _ in range(IDLE)]
    with_idle = side.mebibytes
    listers = [(await RawClient.connected(side.port), listings()) for _ in range(LISTERS)]
    unchanged = await rounds(side, listers, effort.loads)
    async with changing(first):
        changed = await rounds(side, listers, effort.loads)
    busy = [await RawClient.connected(side.port) for _ in range(BUSY)]
    frames = creations()
    created = await rounds(side, [(client, frames) for client in busy], effort.loads)
    turns = [(client, by_turns(number)) for number, client in enumerate(busy)]
    await load(side, turns, effort.loads.warmup_s)
    lasting = [side.mebibytes]
    for _ in range(LOOKS - 1):
        await load(side, turns, effort.lasting_s / (LOOKS - 1))
        lasting.append(side.mebibytes)
    for client in (first, *idle, *(each for each, _ in listers), *busy):
        client.close()
    return NodeFigures(created, unchanged, changed, at_start, with_idle, lasting)


@asynccontextmanager
async def changing(client: RawClient) -> AsyncIterator[None]:
    """During the block, ``client`` creates and deletes an ACL in turn, without a pause."""
    is_over = False

    async def change() -> None:
        for frame in by_turns(-1):
            await client.ask(frame)
            if is_over:
                return

    task = asyncio.create_task(change())
    yield
    is_over = True
    await task


@contextmanager
def kafka(name: str, **overrides: str) -> Iterator[Side]:
    with (
        tempfile.TemporaryDirectory() as folder,
        RealKafka.started(Server(JARS), Path(folder), overrides=overrides) as started,
    ):
        yield Side(name, started.port, _listening(started.port))


@contextmanager
def ours() -> Iterator[Side]:
    with tempfile.TemporaryDirectory() as folder:
        formatted(Path(folder) / "log")
        [port] = free_ports(1)
        command = ["serve", "--dir", f"{folder}/log", "--port", str(port)]
        node = subprocess.Popen(
            [sys.executable, "-m", "shell.main", *command],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            while _listening(port) == 0:
                time.sleep(0.1)
            yield Side(OURS, port, node.pid)
        finally:
            node.terminate()
            node.wait()


def _listening(port: int) -> int:
    """The id of the process that listens on the port, 0 if none does."""
    listing = subprocess.run(
        ["ss", "-ltnpH", f"sport = :{port}"], capture_output=True, text=True, check=True
    ).stdout
    match = re.search(r"pid=(\d+)", listing)
    return int(match[1]) if match else 0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="rough, in two minutes")
    is_quick = parser.parse_args().quick
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    by_side = {}
    for begun in (kafka("Kafka"), kafka("Kafka, which waits for nothing", **{LINGER: "0"}), ours()):
        with begun as side:
            by_side[side.name] = asyncio.run(measured(side, QUICK if is_quick else FULL))
    command = "make bench-node" + (" QUICK=1" if is_quick else "")
    text = page(by_side, command, KAFKA_VERSION)
    target = workloads.FOLDER if is_quick else ROOT / "bench"
    target.mkdir(parents=True, exist_ok=True)
    (target / "node.md").write_text(text)
    print(text)


if __name__ == "__main__":
    main()
