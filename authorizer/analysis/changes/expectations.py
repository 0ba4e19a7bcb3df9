"""Compares expected decisions with actual ones.

This module must not know where expectations are written, nor how an outcome is shown.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from authorizer.engine.decide import Decision
from authorizer.trace import Question


class Expectation(NamedTuple):
    """An expected decision. ``rule`` is Kafka's name of the rule, or None for any rule."""

    question: Question
    allowed: bool
    rule: str | None = None


class Outcome(NamedTuple):
    expectation: Expectation
    decision: Decision

    @property
    def is_met(self) -> bool:
        _, allowed, rule = self.expectation
        return bool(self.decision.result) is allowed and rule in (None, self.decision.rule)


def outcomes(
    expectations: Iterable[Expectation], decide: Callable[[Question], Decision]
) -> Iterator[Outcome]:
    for expectation in expectations:
        yield Outcome(expectation, decide(expectation.question))
