"""An HTTP proxy in front of Kafka: it follows the quorum's ACLs and authorizes its clients.

    python examples/http_proxy.py SOURCE BOOTSTRAP [CLIENT_PROPERTIES]

POST /topics/NAME writes the body to the topic, if the ACLs allow it. The client logs in as a SCRAM
user of the cluster, by HTTP's Basic login. GET /health says by which offset the proxy decides, and
why that may be old. SOURCE is quorum:// of the controllers. If the log cannot be read for five
seconds, every request is refused. Put TLS in front of the proxy, since Basic login shows the
password.
"""

import logging
import signal
import sys
from base64 import b64decode
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

from confluent_kafka import KafkaException, Producer

from authorizer import RequestContext, StandardAuthorizer, actions, are_allowed
from metalog import (
    AuthorizerNotReady,
    Loading,
    MetalogError,
    Ready,
    Replica,
    ScramMechanism,
    Stale,
    open_log,
    read_properties,
)

SETTINGS = {"super.users": "User:admin", "stale.deny.after.ms": "5000"}
TOPICS = "/topics/"
PATIENCE_S = 10


class Proxy(ThreadingHTTPServer):
    """The HTTP server. Each request has its own thread; any thread may ask the authorizer."""

    def __init__(self, authorizer: StandardAuthorizer, replica: Replica, bootstrap: str) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.authorizer = authorizer
        self.replica = replica
        self.producer = Producer({"bootstrap.servers": bootstrap, "log_level": 0})

    def health(self) -> tuple[int, str]:
        """Whether the authorizer answers, and from which state.

        The authorizer says whether its gate is shut. The replica may be ready a moment before the
        gate opens again.
        """
        state, shut_by = self.replica.state, self.authorizer.shut_by
        match state:
            case Ready(offset):
                decides = f"decides by the log up to offset {offset}"
            case Stale(offset, fault):
                decides = f"decides by the ACLs that it has; from offset {offset} on: {fault}"
                shut_by = shut_by and f"{shut_by}; from offset {offset} on: {fault}"
            case Loading(_, _, fault):
                shut_by = f"not loaded yet: {fault or 'the log is being replayed'}"
        return (503, shut_by) if shut_by else (200, decides)


class Handler(BaseHTTPRequestHandler):
    @property
    def _proxy(self) -> Proxy:
        assert isinstance(self.server, Proxy)
        return self.server

    def do_GET(self) -> None:
        self._answer(*self._proxy.health() if self.path == "/health" else (404, "no such page"))

    def do_POST(self) -> None:
        topic = self.path.removeprefix(TOPICS)
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        user = self._user()
        if not self.path.startswith(TOPICS) or user is None:
            self._answer(*(404, "no such page") if user else (401, "who are you?"))
            return
        who = RequestContext.from_peer(f"User:{user}", self.client_address, "HTTP", "Produce")
        try:
            is_allowed = are_allowed(
                self._proxy.authorizer, who, actions("Produce", topics=[topic])
            )
        except AuthorizerNotReady as error:
            self._answer(503, str(error))
            return
        self._answer(*self._produced(topic, body) if is_allowed else (403, "denied"))

    def _user(self) -> str | None:
        """The user of the Basic login, if the cluster has it with this password."""
        _, _, encoded = self.headers.get("Authorization", "").partition(" ")
        try:
            user, _, password = b64decode(encoded).decode().partition(":")
        except ValueError:
            return None
        mechanism = ScramMechanism.SCRAM_SHA_512
        credential = self._proxy.replica.image.scram.credential(mechanism, user)
        return user if credential and credential.is_of(mechanism, password) else None

    def _produced(self, topic: str, body: bytes) -> tuple[int, str]:
        faults: list[object] = []
        try:
            self._proxy.producer.produce(
                topic, body, on_delivery=lambda error, _: faults.append(error)
            )
            self._proxy.producer.flush(PATIENCE_S)
        except KafkaException as error:
            faults.append(error)
        return (200, "written") if faults == [None] else (502, f"the broker did not: {faults}")

    def _answer(self, status: int, text: str) -> None:
        self.send_response(status)
        self.end_headers()
        self.wfile.write(f"{text}\n".encode())

    def log_message(self, format: str, *args: object) -> None:
        """Log nothing; the authorizer's own lines are enough."""


def run(source: str, bootstrap: str, kafka_settings: Mapping[str, str]) -> None:
    authorizer = StandardAuthorizer.configured(SETTINGS)
    authorizer.start({"HTTP": "127.0.0.1"})
    with (
        Replica(open_log(source, kafka_settings), publishers=[authorizer]) as replica,
        Proxy(authorizer, replica, bootstrap) as proxy,
    ):

        def stop(*_: object) -> None:
            Thread(target=proxy.shutdown).start()

        signal.signal(signal.SIGTERM, stop)
        print("open", proxy.server_address[1], flush=True)
        proxy.serve_forever()


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO, format="[%(asctime)s] %(levelname)s %(message)s")
    settings = read_properties(sys.argv[3]) if sys.argv[3:] else {}
    try:
        run(sys.argv[1], sys.argv[2], settings)
    except MetalogError as error:
        sys.exit(f"{Path(__file__).name}: {error}")
