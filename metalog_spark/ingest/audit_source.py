"""Reads audit files through Spark's own sources.

Spark finds the files on a disk or in an object store. No line comes to the driver. This module must
not know what a line says.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pyarrow as pa  # Spark reads the type hints of functions for workers
import pyarrow.compute as pc

from metalog.errors import InvalidRequest
from metalog_spark.ingest.audit_files import BrokerPattern
from metalog_spark.ingest.requests import READ
from metalog_spark.session import errors_of_spark, first_line
from metalog_spark.store.arrow import Mapped, frame_of
from metalog_spark.store.preflight import PACKED
from metalog_spark.store.table_store import NOT_THERE, placed

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from authorizer.audit.layouts import Zone

LISTED: Final = "path STRING, length BIGINT, modified TIMESTAMP"
SPLITS: Final = "path STRING, start BIGINT, lines BIGINT"
"""The file's path as a URI, the split's start in bytes, and a number of lines."""
_OF_SPLIT: Final = ("_metadata.file_path AS path", "_metadata.file_block_start AS start")
_NO_JAR: Final = re.compile(r"\bNo FileSystem for scheme|\bClassNotFoundException: Class \S+ not")
_JARS: Final = {
    "s3a": "org.apache.hadoop:hadoop-aws",
    "abfs": "org.apache.hadoop:hadoop-azure",
    "abfss": "org.apache.hadoop:hadoop-azure",
    "gs": "com.google.cloud.bigdataoss:gcs-connector",
}
_NO_ANSWER: Final = re.compile(r"\bjava\.(?:net|nio|io)\.\w+Exception\b")
_WITH_A_COLON: Final = "Relative path in absolute URI: "
"""Hadoop's error if a folder has a name with a colon, and a pattern is matched there."""
_RAW_FILES: Final = {
    "fs.file.impl": "org.apache.hadoop.fs.RawLocalFileSystem",
    "fs.file.impl.disable.cache": "true",
}
"""Options of a reader, so that they also apply with Spark Connect. Hadoop's default file system for
a disk looks for a checksum file, and fails if a file's name has a colon."""
_SPECIAL: Final = re.compile(r"([*?\[\]{}\\])")
_AT_ANY_DEPTH: Final = "/**/"
_LOCAL: Final = "regexp_replace(path, '^file:/+', '/') AS path"


def listed(session: SparkSession, patterns: Sequence[str]) -> DataFrame:
    """The files that ``patterns`` name, as rows of ``LISTED``. A pattern is a file, a folder (all
    files below it), a pattern of Spark, or ``FOLDER/**/NAME``. Spark leaves out empty files. In a
    folder, Spark also leaves out names that begin with a dot or an underscore.

    Raises:
        InvalidRequest: Spark finds no file, cannot match the pattern, or cannot reach the URI.
    """
    found = _union(_listed(session, pattern) for pattern in dict.fromkeys(patterns))
    return frame_of(session, [], LISTED) if found is None else found.dropDuplicates(["path"])


def _listed(session: SparkSession, pattern: str) -> DataFrame:
    reader = session.read.format("binaryFile").option("recursiveFileLookup", "true")
    place, deep, name = placed(pattern).partition(_AT_ANY_DEPTH)
    if deep and "/" not in name:
        reader = reader.option("pathGlobFilter", name)
    else:
        place = placed(pattern)
    try:
        files = reader.load(_literal(place) if Path(place).exists() else place)
        return files.selectExpr(_LOCAL, "length", "modificationTime AS modified")
    except errors_of_spark() as error:
        if _WITH_A_COLON in str(error):
            name = first_line(error).partition(_WITH_A_COLON)[2]
            raise InvalidRequest(
                f"{pattern}: Hadoop matches no pattern in this folder, because the name {name!r}"
                f" has a colon: name the folder, each file, or FOLDER{_AT_ANY_DEPTH}PATTERN"
            ) from None
        if getattr(error, "getCondition", str)() == NOT_THERE:
            raise InvalidRequest(
                f"{pattern}: no file has this name or matches this pattern"
            ) from None
        raise _unreachable(pattern, error) or error from None


