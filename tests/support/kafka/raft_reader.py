"""The reader of real Kafka's raft client, in a JVM: what it accepts, and what it throws on.

This module must not know what a test claims.
"""

from __future__ import annotations

from typing import Any

from py4j.protocol import Py4JJavaError

from metalog.records.batch import Batch, batch_bytes
from tests.support.kafka.jvm import tools_process
from tests.support.kafka.tools import KafkaTools


def kafka_reads(tools: KafkaTools, written: Batch) -> bool:
    """Whether the reader of Kafka's raft client reads the batch to its end."""
    jvm: Any = tools_process(tools).classes
    kafka = jvm.org.apache.kafka
    records = kafka.common.record.internal.MemoryRecords.readableRecords(
        jvm.java.nio.ByteBuffer.wrap(batch_bytes(written))
    )
    reader = kafka.raft.internals.RecordsIterator(
        records,
        kafka.metadata.MetadataRecordSerde(),
        kafka.common.utils.BufferSupplier.NO_CACHING,
        1 << 20,
        True,
        kafka.common.utils.LogContext(),
    )
    try:
        return bool(reader.hasNext())
    except Py4JJavaError:
        return False
