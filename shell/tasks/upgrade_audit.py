"""What ``metalog lint --for`` says beside its findings: the way back, and logged requests.

This module must not know which ACLs turn an answer.
"""

from __future__ import annotations

from argparse import Namespace
from typing import TYPE_CHECKING

from authorizer.kafka_version import FIRST_OF_4_4, KafkaVersion
from metalog.plurals import counted

if TYPE_CHECKING:
    from shell.arguments.lint_input import Looked
    from shell.output.output import Output


def say_upgrade(looked: Looked, to: KafkaVersion, arguments: Namespace, output: Output) -> int:
    """How many logged requests ``to`` answers otherwise than the other version; 0 without a log."""
    level = looked.metadata_version
    if level is not None and level >= FIRST_OF_4_4:
        already = ", and what turns here has turned already" if to.matches_blocks else ""
        output.note(
            f"metadata.version is {level}: Kafka 4.3 cannot read this log, and no Kafka lowers it, "
            f"so there is no way back{already}"
        )
    if arguments.audit is None:
        return 0
    turned, requests = _audited(looked, to, arguments, output)
    said = f"{turned:,} of {counted(requests, 'logged request')} would get another answer."
    if output.is_text:
        output.line(said)
    else:
        output.note(said)
    return turned


def _audited(
    looked: Looked, to: KafkaVersion, arguments: Namespace, output: Output
) -> tuple[int, int]:
    from authorizer.engine.bulk import BulkDecider, RequestColumns
    from authorizer.engine.index import AclIndex
    from shell.arguments.batch_questions import Many

    many = Many(Namespace(audit=arguments.audit, requests=None, question=[]))
    groups = list(many.groups(output))
    asked = [group.asked.question for group in groups]
    columns = RequestColumns(
        [each.principal for each in asked],
        [each.host or "" for each in asked],
        [each.operation.name for each in asked],
        [each.resource_type.name for each in asked],
        [each.resource_name for each in asked],
    )
    index, config = AclIndex.of(looked.subject.acls), looked.subject.config
    before, after = (
        BulkDecider(index, config._replace(kafka_version=version)).allowed(columns)
        for version in (to.other, to)
    )
    times = [group.times for group in groups]
    return sum(
        count for count, was, will in zip(times, before, after, strict=True) if was is not will
    ), sum(times)
