"""Explains a decision: the reason, the near misses, and the smallest change that turns it.

Pure data, for the shell to word. One linear pass over the ACLs, however many.
It must not know logs, files or how anything is shown.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from authorizer.analysis.access.hosts import HostAnswer, changing_hosts
from authorizer.analysis.explain.near_misses import NearMiss, near_misses, sort_out
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
    """All there is to say about one question.

    ``hosts`` are the named hosts that would be answered otherwise, for a question without
    a host. ``kafka`` is the version that answers so. ``assumed`` are configuration keys that
    nobody gave, with the values taken for them. ``since`` is None where the history is not known,
    ``unknown`` are names of the question that nobody knows.
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
    """Explain the answer to ``question`` under ``acls``, with at most ``limit`` near misses.

    ``request`` is Kafka's name of the request that asked, such as ``Metadata``, where it is known:
    it tells what a client goes on to do. ``creates_blocks``: from metadata.version 32 on Kafka 4.4
    creates ACLs for CIDR blocks, and remedies may have them.

    ``since`` and ``unknown`` are passed on: the caller knows them where it has a log.
    """
    found = sort_out(acls, question, config.kafka)
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
