"""The index files equal Kafka's for the same segments, byte for byte."""

from metalog.disk.files import LOCAL_FILES, opened
from metalog.log.continuity import Continuity
from metalog.log.folder.layout import index_name, segments, time_index_name
from metalog.log.folder.segment import SegmentReader
from metalog.log.folder_writer.appender import IndexBuilder
from tests.support.kafka.cases import KafkaCase

WRITTEN_BY_A_LEADER = (
    "basic-4.3", "large-4.3", "old-3.7", "old-3.9", "snapshots-4.3", "trimmed-4.3", "demo",
)  # fmt: skip
"""A follower appends several batches at once, with one index entry for all."""


def test_indexes_are_kafkas(kafka_case: KafkaCase) -> None:
    folder = kafka_case.metadata_dir
    if kafka_case.name not in WRITTEN_BY_A_LEADER:
        return
    for base in segments(path.name for path in folder.iterdir()):
        offsets, times = folder / index_name(base), folder / time_index_name(base)
        assert (offsets.read_bytes(), times.read_bytes()) == _indexed(kafka_case, base)


def _indexed(case: KafkaCase, base: int) -> tuple[bytes, bytes]:
    path = case.metadata_dir / f"{base:020d}.log"
    builder = IndexBuilder(base)
    offsets = times = b""
    with opened(LOCAL_FILES, path) as file:
        reader = SegmentReader(file, str(path), Continuity(base), may_be_torn=True)
        position = 0
        for batch in reader:
            offset_entry, time_entry = builder.add(batch, position)
            offsets += offset_entry
            times += time_entry
            position = reader.position
    return offsets, times + builder.last_time_entry()
