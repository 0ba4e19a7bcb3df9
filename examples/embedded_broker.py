"""A broker that embeds only the authorizer, without a node and without Kafka's protocol.

    python examples/embedded_broker.py SOURCE [CLIENT_PROPERTIES]

SOURCE has the ACLs and users: it is the metadata.log.dir of a controller, or quorum:// of a running
Kafka. Clients send a line at a time: LOGIN NAME PASSWORD, WRITE TOPIC TEXT, READ TOPIC. The
listener ADMIN is for the super user, on this machine, and opens at once. CLIENT opens when the log
has been replayed. Denials go to standard error in the layout of Kafka's authorizer log.
"""

import asyncio
import logging
import signal
import sys
from collections import defaultdict
from collections.abc import Mapping
from functools import partial
from pathlib import Path

from authorizer import RequestContext, StandardAuthorizer, actions, are_allowed
from metalog import (
    AuthorizerNotReady,
    LoadTimeout,
    MetalogError,
    Replica,
    ScramMechanism,
    open_log,
    read_properties,
)

HOST = "127.0.0.1"
REQUESTS = {"WRITE": "Produce", "READ": "Fetch"}
SETTINGS = {"super.users": "User:admin", "early.start.listeners": "ADMIN"}
PRINCIPALS = {"ADMIN": "User:admin", "CLIENT": "User:ANONYMOUS"}


class Broker:
    def __init__(self, authorizer: StandardAuthorizer, replica: Replica) -> None:
        self._authorizer = authorizer
        self._replica = replica
        self._topics = defaultdict[str, list[str]](list)

    async def serve(
        self, listener: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        peer, principal = writer.get_extra_info("peername"), PRINCIPALS[listener]
        while line := await reader.readline():
            verb, *words = line.decode(errors="replace").strip().split(maxsplit=2) or [""]
            if verb == "LOGIN" and len(words) == 2:
                is_known = await asyncio.to_thread(self._is_user, *words)
                principal = f"User:{words[0]}" if is_known else PRINCIPALS[listener]
                answer = "OK" if is_known else "REFUSED"
            elif verb in REQUESTS and words:
                who = RequestContext.from_peer(principal, peer, listener, REQUESTS[verb])
                answer = self._answer(who, words[0], words[1:])
            else:
                answer = "UNKNOWN"
            writer.write(f"{answer}\n".encode())
            await writer.drain()
        writer.close()

    def _is_user(self, name: str, password: str) -> bool:
        """Whether the password is the user's. Run it on a thread, since it hashes the password."""
        mechanism = ScramMechanism.SCRAM_SHA_512
        credential = self._replica.image.scram.credential(mechanism, name)
        return credential is not None and credential.is_of(mechanism, password)

    def _answer(self, who: RequestContext, topic: str, text: list[str]) -> str:
        try:
            needed = actions(who.request_name, topics=[topic])
            if not are_allowed(self._authorizer, who, needed):
                return "DENIED"
        except AuthorizerNotReady as error:
            return f"TRY AGAIN: {error}"
        self._topics[topic] += [] if who.request_name == "Fetch" else text
        return f"OK {' '.join(self._topics[topic])}"


async def run(source: str, kafka_settings: Mapping[str, str]) -> None:
    if (task := asyncio.current_task()) is not None:
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
    authorizer = StandardAuthorizer.configured(SETTINGS)
    opened = authorizer.start(dict.fromkeys(PRINCIPALS, HOST))
    with Replica(open_log(source, kafka_settings), publishers=[authorizer]) as replica:
        broker = Broker(authorizer, replica)
        for listener in PRINCIPALS:
            while not opened[listener].done():
                try:
                    await asyncio.to_thread(opened[listener].result, 1)
                except LoadTimeout as error:
                    print("shut", listener, error, flush=True)
            server = await asyncio.start_server(partial(broker.serve, listener), HOST, 0)
            print("open", listener, server.sockets[0].getsockname()[1], flush=True)
        await asyncio.Event().wait()


if __name__ == "__main__":
    logging.basicConfig(format="[%(asctime)s] %(levelname)s %(message)s (%(name)s)")
    logging.getLogger("kafka.authorizer.logger").setLevel(logging.INFO)
    try:
        asyncio.run(run(sys.argv[1], read_properties(sys.argv[2]) if sys.argv[2:] else {}))
    except MetalogError as error:
        sys.exit(f"{Path(__file__).name}: {error}")
    except (KeyboardInterrupt, asyncio.CancelledError):
        pass
