"""The rules of imports that import-linter cannot express."""

import re
import sys
import tomllib
from functools import cache
from importlib.metadata import packages_distributions
from inspect import CO_GENERATOR
from types import FrameType
from typing import Any

import grimp
import pytest

from shell.main import main
from tests.support.command.runs import run_python
from tests.support.kafka.cases import PACKAGES, REPOSITORY

THIRD_PARTIES = (
    "confluent_kafka", "kio", "kazoo", "scramp", "rich", "prompt_toolkit", "pydantic",
    "pyspark", "pyarrow", "fastavro", "yaml",
)  # fmt: skip


@cache
def contracts() -> list[dict[str, Any]]:
    with (REPOSITORY / "pyproject.toml").open("rb") as file:
        read: list[dict[str, Any]] = tomllib.load(file)["tool"]["importlinter"]["contracts"]
    return read


@cache
def import_graph() -> grimp.ImportGraph:
    return grimp.build_graph(*PACKAGES, include_external_packages=True, cache_dir=None)


def test_no_contract_has_an_exception() -> None:
    for contract in contracts():
        assert not {"ignore_imports", "exhaustive_ignores"} & contract.keys()


def test_each_third_party_has_a_contract_that_names_who_imports_it() -> None:
    graph = import_graph()
    ours = tuple(f"{package}." for package in PACKAGES)
    imported = {
        module
        for module in graph.modules
        if module not in PACKAGES
        and not module.startswith(ours)
        and module not in sys.stdlib_module_names
        and module != "__future__"
    }
    named = {
        name
        for contract in contracts()
        if contract["type"] == "protected"
        for name in contract["protected_modules"]
    }
    assert imported <= named


def modules_loaded_by(statement: str) -> set[str]:
    done = run_python("-c", f"{statement}\nimport sys; print('loaded', *sys.modules)")
    assert done.returncode == 0, done.stderr
    loaded = done.stdout.rpartition("loaded ")[2].split()
    return {name.partition(".")[0] for name in loaded}


@pytest.mark.parametrize(
    "statement",
    [
        "import authorizer",
        "from authorizer import Action, Operation, RequestContext, StandardAuthorizer, topic",
        "from metalog import DirectoryLog, Replica",
    ],
)
def test_embedding_loads_no_third_party_that_it_does_not_need(statement: str) -> None:
    assert not modules_loaded_by(statement) & set(THIRD_PARTIES)


def test_starting_the_command_loads_no_third_party() -> None:
    statement = "from shell.main import main; main(['--version'])"
    assert not modules_loaded_by(statement) & {*THIRD_PARTIES, "sortedcontainers", "cramjam"}


@pytest.mark.parametrize("verb", ["status", "acls", "users", "dump"])
def test_a_reading_verb_does_not_load_pydantic(verb: str) -> None:
    source = "metalog_sources/demo/log-dir"
    statement = f"from shell.main import main; main([{verb!r}, {source!r}])"
    assert not modules_loaded_by(statement) & {"pydantic", "confluent_kafka", "kio"}


def test_the_guide_names_the_packages_that_a_clusters_workers_load() -> None:
    guide = (REPOSITORY / "docs/guide/pipeline.md").read_text(encoding="utf-8")
    listed = re.search(r"Python of the workers .*? needs ([^;]*);", guide)
    assert listed is not None
    sent = [
        ".".join(path.relative_to(REPOSITORY).with_suffix("").parts)
        for path in sorted((REPOSITORY / "metalog_spark").rglob("*.py"))
        if re.search(r"mapInArrow\(|\(DataSource\)", path.read_text(encoding="utf-8"))
    ]
    with (REPOSITORY / "pyproject.toml").open("rb") as file:
        project = tomllib.load(file)["project"]
    needed = [*project["dependencies"], *project["optional-dependencies"]["spark"]]
    ours = {re.split(r"[^\w-]", each)[0] for each in needed} - {"pyspark"}
    places = packages_distributions()
    loaded = {
        name
        for module in modules_loaded_by(f"import {', '.join(sent)}")
        for name in places.get(module, ())
    }
    assert loaded & ours <= set(re.findall(r"`([\w-]+)`", listed[1]))


def heights() -> dict[str, tuple[int, ...]]:
    """How high each package lies, and within ``metalog`` each module: lower means smaller."""
    layers = {contract["id"]: contract["layers"][::-1] for contract in contracts()[:2]}
    named = [
        (name.strip(" ()"), prefix, (*below, height))
        for prefix, key, below in (("", "packages", ()), ("metalog.", "metalog", (0,)))
        for height, line in enumerate(layers[key])
        for name in line.split("|")
    ]
    return {prefix + name: height for name, prefix, height in named}


def test_an_explanation_calls_back_up_in_two_places_only() -> None:
    """The loader notes records, and the replay reports progress. This does not count a lower
    package that takes values from an iterator of a higher one."""
    height_of = heights()

    def caller_of(frame: FrameType) -> FrameType | None:
        while (caller := frame.f_back) is not None and height(caller) is None:
            frame = caller
        return caller

    def height(frame: FrameType) -> tuple[int, ...] | None:
        package, _, rest = frame.f_globals.get("__name__", "").partition(".")
        return height_of.get(f"{package}.{rest.partition('.')[0]}", height_of.get(package))

    climbs = set()

    def note(frame: FrameType, event: str, _: object) -> None:
        if event != "call" or frame.f_code.co_flags & CO_GENERATOR:
            return
        above, caller = height(frame), caller_of(frame)
        if caller is not None and above is not None and above > (height(caller) or above):
            climbs.add((caller.f_globals["__name__"], frame.f_globals["__name__"]))

    previous = sys.getprofile()
    sys.setprofile(note)
    try:
        assert main(["explain", "@demo", "User:billing", "Read", "topic:orders", "--quiet"]) == 0
    finally:
        sys.setprofile(previous)
    assert climbs == {
        ("metalog.loader.replay", "metalog_sources.record_notes"),
        ("metalog_sources.replay", "shell.context"),
    }
