"""The whole content of a pipeline's folder, for comparisons.

This module must not know who made it.
"""

from __future__ import annotations

from collections import Counter
from functools import reduce
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from metalog_spark.store.table_store import Tables
from metalog_spark.store.tables import FILES, TABLES

AS_THEY_ARE = {"ignoreNullFields": "false", "timestampFormat": "yyyy-MM-dd HH:mm:ss.SSSSSS"}


def everything(spark: SparkSession, folder: Path) -> Counter[tuple[str, str]]:
    """Every row of every table, with the table's name, except the rows about audit files: a
    duplicate that is left out does not matter."""
    tables = Tables.open(spark, folder)
    rows = [
        tables.read(table).select(f.lit(name), f.to_json(f.struct("*"), AS_THEY_ARE))
        for name, table in TABLES.items()
        if table != FILES
    ]
    return Counter(map(tuple, reduce(DataFrame.unionAll, rows).collect()))
