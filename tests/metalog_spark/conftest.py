"""What tests of the pipeline's verbs may ask for."""

from __future__ import annotations

import pytest


@pytest.fixture
def no_spark(monkeypatch: pytest.MonkeyPatch) -> None:
    """For what is to be said at once: Spark takes seconds to start."""

    def started(**_: object) -> None:
        raise AssertionError("Spark was started")

    monkeypatch.setattr("shell.spark._running", lambda: None)
    monkeypatch.setattr("metalog_spark.session.open_session", started)
    for name in ("SPARK_CONF_DIR", "SPARK_HOME", "HADOOP_CONF_DIR"):
        monkeypatch.delenv(name, raising=False)
