"""Decides a window's questions by two sets of ACLs, to prove that one set can replace the other.

The authorizer's code decides.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Final, NamedTuple

from metalog.acl import WILDCARD, Acl, Operation, PatternType, PermissionType, ResourceType
from metalog_spark.findings.usage.minimal_cover import is_expressible
from metalog_spark.findings.usage.usage_classes import ALLOWED
from metalog_spark.findings.windows.questions import QUESTION_COLUMNS, Rules, question_columns
from metalog_spark.store.arrow import Mapped, batch_of

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

    from metalog_spark.findings.usage.acl_lifetimes import RequestKey


class Proof(NamedTuple):
    """Numbers of requests, by the decisions of brokers, today's ACLs and the proposed set.

    - ``allowed``: brokers allowed the request.
    - ``by_super_users``: brokers allowed the request of a super user.
    - ``revoked``: brokers allowed the request, and today's ACLs deny it.
    - ``inexpressible``: brokers and today's ACLs allow the request, the proposed set denies it. No
      LITERAL ALLOW can be proposed for it.
    - ``lost``: like ``inexpressible``, but a LITERAL ALLOW can be proposed. Must be 0.
    - ``gained``: today's ACLs deny the request, the proposed set allows it. Must be 0.
    """

    requests: int = 0
    allowed: int = 0
    by_super_users: int = 0
    revoked: int = 0
    inexpressible: int = 0
    lost: int = 0
    gained: int = 0


_COUNTS: Final = ", ".join(f"{name} BIGINT" for name in Proof._fields)


def replayed(questions: DataFrame, now: Rules, proposed: Rules) -> Proof:
    counted = questions.select(*QUESTION_COLUMNS, "result", "requests").mapInArrow(
        _replaying(now, proposed), _COUNTS
    )
    sums = [f"coalesce(sum({name}), 0)" for name in Proof._fields]
    return Proof(*counted.selectExpr(*sums).collect()[0])


def _replaying(now: Rules, proposed: Rules) -> Mapped:
    def replaying(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        total = [0] * len(Proof._fields)
        for batch in batches:
            questions = question_columns(batch)
            results, requests = (
                batch.column(len(QUESTION_COLUMNS) + place).to_pylist() for place in range(2)
            )
            before = now.opened.decider.allowed(questions)
            after = proposed.opened.decider.allowed(questions)
            for question, result, times, was, is_still in zip(
                zip(*questions, strict=True), results, requests, before, after, strict=True
            ):
                allowed = result == ALLOWED
                by_super_user = allowed and question[0] in now.super_users
                loses = allowed and was and not is_still
                inexpressible = loses and not _is_expressible(question)
                facts = Proof(
                    True,
                    allowed,
                    by_super_user,
                    allowed and not was,
                    inexpressible,
                    loses and not inexpressible,
                    is_still and not was,
                )
                total = [sum_ + times * fact for sum_, fact in zip(total, facts, strict=True)]
        yield batch_of([tuple(total)], _COUNTS)

    return replaying


def _is_expressible(request: RequestKey) -> bool:
    principal, _, operation, kind, name = request
    return is_expressible(
        Acl(
            ResourceType[kind],
            name,
            PatternType.LITERAL,
            principal,
            WILDCARD,
            Operation[operation],
            PermissionType.ALLOW,
        )
    )
