"""Lets Spark find the format ``metalog`` by itself: ``spark.read.format("metalog")``.

Spark imports each installed package whose name begins with ``pyspark_``, at its first look for a
Python data source, and takes the class ``DefaultSource`` in it. If one such import fails, Spark
has none of them; so nothing but Spark's own class is imported here until the format is used. This
module must not know how a log is read.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pyspark.sql.datasource import DataSource, DataSourceReader, DataSourceStreamReader

if TYPE_CHECKING:
    from pyspark.sql.types import StructType

    from metalog_spark.history.datasource import MetalogDataSource

_NAME: Final = "metalog"


class DefaultSource(DataSource):
    """The format ``metalog`` of a session that nobody registered it in.

    Spark lets a source carry out filters only where a setting says so that is off by default, and
    refuses one that could. So this source reads all records, and Spark filters them;
    ``metalog_spark.register`` turns the setting on, and takes the source that filters.
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
