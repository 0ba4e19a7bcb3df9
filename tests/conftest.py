"""Shared fixtures: Kafka's logs, a real Kafka, Spark, and the rule about skipped tests."""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Iterator
from functools import partial
from pathlib import Path

import pytest
from hypothesis import Phase, settings

from metalog.gc_pause import gc_paused
from tests.support.command.runs import AS_USERS_START_IT, Run, run_here
from tests.support.kafka.cases import (
    REPOSITORY,
    SHARED_KAFKA,
    DamagedCase,
    KafkaCase,
    damaged_cases,
    kafka_cases,
)
from tests.support.kafka.quorum import KafkaQuorum
from tests.support.kafka.scram import ScramKafka, scram_kafka
from tests.support.kafka.tools import JARS, NEWEST_JARS, KafkaTools, RealKafka, missing_for_kafka
from tests.support.pages.figures import CHECK, PROPERTY, TASK, WRITE, Figures
from tests.support.spark import session as spark_session
from tests.support.spark.session import spark  # noqa: F401 - a fixture
from tests.support.suite.groups import Groups, GroupsThenFiles
from tests.support.suite.no_skips import NoSkips
from tests.support.suite.secrets_net import SHOWS_CREDENTIALS, SecretsNet

settings.register_profile("no timing gates a test", deadline=None)
settings.register_profile("few", deadline=None, max_examples=10)
settings.register_profile(
    "mutants",
    deadline=None,
    max_examples=30,
    derandomize=True,
    database=None,
    phases=(Phase.explicit, Phase.generate),
)
settings.load_profile("no timing gates a test")

LONGEST_ID = 60
ALWAYS = "demo", "bit-middle-body-0"
"""The logs that every Python version reads: one good, one damaged."""


def pytest_configure(config: pytest.Config) -> None:
    """Checks the build, and applies the environment's settings. README's figures belong to the
    whole set of fixtures; without it they are not checked."""
    config.pluginmanager.register(SecretsNet(), SecretsNet.__name__)
    config.pluginmanager.register(spark_session)
    config.addinivalue_line("markers", f"{SHOWS_CREDENTIALS}: a person asked for credentials")
    config.addinivalue_line("markers", "check: of committed files alone; `make check` runs it too")
    config.addinivalue_line("markers", "smoke: of a release; `make dist` has it of the wheel, too")
    config.addinivalue_line("markers", "once: enough on one Python; `make test-second` is without")
    if not config.getoption("numprocesses", None):
        os.environ |= AS_USERS_START_IT
    if "PYTEST_XDIST_WORKER" in os.environ:
        config.pluginmanager.register(Groups())
    if os.environ.get("CI") == "true":
        config.pluginmanager.register(NoSkips())
    task = os.environ.get(TASK)
    if task in {CHECK, WRITE} and SHARED_KAFKA.is_dir():
        config.pluginmanager.register(Figures(REPOSITORY / "README.md", write=task == WRITE))


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Without the garbage collector, collection takes a third less time."""
    with gc_paused():
        return (yield)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> GroupsThenFiles | None:
    return GroupsThenFiles(config, log) if config.getoption("dist") == "loadgroup" else None


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """A test that takes ``kafka_case`` or ``damaged_case`` runs for each; most are read
    ``once``."""
    cases: tuple[KafkaCase | DamagedCase, ...]
    for argument, cases in (("kafka_case", kafka_cases()), ("damaged_case", damaged_cases())):
        if argument in metafunc.fixturenames:
            metafunc.parametrize(argument, [_parameter(case) for case in cases])


def pytest_make_parametrize_id(val: object) -> str | None:
    """Shortens a long parameter: every report of every worker has the test's id in it."""
    if not isinstance(val, str | bytes) or len(val) <= LONGEST_ID:
        return None
    begin = ascii(val[:LONGEST_ID]).removeprefix("b")[1:-1]
    return f"{begin}-and-{len(val) - LONGEST_ID}-more"


def _parameter(case: KafkaCase | DamagedCase) -> object:
    return pytest.param(case, id=case.name, marks=[pytest.mark.once] * (case.name not in ALWAYS))


@pytest.fixture
def figure(record_property: Callable[[str, object], None]) -> Callable[[str, int], None]:
    """Counts towards a figure in README.md; see ``figures``."""
    return lambda name, number: record_property(PROPERTY + name, number)


@pytest.fixture(name="kafka_cases", scope="session")
def all_kafka_cases() -> tuple[KafkaCase, ...]:
    return kafka_cases()


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    """Runs ``metalog ARGUMENTS`` in this process, for tests that need no process of its own."""
    return partial(run_here, capsys)


@pytest.fixture(scope="session")
def kafka_tools() -> KafkaTools:
    """Kafka's own command-line tools; skipped (an error in CI) where they cannot run."""
    if missing := missing_for_kafka():
        pytest.skip(missing)
    return KafkaTools(JARS)


@pytest.fixture(scope="session")
def newest_kafka_tools() -> KafkaTools:
    """The published part of the newest Kafka: kafka-storage and the node, no other tool."""
    if missing := missing_for_kafka(NEWEST_JARS):
        pytest.skip(missing)
    return KafkaTools(NEWEST_JARS)


@pytest.fixture(scope="session", params=["kafka_tools", "newest_kafka_tools"])
def either_kafka(request: pytest.FixtureRequest) -> KafkaTools:
    """For a test that runs with each Kafka; in ``xdist_group("real-kafka")`` if it runs their
    tools."""
    tools: KafkaTools = request.getfixturevalue(request.param)
    return tools


@pytest.fixture(scope="session")
def kafka_jars(kafka_tools: KafkaTools) -> Path:
    """The folder of Kafka's jars, made by ``make kafka``."""
    return kafka_tools.jars


@pytest.fixture(scope="session")
def real_kafka(
    kafka_tools: KafkaTools, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[RealKafka]:
    """A running broker and controller in one, with its authorizer, for the whole session. Mark its
    tests ``@pytest.mark.xdist_group("real-kafka")``, so that only one worker starts a Kafka. Tests
    must not rely on an empty log."""
    with RealKafka.started(kafka_tools, tmp_path_factory.mktemp("real-kafka")) as kafka:
        yield kafka


@pytest.fixture(scope="session")
def scram_cluster(
    kafka_tools: KafkaTools, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ScramKafka]:
    """A running Kafka whose clients log in; for ``xdist_group("real-kafka")`` as well."""
    with scram_kafka(kafka_tools, tmp_path_factory.mktemp("scram-kafka")) as started:
        yield started


@pytest.fixture(scope="session")
def kafka_quorum(
    kafka_tools: KafkaTools, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[KafkaQuorum]:
    """Three running nodes for the whole session; see ``real_kafka``. Mark their tests
    ``@pytest.mark.xdist_group("kafka-quorum")``, and leave all three running."""
    with KafkaQuorum.started(kafka_tools, tmp_path_factory.mktemp("kafka-quorum")) as quorum:
        yield quorum
