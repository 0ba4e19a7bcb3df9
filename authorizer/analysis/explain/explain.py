"""Explains a decision: the reason, the near misses, and the smallest changes that reverse it.

This module must not know logs, files or how anything is shown.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from authorizer.analysis.access.hosts import HostAnswer, changing_hosts
from authorizer.analysis.explain.near_misses import NearMiss, near_misses, scan_misses
from authorizer.analysis.explain.since import Since
from authorizer.analysis.explain.unknown_names import Unknown
from authorizer.analysis.remedies.remedies import Remedy, remedies
from authorizer.config import AuthorizerConfig
from authorizer.engine.decide import SUPER_USER
from authorizer.kafka_version import KafkaVersion
from authorizer.trace import Question, Trace, trace
from metalog.acl import Acl

NEAR_MISSES_SHOWN = 20


class Explanation(NamedTuple):
    """The explanation of one decision.

    ``hosts`` has the result of ``changing_hosts`` for a question without a host. ``assumed`` has
    configuration keys that were not set, with the assumed values. ``since`` is None if the history
    is unknown. ``unknown`` has the question's unknown names.
    """

    question: Question
    trace: Trace
    near_misses: tuple[NearMiss, ...]
    remedies: tuple[Remedy, ...]
    hosts: tuple[HostAnswer, ...]
    kafka: KafkaVersion = KafkaVersion.V4_3
    assumed: tuple[str, ...] = ()
    since: Since | None = None
    unknown: tuple[Unknown, ...] = ()


def explain(
    acls: Iterable[Acl],
    config: AuthorizerConfig,
    question: Question,
    *,
    assumed: Iterable[str] = (),
    limit: int = NEAR_MISSES_SHOWN,
    request: str | None = None,
    creates_blocks: bool = True,
    since: Since | None = None,
    unknown: Iterable[Unknown] = (),
) -> Explanation:
    """Explain the decision on ``question`` under ``acls``, with at most ``limit`` near misses.

    ``request`` is Kafka's name of the client's request, such as ``Metadata``; None: unknown. The
    request tells which operations the client needs next. If ``creates_blocks``, remedies may have
    CIDR blocks, which need Kafka 4.4 and metadata.version 32 or higher. ``assumed``, ``since`` and
    ``unknown`` are copied to the result.
    """
    found = scan_misses(acls, question, config.kafka)
    traced = trace(found.candidates, config, question)
    near = (
        ()
        if traced.decision.rule == SUPER_USER
        else near_misses(found, traced, question, config.kafka, limit)
    )
    return Explanation(
        question,
        traced,
        tuple(near),
        remedies(traced, config, question, near, request, creates_blocks=creates_blocks),
        changing_hosts(traced, config.kafka) if question.host is None else (),
        config.kafka,
        tuple(assumed),
        since,
        tuple(unknown),
    )