def _unreachable(place: str, error: Exception) -> InvalidRequest | None:
    """The error about a URI that has no file system or does not answer; None for other errors."""
    scheme, is_uri, _ = place.partition(":/")
    reason = first_line(error)
    if not is_uri:
        return None
    if _NO_JAR.search(reason):
        jar = _JARS.get(scheme, f"the one with Hadoop's file system for {scheme}")
        return InvalidRequest(
            f"{place}: Spark has no jar for {scheme}://: add {jar} in the version of Spark's Hadoop"
            " by --spark-conf spark.jars.packages=GROUP:NAME:VERSION or spark.jars=FILE"
        )
    if _NO_ANSWER.search(reason):
        return InvalidRequest(f"{place}: cannot be read: {reason}")
    return None


def read_audit(
    session: SparkSession, paths: Sequence[str], zone: Zone, pattern: BrokerPattern
) -> DataFrame:
    """All lines of the files at ``paths``, as rows of ``READ``. Times without a zone are in
    ``zone``. ``pattern`` finds the broker's name in a path."""
    return AuditFiles(session, pa.array(paths, pa.string())).read(zone, pattern)


class AuditFiles:
    """The files at ``paths``, which Spark lists once."""

    def __init__(self, session: SparkSession, paths: pa.Array | pa.ChunkedArray) -> None:
        self._session = session
        suffixes = (pc.ends_with(paths, suffix) for suffix in PACKED)
        is_packed = reduce(pc.or_, suffixes)
        plain, packed = paths.filter(pc.invert(is_packed)), paths.filter(is_packed)
        self._lines = _lines_in(session, plain.to_pylist()) if len(plain) else None
        self._contents = _contents_of(session, packed.to_pylist()) if len(packed) else None

    def splits(self) -> DataFrame:
        """Rows of ``SPLITS`` with the number of lines in each split of plain files."""
        from pyspark.sql import functions as f

        if self._lines is None:
            return frame_of(self._session, [], SPLITS)
        return self._lines.groupBy("path", "start").agg(f.count("*").alias("lines"))

    def read(
        self,
        zone: Zone,
        pattern: BrokerPattern,
        then: Mapped = lambda batches: iter(batches),
        schema: str = READ,
        before: DataFrame | None = None,
    ) -> DataFrame:
        """All lines as rows of ``schema``. ``then`` converts batches of ``READ`` to ``schema`` on
        the workers. ``before`` has the number of lines before each split, as rows of ``SPLITS``.
        Without ``before``, lines are numbered from the start of their split."""
        from metalog_spark.ingest.audit_splits import read_packed, read_splits

        def on_worker(decode: Callable[..., Iterator[pa.RecordBatch]]) -> Mapped:
            def read(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
                return then(decode(batches, zone, pattern))

            return read

        found = []
        if self._lines is not None:
            lines = _numbered(self._lines, before)
            found.append(lines.mapInArrow(on_worker(read_splits), schema))
        if self._contents is not None:
            found.append(self._contents.mapInArrow(on_worker(read_packed), schema))
        rows = _union(found)
        return frame_of(self._session, [], schema) if rows is None else rows


def _union(frames: Iterable[DataFrame]) -> DataFrame | None:
    found = [*frames]
    return reduce(lambda one, more: one.unionAll(more), found) if found else None


def _lines_in(session: SparkSession, paths: Iterable[str]) -> DataFrame:
    from metalog_spark.ingest.audit_splits import LINES

    lines = session.read.options(**_RAW_FILES, lineSep="\n").text([*map(_literal, paths)])
    return lines.selectExpr(LINES, *_OF_SPLIT, "_metadata.file_size AS size")


def _contents_of(session: SparkSession, paths: Iterable[str]) -> DataFrame:
    reader = session.read.format("binaryFile").options(**_RAW_FILES)
    return reader.load([*map(_literal, paths)]).select("path", "content")


def _numbered(lines: DataFrame, before: DataFrame | None) -> DataFrame:
    from pyspark.sql import functions as f

    if before is None:
        return lines.withColumn("lines", f.lit(0).cast("bigint"))
    joined = lines.join(f.broadcast(before), ["path", "start"], "left")
    return joined.select(*lines.columns, f.coalesce("lines", f.lit(0)).alias("lines"))


def _literal(path: str) -> str:
    """Escape ``path``, because Spark reads a path as a pattern."""
    return _SPECIAL.sub(r"\\\1", path)
