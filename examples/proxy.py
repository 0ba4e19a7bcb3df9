"""A proxy in front of one broker that authorizes nobody: it asks first, and passes on what may be.

    python examples/proxy.py DIR HOST:PORT

It is a node with a log of ACLs of its own, which Kafka's tools manage at the proxy. Metadata,
Produce, Fetch and ListOffsets go to the broker byte by byte, once every topic in them may be
used so; the broker's answers come back the same way, but for Metadata, in which the proxy stands
for the broker and leaves out the topics that its client may not describe. Whoever connects by
PLAINTEXT is the super user; others log in at SASL_PLAINTEXT.
"""

import asyncio
import signal
import socket
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

from kio.schema.errors import ErrorCode

from metalog.wire.frames import FrameReader, framed
from metalog.wire.hosts import parse_addresses
from metalog.wire.messages import read_response
from metalog.wire.schema import response_type
from metalog_node import Node, trial_config
from metalog_node.by_topic import (
    FETCH,
    LIST_OFFSETS,
    METADATA,
    PRODUCE,
    denied,
    joined,
    may_all,
    metadata_api,
    only,
    topic_api,
    topics_of,
)

MOST_AT_ONCE = 32
PATIENCE_S = 40.0


class Upstream:
    """The broker behind the proxy; each thread has a connection of its own."""

    def __init__(self, address):
        self._address = address
        self._threads = ThreadPoolExecutor(MOST_AT_ONCE)
        self._mine = threading.local()
        self._open = []

    def ask(self, question, and_then=lambda answer: answer):
        """A future of what ``and_then`` makes of the answer's bytes."""
        return self._threads.submit(lambda: and_then(self._ask(question.payload)))

    def close(self):
        self._threads.shutdown(cancel_futures=True)
        for connection in self._open:
            connection.close()

    def _ask(self, payload):
        connection = getattr(self._mine, "connection", None)
        if connection is None:
            connection = socket.create_connection(self._address, PATIENCE_S)
            self._open.append(connection)
        self._mine.connection = None
        try:
            connection.sendall(framed(payload))
            frames, answers = FrameReader(), []
            while not answers:
                data = connection.recv(1 << 16)
                if not data:
                    raise ConnectionError(f"{self._address} hung up")
                answers = frames.feed(data)
        except BaseException:
            self._open.remove(connection)
            connection.close()
            raise
        self._mine.connection = connection
        return answers[0]


def passing_on(upstream):
    """The APIs that are asked of the broker, each after the authorizer was."""

    def by_topic(services, question):
        names = {*topics_of(question)}
        allowed = may_all(services, question, topics_of(question))
        if allowed == names:
            return upstream.ask(question)
        refusal = denied(only(question, names - allowed))
        if not allowed:
            return refusal
        return upstream.ask(
            only(question, allowed),
            lambda answer: joined(question, refusal, answer_of(question, answer)),
        )

    def metadata(services, question):
        here, asked = services.addresses[question.listener.name], question.request.body.topics

        def with_proxy(answer):
            told = answer_of(question, answer)
            names = [topic.name for topic in told.topics]
            allowed = may_all(services, question, names, log_denied=asked is not None)

            def shown(topic):
                if topic.name in allowed:
                    return topic
                error = ErrorCode.topic_authorization_failed
                return None if asked is None else replace(topic, error_code=error, partitions=())

            [broker] = told.brokers
            return replace(
                told,
                brokers=(replace(broker, host=here.host, port=here.port),),
                topics=tuple(filter(None, map(shown, told.topics))),
            )

        return upstream.ask(question, with_proxy)

    [described] = metadata_api(tuple).values()
    apis = {METADATA: described._replace(handle=metadata)}
    for key in (PRODUCE, FETCH, LIST_OFFSETS):
        [api] = topic_api(key, None).values()
        apis[key] = api._replace(handle=by_topic)
    return apis


def answer_of(question, payload):
    head = question.request.head
    return read_response(payload, response_type(head.api_key, head.version))


async def run(folder, upstream):
    config = trial_config(
        folder, changed={"listeners": "PLAINTEXT://127.0.0.1:0,SASL_PLAINTEXT://127.0.0.1:0"}
    )
    stopping = asyncio.Event()
    for each in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(each, stopping.set)
    async with Node(config, apis=passing_on(upstream)) as node:
        await node.ready()
        print("open", node.addresses["PLAINTEXT"], node.addresses["SASL_PLAINTEXT"], flush=True)
        await node.until(stopping)
    upstream.close()


if __name__ == "__main__":
    [broker] = parse_addresses(sys.argv[2])
    asyncio.run(run(sys.argv[1], Upstream(broker)))
