"""The small shop's folder, made once for all tests of findings."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from metalog_spark.findings.windows.window import Window, window_of
from tests.support.spark.small_shop import SHOP

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from metalog_spark.store.table_store import Tables


@pytest.fixture(scope="session")
def tables(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Tables:
    return SHOP.folder(spark, tmp_path_factory.mktemp("findings") / "shop")


@pytest.fixture(scope="session")
def day(tables: Tables) -> Window:
    return window_of(tables)
