"""Starts ``follow``: one streaming query over a metadata log and an audit folder or topic.

The query only reports new files or offsets; a batch processes them. ``follow`` does not continue
without the query's checkpoint in the pipeline's folder. This module must not know what a batch
does.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from metalog.disk.files import LOCAL_FILES
from metalog.errors import InvalidTarget
from metalog.log.opening import scheme_of
from metalog.log.topic.address import is_topic
from metalog_sources.names import look_up
from metalog_spark.follow.batch import AT, FOLLOW, NEW_INPUT, FollowJob, progress_of
from metalog_spark.follow.topic import NAME as TOPIC
from metalog_spark.follow.topic import AuditTopicSource
from metalog_spark.history.datasource import NAME, register
from metalog_spark.store.preflight import check_is_outside
from metalog_spark.store.refusals import FOLLOWED
from metalog_spark.store.table_store import NOT_THERE, Tables, placed
from metalog_spark.store.tables import REQUESTS

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery
    from pyspark.sql.streaming.readwriter import DataStreamReader

    from metalog_spark.store.commit_log import CommittedState

Followed = dict[str, Any]
"""``log`` and ``audit`` as given, with absolute paths. ``url`` is the log that an ``@NAME`` stands
for, else ``log``; ``cluster`` is the id of the log's cluster, or None."""
_CHECKPOINT: Final = "checkpoint"
_FILES: Final = "path STRING, modificationTime TIMESTAMP, length BIGINT, content BINARY"
_MAX_FILE_AGE: Final = "36500d"
FILES_PER_BATCH: Final = 1_000
OFFSETS_PER_BATCH: Final = 500_000
"""The default for the most offsets of a topic in a batch."""


def follow_tables(
    session: SparkSession, out: str, source: str, audit: str, cluster_id: str | None = None
) -> Tables:
    """The folder that ``follow`` fills, new or from an earlier run.

    Raises:
        InvalidTarget: other input filled the folder, its checkpoint is gone, or the folder lies in
            ``source`` or ``audit``.
    """
    tables = Tables.make(session, out)
    followed = check_same_input(out, tables.contents, source, audit, cluster_id)
    if progress_of(tables).batch >= 0 and not _has_checkpoint(session, tables.path):
        raise InvalidTarget(
            f"{out}: its {_CHECKPOINT} is gone, so it is unknown which lines were read;"
            " use another folder"
        )
    tables.store_facts(**{FOLLOWED: followed})
    return tables


def check_same_input(
    out: str, contents: CommittedState, source: str, audit: str, cluster_id: str | None
) -> Followed:
    """The description of the input, to store in the folder ``out``.

    A log with another cluster id is other input. If an id is unknown, an ``@NAME`` with another
    url is other input.

    Raises:
        InvalidTarget: other input filled ``out``, or ``out`` lies in ``source`` or ``audit``.
    """
    url = _url_of(source)
    check_is_outside(out, "--audit", audit)
    check_is_outside(out, "--log", url)
    log = source if source.startswith("@") else url
    followed: Followed = {"log": log, "audit": placed(audit), "url": url, "cluster": cluster_id}
    known = contents.facts.get(FOLLOWED)
    if known is None and contents.places_of(contents.stored_as(REQUESTS.name, REQUESTS.within)):
        raise InvalidTarget(f"{out}: written by metalog pipeline build; name another folder")
    if known is None:
        return followed
    if not _is_same(known, followed):
        raise InvalidTarget(
            f"{out}: follows {_shown(known)}, not {_shown(followed)};"
            " name another folder for other input"
        )
    return {**followed, "cluster": cluster_id or known.get("cluster")}


def _is_same(known: Followed, followed: Followed) -> bool:
    """Earlier versions stored a relative ``log``, and neither ``url`` nor ``cluster``."""
    log = known["log"] if known["log"].startswith("@") else _url_of(known["log"])
    if (log, placed(known["audit"])) != (followed["log"], followed["audit"]):
        return False
    clusters = known.get("cluster"), followed["cluster"]
    of = "url" if None in clusters else "cluster"
    return bool(known.get(of, followed[of]) == followed[of])


def _shown(followed: Followed) -> str:
    cluster, url = followed.get("cluster"), followed.get("url")
    more = [] if url in (None, followed["log"]) else [url]
    more += [] if cluster is None else [f"cluster {cluster}"]
    log = f"--log {followed['log']}" + (f" ({', '.join(more)})" if more else "")
    return f"{log} --audit {followed['audit']}"


def _url_of(source: str) -> str:
    """``source`` with absolute paths. An ``@NAME`` is replaced by its url."""
    url, base = source, Path()
    if source.startswith("@"):
        url, base, *_ = look_up(source, os.environ, base, LOCAL_FILES)
    if scheme_of(url) is not None:
        return placed(url)
    parts = [url] if (base / url).exists() else url.split("+")
    return "+".join(placed(base / part) for part in parts)


def start(
    following: FollowJob, tables: Tables, audit: str, *, every_s: int | None, most: int | None
) -> StreamingQuery:
    """Start the query, which polls every ``every_s`` seconds. If ``every_s`` is None, the query
    ends after the existing input. A batch has at most ``most`` files or offsets."""
    from pyspark.sql import functions as f

    session = tables.session
    register(session)
    new_input = _offsets if is_topic(audit) else _files
    rows = new_input(following, session, audit, most).unionByName(_log_growth(following, session))
    rows = rows.withColumn(AT, f.unix_millis(f.current_timestamp()))
    writer = rows.writeStream.queryName(FOLLOW)
    writer = writer.option("checkpointLocation", f"{tables.path}/{_CHECKPOINT}")
    if every_s is None:
        writer = writer.trigger(availableNow=True)
    else:
        writer = writer.trigger(processingTime=f"{every_s} seconds")
    return writer.foreachBatch(following.carry_out).start()


def _files(following: FollowJob, session: SparkSession, audit: str, most: int | None) -> DataFrame:
    files = session.readStream.format("binaryFile").schema(_FILES)
    files = files.option("recursiveFileLookup", "true").option("maxFileAge", _MAX_FILE_AGE)
    files = files.option("maxFilesPerTrigger", str(most or FILES_PER_BATCH))
    return _as_new_input(files.load(audit).select("path"))


def _offsets(
    following: FollowJob, session: SparkSession, audit: str, most: int | None
) -> DataFrame:
    session.dataSource.register(AuditTopicSource)
    topic = _by_config(session.readStream.format(TOPIC), following.topic_config)
    topic = topic.option("maxOffsetsPerTrigger", str(most or OFFSETS_PER_BATCH))
    return _as_new_input(topic.load(audit))


def _log_growth(following: FollowJob, session: SparkSession) -> DataFrame:
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
