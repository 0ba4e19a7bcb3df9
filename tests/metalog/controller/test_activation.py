"""The first records of a log, as Kafka's first controller writes them."""

from __future__ import annotations

import pytest

from metalog.controller.activation import check_kafkas_batches
from metalog.errors import InvalidRequest
from tests.support.disk.tiny_log import ace


@pytest.mark.parametrize(("length", "is_written"), [(780, True), (900, False)])
def test_kafkas_batches_have_any_size(length: int, is_written: bool) -> None:
    """A batch of Kafka's is full at 10,000 records. Kafka 4.3.1 and 4.4.0 did not start with the
    larger ones: RecordBatchTooLargeException."""
    bootstrap = [(ace(number, f"{number:06}" + "g" * length), 0) for number in range(10_000)]
    if is_written:
        check_kafkas_batches(bootstrap)
        return
    with pytest.raises(InvalidRequest, match="would write 10,000 records as one batch of 9,"):
        check_kafkas_batches(bootstrap)
