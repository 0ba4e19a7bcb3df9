"""The data pipeline reads years of a metadata log and of audit logs on Spark.

Spark's workers run the code of ``metalog`` and ``authorizer``. Importing this package starts
nothing and needs no Java.
"""

from typing import TYPE_CHECKING

from metalog.lazy import lazy_names

if TYPE_CHECKING:
    from metalog_spark.findings.exposure import exposure as exposure
    from metalog_spark.findings.windows.window import window_of as window_of
    from metalog_spark.history.datasource import register as register
    from metalog_spark.store.sql_views import register_views as register_views
    from metalog_spark.store.table_store import Tables as Tables
    from metalog_spark.store.tables import ACL_CHANGELOG as ACL_CHANGELOG

if not TYPE_CHECKING:
    __getattr__, __all__ = lazy_names(
        __name__,
        {
            "metalog_spark.history.datasource": "register",
            "metalog_spark.findings.exposure": "exposure",
            "metalog_spark.findings.windows.window": "window_of",
            "metalog_spark.store.table_store": "Tables",
            "metalog_spark.store.sql_views": "register_views",
            "metalog_spark.store.tables": "ACL_CHANGELOG",
        },
    )
