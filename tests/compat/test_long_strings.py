"""A record can have exactly the strings that Kafka's own classes write and read."""

from __future__ import annotations

from typing import Any

import pytest
from py4j.protocol import Py4JJavaError

from metalog.errors import InvalidRequest
from metalog.records.frame import Undecodable, decode_value, encode_value
from metalog.records.messages import AccessControlEntryRecord
from tests.support.disk.long_names import MAX, acl_body, acl_value
from tests.support.kafka.jvm import tools_process
from tests.support.kafka.tools import KafkaTools


@pytest.mark.once
@pytest.mark.parametrize("size", [MAX, MAX + 1])
def test_kafka_reads_and_writes_the_same(kafka_tools: KafkaTools, size: int) -> None:
    jvm: Any = tools_process(kafka_tools).jvm
    protocol, metadata = jvm.org.apache.kafka.common.protocol, jvm.org.apache.kafka.common.metadata
    read, written = metadata.AccessControlEntryRecord(), metadata.AccessControlEntryRecord()
    written.setResourceName("n" * size).setPrincipal("User:a").setHost("*")
    data = protocol.ByteBufferAccessor(jvm.java.nio.ByteBuffer.wrap(acl_body(size)))
    version, message = decode_value(acl_value(size))
    ours = AccessControlEntryRecord(bytes(16), 2, "n" * size, 3, "User:a", "*", 3, 3)  # type: ignore[arg-type]
    if size == MAX:
        read.read(data, 0)
        assert isinstance(message, AccessControlEntryRecord)
        assert message.resource_name == read.resourceName()
        kafkas = protocol.MessageUtil.toByteBufferAccessor(written, 0).buffer().remaining()
        assert kafkas == len(encode_value(ours, version)) - 3
        return
    with pytest.raises(Py4JJavaError, match="had invalid length 32768"):
        read.read(data, 0)
    with pytest.raises(Py4JJavaError, match="too long to be serialized"):
        protocol.MessageUtil.toByteBufferAccessor(written, 0)
    assert isinstance(message, Undecodable)
    assert message.api_key == AccessControlEntryRecord.API_KEY
    assert "a string of 32,768 bytes; Kafka takes at most 32,767" in message.reason
    with pytest.raises(InvalidRequest, match="a string of 32,768 bytes"):
        encode_value(ours, version)
