"""A toy broker: topics of one partition in memory, and a node that authorizes the clients.

    python examples/toy_broker.py DIR TOPIC…

The node has the listeners, the logins, and the APIs by which Kafka's tools manage ACLs and users.
This program adds topics. Every client at PLAINTEXT is the super user, who creates users and ACLs;
these users log in at SASL_PLAINTEXT. The broker is for producers that wait for an answer and are
neither idempotent nor transactional.
"""

import asyncio
import signal
import sys

from kio.schema.errors import ErrorCode

from metalog import CorruptLog, decode_batch
from metalog_node import FETCH, LIST_OFFSETS, PRODUCE, Node, dev_config, metadata_api, topic_api

LATEST = -1


class Topics:
    """The topics, each a list of ``(end offset, record batch)``."""

    def __init__(self, names):
        self._batches = {name: [] for name in names}

    def apis(self):
        """The APIs of the topics; the node authorizes each topic before it calls them."""
        names = self._batches.keys
        return {
            **metadata_api(names),
            **topic_api(PRODUCE, self._produce, names),
            **topic_api(FETCH, self._fetch, names),
            **topic_api(LIST_OFFSETS, self._list_offsets, names),
        }

    def _produce(self, topic, part):
        try:
            batch = decode_batch(part.records)
        except CorruptLog:
            return {"error_code": ErrorCode.corrupt_message}
        base = self._end(topic)
        placed = base.to_bytes(8, "big") + part.records[8:]  # the checksum excludes the offset
        self._batches[topic].append((base + batch.record_count, placed))
        return {"base_offset": base}

    def _fetch(self, topic, part):
        wanted = [data for end, data in self._batches[topic] if end > part.fetch_offset]
        return {"high_watermark": self._end(topic), "records": b"".join(wanted)}

    def _list_offsets(self, topic, part):
        return {"offset": self._end(topic) if part.timestamp == LATEST else 0}

    def _end(self, topic):
        batches = self._batches[topic]
        return batches[-1][0] if batches else 0


async def run(folder, topics):
    config = dev_config(
        folder, changed={"listeners": "PLAINTEXT://127.0.0.1:0,SASL_PLAINTEXT://127.0.0.1:0"}
    )
    stopping = asyncio.Event()
    for each in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(each, stopping.set)
    async with Node(config, apis=Topics(topics).apis()) as node:
        await node.ready()
        print("open", node.addresses["PLAINTEXT"], node.addresses["SASL_PLAINTEXT"], flush=True)
        await node.until(stopping)


if __name__ == "__main__":
    asyncio.run(run(sys.argv[1], sys.argv[2:]))
