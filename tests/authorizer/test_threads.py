"""Readers during writes: what one call answers is what one image says, that of its own time."""

from __future__ import annotations

from tests.prove.reads import watched

STEPS, READS = 600, 60


def test_every_answer_is_that_of_an_image_published_while_it_was_asked_for() -> None:
    assert watched(5, STEPS, READS) >= STEPS * READS
