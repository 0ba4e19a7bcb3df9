"""The tables of a node's keys and metrics in the guide.

``python -m tests.support.pages.node_tables`` prints both, to update the page after a change. This
module must not know the page.
"""

from __future__ import annotations

from prometheus_client import Metric
from pydantic_core import PydanticUndefined

from metalog.log.config import KEYS as LOG_KEYS
from metalog.log.config import LogConfig
from metalog_node.config.settings import READ_ELSEWHERE, Settings
from metalog_node.ops.metrics import Condition, Metrics
from tests.support.pages.permission_tables import table

RUNNING = Condition(True, 0.0, 0, 0, 0, {"PLAINTEXT": (True, 0)})
OF_THE_PROCESS = "process_"


def key_table() -> str:
    own = [
        (str(field.alias), _default(field.default), field.description or "")
        for field in Settings.model_fields.values()
    ]
    defaults = LogConfig()._asdict()
    of_logs = {key: str(defaults[field]) for field, (key, *_) in LOG_KEYS.items()}
    elsewhere = [(key, of_logs.get(key, ""), meaning) for key, meaning in READ_ELSEWHERE.items()]
    rows = ((f"`{key}`", default, meaning) for key, default, meaning in [*own, *elsewhere])
    return table(("key", "default", "meaning"), rows)


def metric_table() -> str:
    families = Metrics(lambda: RUNNING).registry.collect()
    rows = sorted(
        (f"`{_scraped(family)}`", family.type, family.documentation)
        for family in families
        if not family.name.startswith(OF_THE_PROCESS)
    )
    return table(("metric", "type", "meaning"), rows)


def _default(value: object) -> str:
    if value is PydanticUndefined:
        return "required"
    if value is None or value == ():
        return ""
    return ", ".join(map(str, value)) if isinstance(value, tuple) else str(value)


def _scraped(family: Metric) -> str:
    return f"{family.name}_total" if family.type == "counter" else family.name


if __name__ == "__main__":
    print(key_table(), metric_table(), sep="\n\n")
