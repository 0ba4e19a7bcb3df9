"""Every request decided again, as of its own time, by the authorizer itself.

A narrow job without a shuffle: of each request what it asks goes to a Python worker, in Arrow
columns, and comes back as a decision; the other columns stay where they are. This module must
not know where requests and the state come from.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Final

import pyarrow as pa  # Spark reads the hints of what a worker runs

from metalog.acl import PatternType
from metalog_spark.decide.decide_worker import (
    ANSWERS,
    BETWEEN_PARTS,
    BETWEEN_WORDS,
    QuestionColumns,
    deciding,
)
from metalog_spark.store.tables import DECISIONS

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

    from metalog_spark.history.configuration import Configuration

_PART, _WORD = (f", CAST(X'{byte.hex()}' AS STRING), " for byte in (BETWEEN_PARTS, BETWEEN_WORDS))
_QUESTION: Final = _PART.join(
    ("principal", "host", "resource_name", _WORD.join(("operation", "resource_type")))
)
_ASKED: Final = (
    f"CASE WHEN pattern_type = '{PatternType.LITERAL.name}'"
    f" THEN CAST(concat({_QUESTION}) AS BINARY) END",
    "unix_micros(time)",
)
"""The columns of ``QuestionColumns``. To send a column takes longer than to put a part into one."""
_DECIDED: Final = "log_offset BIGINT, answer INT, acl_id STRING"


def decided(requests: DataFrame, state: bytes, configuration: Configuration) -> DataFrame:
    """The rows of DECISIONS for rows with the columns of REQUESTS; ``state`` is what
    ``metalog_spark.history.state.packed`` made.

    In a gap of the history it is decided by the last ACLs known, and before the history not at
    all. Nor is what no authorizer answers: a request of which a part is missing or is none
    of Kafka's words, and one for a pattern that is not LITERAL.
    """
    eras = configuration.eras

    def decide(questions: pa.Array, times: pa.Array) -> pa.Array:
        return deciding(state, eras).decide(QuestionColumns(questions, times))

    return answered(requests, decide)


def answered(requests: DataFrame, decide: Callable[..., pa.Array]) -> DataFrame:
    """The rows of DECISIONS by what ``decide`` answers, in a worker, for ``QuestionColumns``: a
    ``StructArray`` of ``decide_worker.DECIDED``. Spark reads its hints, which name ``pa.Array``."""
    from pyspark.sql.functions import expr
    from pyspark.sql.pandas.functions import arrow_udf

    ask = arrow_udf(decide, _DECIDED)  # type: ignore[call-overload]  # its stub knows no hints
    found = requests.withColumn("decision", ask(*map(expr, _ASKED))).select("*", "decision.*")
    results, rules = zip(*ANSWERS, strict=True)
    worded = found.withColumns(
        {
            "decided": _word("shiftright(answer, 1)", results),
            "decided_rule": _word("shiftright(answer, 1)", rules),
            "known": expr("answer & 1 = 1"),
        }
    ).withColumn("disagrees", expr("CASE WHEN known THEN decided <> result END"))
    return worded.select(*DECISIONS.columns)


def _word(place: str, words: Iterable[str]) -> Column:
    """The word at a place; null where no word is."""
    from pyspark.sql.functions import expr

    cases = (f"WHEN {number} THEN '{word}'" for number, word in enumerate(words))
    return expr(f"CASE {place} {' '.join(cases)} END")
