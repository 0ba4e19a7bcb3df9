"""Starts following: one streaming query over an audit folder and a metadata log.

The query only says that something came, a file or records; what is made of it is a batch's.
Its checkpoint lies in the pipeline's folder, and neither is of use without the other.
This module must not know what a batch does.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

from metalog.errors import InvalidTarget
from metalog_spark.datasource import NAME, register
from metalog_spark.folder import Tables, placed
from metalog_spark.follow.batch import FOLLOW, PATH, Following, progress_of
from metalog_spark.tables import REQUESTS

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

_FOLLOWED: Final = "followed"
_CHECKPOINT: Final = "checkpoint"
_FILES: Final = "path STRING, modificationTime TIMESTAMP, length BIGINT, content BINARY"
_FOR_GOOD: Final = "36500d"
_NOT_THERE: Final = "PATH_NOT_FOUND"


def follow_tables(session: SparkSession, out: str, source: str, audit: str) -> Tables:
    """The folder to follow into, new or as it was left; ``InvalidTarget`` where it is another's."""
    _refuse_own_files(out, audit)
    tables = Tables.make(session, out)
    followed = {"log": source, "audit": audit}
    known = tables.facts.get(_FOLLOWED)
    if known is None and tables.has(REQUESTS):
        raise InvalidTarget(f"{out}: what build made; follow into a folder of its own")
    if known not in (None, followed):
        raise InvalidTarget(
            f"{out}: follows --log {known['log']} --audit {known['audit']};"
            " follow others into another folder"
        )
    if progress_of(tables).batch >= 0 and not _has_checkpoint(session, tables.path):
        raise InvalidTarget(
            f"{out}: what was read into it is no longer known, since {_CHECKPOINT} in it is gone;"
            " begin another folder"
        )
    tables.state(**{_FOLLOWED: followed})
    return tables


def _refuse_own_files(out: str, audit: str) -> None:
    is_here = placed(out).startswith("/")
    if is_here and Path(out).resolve().is_relative_to(Path(audit).resolve()):
        raise InvalidTarget(
            f"{out}: lies in --audit {audit}, where all files are read; follow into another folder"
        )


def start(
    following: Following, tables: Tables, audit: str, *, every_s: int | None, files_at_once: int
) -> StreamingQuery:
    """Looks every ``every_s`` seconds; None: reads all that there is, and ends."""
    from pyspark.sql import functions as f

    session = tables.session
    register(session)
    files = session.readStream.format("binaryFile").schema(_FILES)
    files = files.option("recursiveFileLookup", "true").option("maxFileAge", _FOR_GOOD)
    came = files.option("maxFilesPerTrigger", str(files_at_once)).load(audit).select(PATH)
    log = session.readStream.format(NAME).option("startingOffset", "latest")
    news = log.load(following.source).select(f.lit(None).cast("string").alias(PATH))
    writer = came.unionByName(news).writeStream.queryName(FOLLOW)
    writer = writer.option("checkpointLocation", f"{tables.path}/{_CHECKPOINT}")
    if every_s is None:
        writer = writer.trigger(availableNow=True)
    else:
        writer = writer.trigger(processingTime=f"{every_s} seconds")
    return writer.foreachBatch(following.carry_out).start()


def _has_checkpoint(session: SparkSession, path: str) -> bool:
    from pyspark.errors import AnalysisException

    try:
        return not session.read.text(f"{path}/{_CHECKPOINT}/metadata").isEmpty()
    except AnalysisException as error:
        if error.getCondition() == _NOT_THERE:
            return False
        raise
