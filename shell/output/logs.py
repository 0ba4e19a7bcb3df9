"""The logs of a running node: events, and the audit log.

Text has the layout of Kafka's own logs. JSON is one object per line. Control characters are
escaped, so that no name can forge a line. This module must not know what is logged.
"""

from __future__ import annotations

import json
import logging
import sys
from collections.abc import Mapping
from datetime import UTC, datetime
from logging.handlers import WatchedFileHandler
from pathlib import Path
from typing import TYPE_CHECKING, Final

from authorizer.audit.line import LOGGER, TRACE
from metalog.errors import InvalidRequest
from metalog.text.visible_text import safe

if TYPE_CHECKING:
    from metalog_node.ops.log_queue import LogQueue

FORMATS: Final = ("text", "json")
AUDIT_LEVELS: Final = ("INFO", "DEBUG", "TRACE")
"""The levels of Kafka's audit logger. INFO logs denials; DEBUG adds allowed requests; TRACE adds
checks that only filter results, such as a list of topics."""

_LEVELS: Final = {
    TRACE: "TRACE",
    logging.DEBUG: "DEBUG",
    logging.INFO: "INFO",
    logging.WARNING: "WARN",
    logging.ERROR: "ERROR",
    logging.CRITICAL: "FATAL",
}


def start_logging(
    format: str, audit_file: str | None, *, audit_level: str | None = None, is_quiet: bool
) -> Mapping[str, LogQueue]:
    """Log events to standard error in ``format``, and audit lines to ``audit_file`` as text.

    Without ``audit_file``, audit lines go to standard error, too. ``is_quiet`` hides events below
    WARNING. logrotate can move the audit file away: the node creates a new file.

    Returns the queues of the node's log and of the audit log. The caller must close the queues.

    Raises:
        InvalidRequest: the audit log cannot be written.
    """
    from metalog_node.ops.log_queue import LogQueue

    root = logging.getLogger()
    events = logging.StreamHandler(sys.stderr)
    events.setFormatter(JsonLines() if format == "json" else KafkaLayout())
    audit_lines = events if audit_file is None else _appending(audit_file)
    queues = {"node": LogQueue(events), "audit": LogQueue(audit_lines)}
    root.addHandler(queues["node"])
    root.setLevel(logging.WARNING if is_quiet else logging.INFO)
    audit = logging.getLogger(LOGGER)
    if audit_level is not None:
        audit.setLevel(TRACE if audit_level == "TRACE" else audit_level)
    elif audit_file is not None:
        audit.setLevel(logging.INFO)
    audit.addHandler(queues["audit"])
    audit.propagate = False
    return queues


def _appending(audit_file: str) -> logging.Handler:
    try:
        file = WatchedFileHandler(Path(audit_file), encoding="utf-8", errors="backslashreplace")
    except OSError as error:
        raise InvalidRequest(
            f"--audit-log {audit_file}: cannot be written: {error.strerror}"
        ) from None
    file.setFormatter(KafkaLayout())
    return file


class KafkaLayout(logging.Formatter):
    """``[%d] %p %m (%c)``, the layout of Kafka's own configuration.

    A tab begins each line of a traceback, so that no such line looks like a log line.
    """

    def format(self, record: logging.LogRecord) -> str:
        when = datetime.fromtimestamp(record.created).astimezone()
        time = f"{when:%Y-%m-%d %H:%M:%S},{when.microsecond // 1000:03d}"
        line = f"[{time}] {_level(record)} {safe(record.getMessage())} ({record.name})"
        if record.exc_info:
            traceback = self.formatException(record.exc_info).split("\n")
            line = "\n\t".join([line, *map(safe, traceback)])
        return line


class JsonLines(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        when = datetime.fromtimestamp(record.created, UTC)
        fields = {
            "time": f"{when:%Y-%m-%dT%H:%M:%S}.{when.microsecond // 1000:03d}Z",
            "level": _level(record),
            "logger": record.name,
            "message": record.getMessage(),
        }
        if record.exc_info:
            fields["exception"] = self.formatException(record.exc_info)
        return json.dumps(fields)


def _level(record: logging.LogRecord) -> str:
    return _LEVELS.get(record.levelno, record.levelname)
