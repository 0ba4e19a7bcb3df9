"""All messages of a batch at once: the hot path of replay.

Most records of a metadata log are ACLs in their plainest form. Those are read here in
one straight line; every other record, and any that is not exactly of that form, goes
the ordinary way (``record``, ``frame``), which alone decides what is wrong with it.

This module must not know files, offsets or control records.
"""

from __future__ import annotations

from metalog.records.frame import Undecodable, decode_value
from metalog.records.message import ControlMessage, Message
from metalog.records.record import read_records


def decode_metadata_values(
    payload: bytes, count: int
) -> list[Message | ControlMessage | Undecodable]:
    return [decode_value(record.value or b"")[1] for record in read_records(payload, count)]
