"""Starts ``follow``: one streaming query over a metadata log and an audit folder or topic.

The query only reports new files or offsets; a batch processes them. The query's checkpoint is in
the pipeline's folder, and ``follow`` does not continue without the checkpoint. This module must not
know what a batch does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from metalog.errors import InvalidTarget
from metalog.log.topic.address import is_topic
from metalog_spark.follow.batch import AT, FOLLOW, NEW_INPUT, FollowJob, progress_of
from metalog_spark.follow.topic import NAME as TOPIC
from metalog_spark.follow.topic import AuditTopicSource
from metalog_spark.history.datasource import NAME, register
from metalog_spark.store.preflight import check_is_outside
from metalog_spark.store.refusals import FOLLOWED
from metalog_spark.store.table_store import NOT_THERE, Tables, placed
from metalog_spark.store.tables import REQUESTS

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery
    from pyspark.sql.streaming.readwriter import DataStreamReader

    from metalog_spark.store.commit_log import CommittedState

_CHECKPOINT: Final = "checkpoint"
_FILES: Final = "path STRING, modificationTime TIMESTAMP, length BIGINT, content BINARY"
_FOR_GOOD: Final = "36500d"
FILES_AT_ONCE: Final = 1_000
OFFSETS_AT_ONCE: Final = 500_000
"""By default, a batch reads at most this many offsets of a topic."""


def follow_tables(session: SparkSession, out: str, source: str, audit: str) -> Tables:
    """The folder that ``follow`` fills, new or from an earlier run.

    Raises:
        InvalidTarget: other input filled the folder, its checkpoint is gone, or the folder lies in
            ``source`` or ``audit``.
    """
    tables = Tables.make(session, out)
    check_same_input(out, tables.contents, source, audit)
    if progress_of(tables).batch >= 0 and not _has_checkpoint(session, tables.path):
        raise InvalidTarget(
            f"{out}: its {_CHECKPOINT} is gone, so it is unknown which lines were read;"
            " use another folder"
        )
    tables.state(**{FOLLOWED: _followed(source, audit)})
    return tables


def check_same_input(out: str, contents: CommittedState, source: str, audit: str) -> None:
    """Raise ``InvalidTarget`` if other input filled the folder ``out``, or if ``out`` lies in
    ``source`` or ``audit``."""
    check_is_outside(out, "--audit", audit)
    check_is_outside(out, "--log", source)
    known = contents.facts.get(FOLLOWED)
    if known is None and contents.places_of(contents.stored_as(REQUESTS.name, REQUESTS.within)):
        raise InvalidTarget(f"{out}: written by metalog pipeline build; name another folder")
    if known is not None and _followed(**known) != _followed(source, audit):
        raise InvalidTarget(
            f"{out}: follows --log {known['log']} --audit {known['audit']};"
            " name another folder for other input"
        )


def _followed(log: str, audit: str) -> dict[str, str]:
    """The log and the audit input, with absolute paths; an ``@NAME`` stays as it is."""
    return {"log": log if log.startswith("@") else placed(log), "audit": placed(audit)}


def start(
    following: FollowJob, tables: Tables, audit: str, *, every_s: int | None, at_once: int | None
) -> StreamingQuery:
    """Start the query. It polls every ``every_s`` seconds. If ``every_s`` is None, it reads all
    existing input and ends. A batch has at most ``at_once`` files, or ``at_once`` offsets."""
    from pyspark.sql import functions as f

    session = tables.session
    register(session)
    new_input = _offsets if is_topic(audit) else _files
    rows = new_input(following, session, audit, at_once).unionByName(_news(following, session))
    rows = rows.withColumn(AT, f.unix_millis(f.current_timestamp()))
    writer = rows.writeStream.queryName(FOLLOW)
    writer = writer.option("checkpointLocation", f"{tables.path}/{_CHECKPOINT}")
    if every_s is None:
        writer = writer.trigger(availableNow=True)
    else:
        writer = writer.trigger(processingTime=f"{every_s} seconds")
    return writer.foreachBatch(following.carry_out).start()


def _files(
    following: FollowJob, session: SparkSession, audit: str, at_once: int | None
) -> DataFrame:
    files = session.readStream.format("binaryFile").schema(_FILES)
    files = files.option("recursiveFileLookup", "true").option("maxFileAge", _FOR_GOOD)
    files = files.option("maxFilesPerTrigger", str(at_once or FILES_AT_ONCE))
    return _as_new_input(files.load(audit).select("path"))


def _offsets(
    following: FollowJob, session: SparkSession, audit: str, at_once: int | None
) -> DataFrame:
    session.dataSource.register(AuditTopicSource)
    topic = _by_config(session.readStream.format(TOPIC), following.topic_config)
    topic = topic.option("maxOffsetsPerTrigger", str(at_once or OFFSETS_AT_ONCE))
    return _as_new_input(topic.load(audit))


def _news(following: FollowJob, session: SparkSession) -> DataFrame:
    followed = following.log
    log = session.readStream.format(NAME).option("startingOffset", "latest")
    log = _by_config(log, followed.command_config)
    return _as_new_input(log.option("committed", followed.committed).load(followed.text))


def _by_config(reader: DataStreamReader, command_config: Path | None) -> DataStreamReader:
    if command_config is None:
        return reader
    return reader.option("commandConfig", str(command_config))


def _as_new_input(rows: DataFrame) -> DataFrame:
    from pyspark.sql import functions as f

    named = (column.split() for column in NEW_INPUT.split(", "))
    return rows.select(
        *(
            f.col(name) if name in rows.columns else f.lit(None).cast(kind).alias(name)
            for name, kind in named
        )
    )


def _has_checkpoint(session: SparkSession, path: str) -> bool:
    from pyspark.errors import AnalysisException

    try:
        return not session.read.text(f"{path}/{_CHECKPOINT}/metadata").isEmpty()
    except AnalysisException as error:
        if error.getCondition() == NOT_THERE:
            return False
        raise
