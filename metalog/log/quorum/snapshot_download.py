"""Decodes a snapshot that is fetched in chunks (KIP-630): chunks in, batches out.

A chunk can end inside a batch, so memory holds one chunk and the beginning of one batch. The caller
checks header and footer. Pure. This module must not know where the chunks come from.
"""

from __future__ import annotations

from collections.abc import Iterator

from metalog.errors import CorruptLog, CorruptSnapshot, InvalidSource
from metalog.ids import SnapshotId
from metalog.log.continuity import Continuity
from metalog.records.batch import Batch, batch_size, decode_batch
from metalog.wire.fetch import Chunk
from metalog.wire.schema import error_name


class Download:
    """Decodes the snapshot ``id``. The caller fetches the chunk at ``position`` until ``is_done``.
    Errors contain ``name``, the log's name."""

    def __init__(self, id: SnapshotId, name: str) -> None:
        self.id = id
        self.position = 0
        self._name = name
        self._size: int | None = None
        self._rest = b""
        self._continuity = Continuity(0)

    @property
    def is_done(self) -> bool:
        return self.position == self._size

    def take(self, chunk: Chunk) -> Iterator[Batch]:
        """The batches that ``chunk`` completes.

        ``InvalidSource`` if the leader refuses the request; ``CorruptSnapshot`` at damage.
        """
        if chunk.code:
            raise InvalidSource(
                f"{self._name}: the snapshot {self.id} cannot be fetched: "
                f"{error_name(chunk.code)}; "
                "retry, because there may be a newer snapshot"
            )
        if self._size is None:
            self._size = chunk.size
        end = chunk.position + len(chunk.data)
        is_expected = (chunk.position, chunk.size) == (self.position, self._size)
        if not is_expected or not chunk.data or end > self._size:
            raise self._damage("the chunks of the snapshot do not fit together")
        begin = self.position - len(self._rest)
        self.position = end
        return self._batches(self._rest + chunk.data, begin)

    def _batches(self, data: bytes, begin: int) -> Iterator[Batch]:
        at = 0
        while (size := batch_size(data, at)) is not None and at + size <= len(data):
            try:
                batch = decode_batch(data, at, file=self._file, file_position=begin + at)
                self._continuity.admit(batch)
            except CorruptLog as error:
                raise self._damage(error.problem, begin + at) from None
            at += size
            yield batch
        self._rest = data[at:]
        if self.is_done and self._rest:
            raise self._damage("the snapshot ends inside a batch", begin + at)

    @property
    def _file(self) -> str:
        return f"{self._name} {self.id}"

    def _damage(self, problem: str, byte: int | None = None) -> CorruptSnapshot:
        return CorruptSnapshot(
            problem, file=self._file, offset=self._continuity.next_offset, byte=byte
        )
