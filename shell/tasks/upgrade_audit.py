"""Counts the logged requests that another Kafka version would answer differently.

This module must not know which ACLs change an answer.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from authorizer.analysis.lint.finding import LintSubject
    from authorizer.kafka_version import KafkaVersion
    from shell.tasks.questions import QuestionGroup


def turned_requests(
    subject: LintSubject, to: KafkaVersion, groups: Iterable[QuestionGroup]
) -> tuple[int, int]:
    """How many requests the version ``to`` answers differently than ``to.other``, and how many
    requests there are."""
    from authorizer.engine.bulk import BulkDecider, RequestColumns
    from authorizer.engine.index import AclIndex

    listed = list(groups)
    questions = [group.parsed.question for group in listed]
    columns = RequestColumns(
        [question.principal for question in questions],
        [question.host or "" for question in questions],
        [question.operation.name for question in questions],
        [question.resource_type.name for question in questions],
        [question.resource_name for question in questions],
    )
    index, config = AclIndex.of(subject.acls), subject.config
    before, after = (
        BulkDecider(index, config._replace(kafka_version=version)).allowed(columns)
        for version in (to.other, to)
    )
    times = [group.times for group in listed]
    return sum(
        count for count, was, will in zip(times, before, after, strict=True) if was is not will
    ), sum(times)
