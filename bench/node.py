"""Measures a node and a real Kafka side by side, over sockets, in one run: prints one table.

2,000 clients are connected and idle all the while. 64 others create ACLs, one at a time each
and each one durable before its answer; before that some list 10,000 ACLs, of which none changes
meanwhile (a node keeps the answer until one does). The requests are written once
and the answers only counted, so that the client costs both the same, and little. Kafka comes
twice: as it is, and with a linger of nothing.

    PYTHONPATH=tests/support .venv/bin/python bench/node.py [--quick]
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
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import NamedTuple

from admin_requests import create, creation, describe
from kafka_tools import JARS, KafkaTools, RealKafka, free_ports
from written_log import formatted

from metalog.wire.frames import framed
from metalog.wire.messages import write_request
from metalog.wire.schema import request_type

IDLE, BUSY, LISTERS, LISTED = 2_000, 64, 4, 10_000
ACLS_A_REQUEST = 1_000
HELLO = framed(write_request(request_type(18, 0)(), 1, "bench"))
LIST = framed(write_request(describe(principal_filter=None), 1, "bench"))
LINGER = "controller.quorum.append.linger.ms"


class Side(NamedTuple):
    name: str
    port: int
    pid: int

    @property
    def mebibytes(self) -> float:
        """What of it is in memory."""
        status = Path(f"/proc/{self.pid}/status").read_text()
        found = re.search(r"VmRSS:\s+(\d+) kB", status)
        return int(found[1]) / 1024 if found else 0.0


class Client:
    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer

    @classmethod
    async def connected(cls, port: int) -> Client:
        client = cls(*await asyncio.open_connection("127.0.0.1", port, limit=1 << 20))
        await client.ask(HELLO)
        return client

    async def ask(self, frame: bytes) -> int:
        """How long the answer is."""
        self._writer.write(frame)
        size = int.from_bytes(await self._reader.readexactly(4), "big")
        await self._reader.readexactly(size)
        return size

    def close(self) -> None:
        self._writer.close()


class Load(NamedTuple):
    """A second's worth: how many, and the longest that one of a hundred waited."""

    per_s: float
    p99_ms: float


async def load(clients: list[Client], frames: Iterator[bytes], seconds: float) -> Load:
    until = time.perf_counter() + seconds
    took: list[float] = []

    async def ask_on(client: Client) -> None:
        while (began := time.perf_counter()) < until:
            await client.ask(next(frames))
            took.append(time.perf_counter() - began)

    began = time.perf_counter()
    await asyncio.gather(*map(ask_on, clients))
    elapsed = time.perf_counter() - began
    return Load(len(took) / elapsed, sorted(took)[int(len(took) * 0.99)] * 1000)


def creations() -> Iterator[bytes]:
    for number in count():
        one = create(creation(resource_name=f"busy-{number}"))
        yield framed(write_request(one, 1, "bench"))


def listing() -> Iterator[bytes]:
    while True:
        yield LIST


async def measured(side: Side, seconds: float) -> list[str]:
    first = await Client.connected(side.port)
    for begin in range(0, LISTED, ACLS_A_REQUEST):
        names = [f"listed-{each}" for each in range(begin, begin + ACLS_A_REQUEST)]
        many = create(*(creation(resource_name=name, principal="User:listed") for name in names))
        await first.ask(framed(write_request(many, 1, "bench")))
    at_start = side.mebibytes
    idle = [await Client.connected(side.port) for _ in range(IDLE)]
    with_idle = side.mebibytes
    listers = [await Client.connected(side.port) for _ in range(LISTERS)]
    await load(listers, listing(), seconds / 4)
    listed = await load(listers, listing(), seconds)
    busy = [await Client.connected(side.port) for _ in range(BUSY)]
    frames = creations()
    await load(busy, frames, seconds / 4)
    created = await load(busy, frames, seconds)
    half = side.mebibytes
    again = await load(busy, frames, seconds)
    for client in (first, *idle, *listers, *busy):
        client.close()
    return [
        side.name,
        f"{created.per_s:,.0f} ({created.p99_ms:,.0f} ms)",
        f"{again.per_s:,.0f} ({again.p99_ms:,.0f} ms)",
        f"{listed.per_s:,.1f} ({listed.p99_ms:,.0f} ms)",
        f"{at_start:,.0f} → {with_idle:,.0f} → {half:,.0f} → {side.mebibytes:,.0f}",
    ]


@contextmanager
def kafka(name: str, **overrides: str) -> Iterator[Side]:
    with (
        tempfile.TemporaryDirectory() as folder,
        RealKafka.started(KafkaTools(JARS), Path(folder), overrides=overrides) as started,
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
            yield Side("metalog serve", port, node.pid)
        finally:
            node.terminate()
            node.wait()


def _listening(port: int) -> int:
    """The process that listens there, 0 if none does."""
    told = subprocess.run(
        ["ss", "-ltnpH", f"sport = :{port}"], capture_output=True, text=True, check=True
    ).stdout
    found = re.search(r"pid=(\d+)", told)
    return int(found[1]) if found else 0


HEADS = (
    "",
    f"creates/s by {BUSY} (p99)",
    "the same again",
    f"lists of {LISTED:,}/s by {LISTERS} (p99)",
    f"MiB: begun, {IDLE:,} idle, busy, later",
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="too rough to keep")
    seconds = 3.0 if parser.parse_args().quick else 15.0
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    print(f"| {' | '.join(HEADS)} |\n|{'---|' * len(HEADS)}")
    for begun in (ours(), kafka("Kafka 4.3.1"), kafka("Kafka, no linger", **{LINGER: "0"})):
        with begun as side:
            print(f"| {' | '.join(asyncio.run(measured(side, seconds)))} |", flush=True)


if __name__ == "__main__":
    main()
