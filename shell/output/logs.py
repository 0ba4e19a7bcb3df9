"""The logs of a running node: events, and the audit log.

Text has the layout of Kafka's own logs, so tools for Kafka's logs can read it, and ``metalog
explain`` can read the audit lines. JSON is one object per line. So that no name can forge a line,
control characters are escaped; in text, a tab begins each line of a traceback. A thread for each
log writes the lines from a bounded queue. This module must not know what is logged.
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
    """Log events to standard error; if ``is_quiet``, only warnings and errors.

    Audit lines of ``audit_level`` and higher go to ``audit_file`` as text; if it is None, to
    standard error in ``format``. If the file is moved away, it is created again, as logrotate
    expects. Returns the queues of the node's log and of the audit log; the caller closes them at
    the end.

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
    """``[%d] %p %m (%c)``, the layout of Kafka's own configuration; a traceback follows."""

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
