"""Lets Spark find the format ``metalog`` by itself: ``spark.read.format("metalog")``.

Spark imports each installed package whose name begins with ``pyspark_``, and takes the package's
``DefaultSource``. If one import fails, Spark has no source of any package. So until the format is
used, this module imports only Spark's own classes. This module must not know how a log is read.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pyspark.sql.datasource import DataSource, DataSourceReader, DataSourceStreamReader

if TYPE_CHECKING:
    from pyspark.sql.types import StructType

    from metalog_spark.history.datasource import MetalogDataSource

_NAME: Final = "metalog"


class DefaultSource(DataSource):
    """The format ``metalog`` in a session without ``metalog_spark.register``.

    By default, Spark refuses a source that can filter. So this source reads all records, and Spark
    filters them. ``metalog_spark.register`` changes the default, and registers another source.
    """

    @classmethod
    def name(cls) -> str:
        return _NAME

    def schema(self) -> str:
        return self._source().schema()

    def reader(self, schema: StructType) -> DataSourceReader:
        return self._source().unfiltered_reader(schema)

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: N802 - Spark's name
        return self._source().streamReader(schema)

    def _source(self) -> MetalogDataSource:
        from metalog_spark.history.datasource import MetalogDataSource

        return MetalogDataSource(self.options)
