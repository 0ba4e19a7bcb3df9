"""The job that decides every request again, as of its own time, with the authorizer's code.

The job has no shuffle. Python workers get only questions and times; all other columns stay in the
JVM. This module must not know where requests and the state come from.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Final

import pyarrow as pa  # at run time: Spark reads type hints of UDFs

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

_PART_SEPARATOR, _WORD_SEPARATOR = (
    f", CAST(X'{byte.hex()}' AS STRING), " for byte in (BETWEEN_PARTS, BETWEEN_WORDS)
)
_QUESTION: Final = _PART_SEPARATOR.join(
    ("principal", "host", "resource_name", _WORD_SEPARATOR.join(("operation", "resource_type")))
)
_ARGUMENTS: Final = (
    f"CASE WHEN pattern_type = '{PatternType.LITERAL.name}'"
    f" THEN CAST(concat({_QUESTION}) AS BINARY) END",
    "unix_micros(time)",
)
"""The columns of ``QuestionColumns``. Joining the parts costs less than sending more columns."""
_DECIDED: Final = "log_offset BIGINT, answer INT, acl_id STRING"


def decided(requests: DataFrame, state: bytes, configuration: Configuration) -> DataFrame:
    """The rows of DECISIONS for rows with the columns of REQUESTS.

    ``state`` is the result of ``metalog_spark.history.state.packed``. In a gap of the history, the
    last known ACLs decide. These requests get no decision:

    - a request older than the history;
    - a request without a time or a part of the question;
    - a request with an unknown operation or type, or a pattern that is not LITERAL.
    """
    periods = configuration.periods

    def decide(questions: pa.Array, times: pa.Array) -> pa.Array:
        return deciding(state, periods).decide(QuestionColumns(questions, times))

    return answered(requests, decide)


def answered(requests: DataFrame, decide: Callable[..., pa.Array]) -> DataFrame:
    """The rows of DECISIONS. ``decide`` runs in a worker. It takes the columns of
    ``QuestionColumns``, and returns a ``StructArray`` of ``decide_worker.DECIDED``. Its type hints
    must name ``pa.Array``, because Spark reads the hints."""
    from pyspark.sql.functions import expr
    from pyspark.sql.pandas.functions import arrow_udf

    udf = arrow_udf(decide, _DECIDED)  # type: ignore[call-overload]  # its stub knows no hints
    found = requests.withColumn("decision", udf(*map(expr, _ARGUMENTS))).select("*", "decision.*")
    results, rules = zip(*ANSWERS, strict=True)
    worded = found.withColumns(
        {"decided": _word(results), "decided_rule": _word(rules), "known": expr("answer & 1 = 1")}
    ).withColumn("disagrees", expr("CASE WHEN known THEN decided <> result END"))
    return worded.select(*DECISIONS.columns)


def _word(words: Iterable[str]) -> Column:
    from pyspark.sql.functions import expr

    cases = (f"WHEN {number} THEN '{word}'" for number, word in enumerate(words))
    return expr(f"CASE shiftright(answer, 1) {' '.join(cases)} END")
