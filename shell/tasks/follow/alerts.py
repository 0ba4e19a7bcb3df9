"""Delivers the alerts of ``metalog pipeline follow`` at least once, to stdout and to a webhook.

The pipeline's folder stores the number of the last shown batch, and of the last posted batch.
This module must not know what deserves an alert, nor how an alert is shown or posted.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, Final

from metalog.acl import ACL_KEYS, Acl
from metalog.text.plurals import counted
from metalog_sources.moment import time_text

if TYPE_CHECKING:
    from metalog_spark.follow.webhook import Webhook
    from metalog_spark.store.table_store import Tables

SHOWN: Final = "told"
"""The key of the last batch whose alerts stdout got."""
_POSTED: Final = "posted"
"""The key of the last batch whose alerts were posted."""
_ORDER: Final = ("batch", "time", "kind", "principal")


class Alerts:
    """Delivers alerts. The webhook gets the batches after ``webhook.delivered_batch``.

    ``show`` takes rows of ALERTS. ``warn`` takes messages about the webhook.
    """

    def __init__(
        self,
        tables: Tables,
        webhook: Webhook | None,
        show: Callable[[Iterable[dict[str, Any]]], None],
        warn: Callable[[str], None],
    ) -> None:
        self._show = show
        self._report = warn
        self._webhook = webhook
        self._shown = _batch_of(tables.marked(SHOWN))
        self._reported: str | None = None
        self._refused = 0
        self._posted = -1 if webhook is None else webhook.delivered_batch
        if webhook is not None and tables.marked(_POSTED) is None:
            tables.mark(_POSTED, self._posted)

    def show_new(self, now: Tables) -> None:
        from metalog_spark.follow.batch import progress_of

        done = progress_of(now)
        if done.alerted > self._shown:
            self._show(_alerts(now, f"batch > {self._shown}"))
            now.mark(SHOWN, done.batch)
        self._shown = max(self._shown, done.batch)

    def post(self, now: Tables) -> None:
        """Pass the next batch with alerts to the webhook, if no earlier batch is pending."""
        from metalog_spark.follow.batch import progress_of
        from metalog_spark.store.tables import ALERTS

        webhook = self._webhook
        if webhook is None:
            return
        self._warn_of(webhook)
        if webhook.delivered_batch > self._posted:
            self._posted = webhook.delivered_batch
            now.mark(_POSTED, self._posted)
        if webhook.pending or progress_of(now).alerted <= self._posted:
            return
        newer = now.read(ALERTS).where(f"batch > {self._posted}")
        [[batch]] = newer.selectExpr("min(batch)").collect()
        if batch is not None:
            webhook.send(batch, [record(alert) for alert in _alerts(now, f"batch = {batch}")])

    def finish(self, now: Tables, patience_s: float) -> None:
        webhook = self._webhook
        if webhook is None:
            return
        self.post(now)
        while webhook.pending and webhook.settle(patience_s):
            self.post(now)
        self._warn_of(webhook)
        if webhook.pending:
            left = counted(webhook.pending, "alert")
            self._report(f"{left} and newer alerts are not posted; the next run posts them")

    def _warn_of(self, webhook: Webhook) -> None:
        refused, trouble = webhook.counts.refused, webhook.trouble
        if new := refused - self._refused:
            alerts = counted(new, "alert")
            self._report(f"{webhook.refusal} and refused {alerts} for good: not posted again")
        self._refused = refused
        if trouble is not None and trouble != self._reported:
            self._report(f"{trouble}; the alert is posted again until it is accepted")
        self._reported = trouble


def last_posted(tables: Tables) -> int:
    """The last batch with posted alerts; if no run had a webhook, the last shown batch."""
    posted = tables.marked(_POSTED)
    return _batch_of(tables.marked(SHOWN) if posted is None else posted)


def record(alert: dict[str, Any]) -> dict[str, Any]:
    """An alert as JSON. Its ``id`` is the same each time the alert is delivered."""
    columns = [alert[name] for name in Acl._fields]
    is_about_an_acl = alert["operation"] is not None
    fields = {
        "time": time_text(alert["ms"]),
        "kind": alert["kind"],
        "severity": alert["severity"],
        "principal": alert["principal"],
        "acl": dict(zip(ACL_KEYS, columns, strict=True)) if is_about_an_acl else None,
        "message": alert["message"],
        "remedy": alert["remedy"],
        "offset": alert["log_offset"],
    }
    text = json.dumps([alert["batch"], fields], sort_keys=True)
    return {"id": hashlib.sha256(text.encode()).hexdigest()[:32], **fields}


def _alerts(now: Tables, which: str) -> Iterator[dict[str, Any]]:
    from metalog_spark.store.tables import ALERTS

    rows = now.read(ALERTS).where(which).orderBy(*_ORDER)
    for row in rows.selectExpr("unix_millis(time) AS ms", "*").collect():
        yield row.asDict()


def _batch_of(mark: int | None) -> int:
    return -1 if mark is None else mark
