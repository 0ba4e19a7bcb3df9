"""Fixtures for tests of the pipeline."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from shell.arguments.pipeline import CLUSTER_VARIABLES
from tests.support.spark.session import SMALL

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

DEAR = ["test_help_examples.py", "test_masters.py", "follow/test_restarts.py"]
"""Tests that only ``make test-examples`` runs."""
collect_ignore = [] if os.environ.get("METALOG_ALL_EXAMPLES") else DEAR
AS_USERS = {
    "spark.sql.adaptive.enabled": "true",
    "spark.sql.codegen.wholeStage": "true",
    "spark.sql.codegen.factoryMode": "FALLBACK",
}


@pytest.fixture(autouse=True)
def the_shared_spark(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Fails a test that starts Spark without the fixture ``spark``: it would be in no group, and
    start a JVM of its own."""

    def started(*_: object) -> None:
        raise AssertionError("take the fixture spark")

    if "spark" not in request.fixturenames:
        monkeypatch.setattr("metalog_spark.session._started", started)


@pytest.fixture
def as_users_run_it(spark: SparkSession) -> Iterator[None]:
    """Spark's defaults, where results must not depend on the tests' settings."""
    for name in AS_USERS:
        spark.conf.set(name, AS_USERS[name])
    yield
    for name in AS_USERS:
        spark.conf.set(name, SMALL[name])


@pytest.fixture
def no_cluster(monkeypatch: pytest.MonkeyPatch) -> None:
    """No variable of a Spark that was started before: it would make the files another machine's."""
    for name in CLUSTER_VARIABLES:
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def no_spark(monkeypatch: pytest.MonkeyPatch, no_cluster: None) -> None:
    """Fails if Spark starts, for messages that must come at once."""

    def started(**_: object) -> None:
        raise AssertionError("Spark was started")

    monkeypatch.setattr("shell.arguments.pipeline._active_session", lambda: None)
    monkeypatch.setattr("metalog_spark.session.open_session", started)
