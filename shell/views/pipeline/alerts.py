"""Prints the alerts of ``metalog pipeline follow`` as they arrive.

This module must not know what deserves an alert.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from metalog.text.visible_text import safe
from metalog_sources.moment import time_text
from shell.output.output import Output
from shell.tasks.follow.alerts import record
from shell.views.pipeline.findings import STYLES, acl_text


def print_alerts(alerts: Iterable[dict[str, Any]], output: Output) -> None:
    for alert in alerts:
        if output.is_text:
            _print_alert(alert, output)
        else:
            output.record(record(alert))
    output.flush()


def _print_alert(alert: dict[str, Any], output: Output) -> None:
    when = time_text(alert["ms"])
    severity = output.paint(f"{alert['severity'].lower():<7}", STYLES[alert["severity"]])
    what = alert["principal"] if alert["operation"] is None else acl_text(alert)
    about = "" if what is None else f"{safe(what)}: "
    output.line(f"{when}  {severity}  {alert['kind']}: {about}{safe(alert['message'])}")
    if alert["remedy"] is not None:
        output.line(f"    {safe(alert['remedy'])}")
