"""A proxy in front of a broker without an authorizer: it passes on only the allowed requests.

    python examples/proxy.py DIR HOST:PORT

It is a node with its own log of ACLs, which Kafka's tools manage at the proxy. If every topic in a
Metadata, Produce, Fetch or ListOffsets request is allowed, the request and its answer pass
unchanged, with two exceptions. An answer to Metadata names the proxy in place of the broker, and
leaves out the topics that the client may not describe. A Produce with acks=0 passes with acks=1,
since the proxy needs an answer, which it does not send. Every client at PLAINTEXT is the super
user; others log in at SASL_PLAINTEXT.
"""

import asyncio
import signal
import sys
from dataclasses import replace

from kio.schema.errors import ErrorCode

from metalog_node import (
    FETCH,
    LIST_OFFSETS,
    METADATA,
    PRODUCE,
    Node,
    Upstream,
    authorized_topics,
    denied,
    dev_config,
    joined,
    metadata_api,
    restricted_to,
    topic_api,
    topics_of,
    with_answer,
)


def passing_on(upstream):
    """The APIs that are forwarded to the broker if the authorizer allows them."""

    def by_topic(services, incoming):
        incoming = with_answer(incoming)
        names = {*topics_of(incoming)}
        allowed = authorized_topics(services, incoming, topics_of(incoming))
        if allowed == names:
            return upstream.ask(incoming)
        refusal = denied(restricted_to(incoming, names - allowed))
        if not allowed:
            return refusal
        return upstream.ask_and(
            restricted_to(incoming, allowed), lambda answer: joined(incoming, refusal, answer)
        )

    def metadata(services, incoming):
        here, topics = services.addresses[incoming.listener.name], incoming.request.body.topics

        def with_proxy(answer):
            names = [topic.name for topic in answer.topics]
            allowed = authorized_topics(services, incoming, names, log_denied=topics is not None)

            def shown(topic):
                if topic.name in allowed:
                    return topic
                error = ErrorCode.topic_authorization_failed
                return None if topics is None else replace(topic, error_code=error, partitions=())

            [broker] = answer.brokers
            return replace(
                answer,
                brokers=(replace(broker, host=here.host, port=here.port),),
                topics=tuple(filter(None, map(shown, answer.topics))),
            )

        return upstream.ask_and(incoming, with_proxy)

    [described] = metadata_api(tuple).values()
    apis = {METADATA: described._replace(handle=metadata)}
    for key in (PRODUCE, FETCH, LIST_OFFSETS):
        [api] = topic_api(key, None).values()
        apis[key] = api._replace(handle=by_topic)
    return apis


async def run(folder, upstream):
    config = dev_config(
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
    asyncio.run(run(sys.argv[1], Upstream(sys.argv[2])))
