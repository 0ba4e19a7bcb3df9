"""A TCP relay to a server on this machine, which can start late and stop again.

This module must not know what is transferred.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from threading import Thread


@contextmanager
def relayed(port: int, server: int) -> Iterator[None]:
    """Relay connections to ``port`` to ``server`` during the block."""
    loop = asyncio.new_event_loop()

    async def carry(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError):
            while data := await reader.read(1 << 16):
                writer.write(data)
                await writer.drain()
        writer.close()

    async def connect(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        far_reader, far_writer = await asyncio.open_connection("127.0.0.1", server)
        with suppress(asyncio.CancelledError):
            await asyncio.gather(carry(reader, far_writer), carry(far_reader, writer))

    listening = loop.run_until_complete(asyncio.start_server(connect, "127.0.0.1", port))
    thread = Thread(target=loop.run_forever)
    thread.start()
    try:
        yield
    finally:
        asyncio.run_coroutine_threadsafe(_shut(listening), loop).result(60)
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


async def _shut(listening: asyncio.Server) -> None:
    listening.close()
    others = asyncio.all_tasks() - {asyncio.current_task()}
    for each in others:
        each.cancel()
    await asyncio.gather(*others, return_exceptions=True)
