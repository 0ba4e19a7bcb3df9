"""The Dockerfile, without a container runtime: `make image-check` runs its instructions."""

import re
import tomllib

from tests.support.kafka.cases import PACKAGES, REPOSITORY

DOCKERFILE = (REPOSITORY / "Dockerfile").read_text("utf-8")
PAGE = (REPOSITORY / "docs" / "guide" / "container.md").read_text("utf-8")
IGNORE = (REPOSITORY / ".dockerignore").read_text("utf-8")


def test_the_image_has_what_the_node_and_zookeeper_need_in_tested_versions() -> None:
    with (REPOSITORY / "pyproject.toml").open("rb") as file:
        extras = tomllib.load(file)["project"]["optional-dependencies"]
    needed = {re.split("[>=<]", each)[0] for each in (*extras["node"], *extras["zookeeper"])}
    found = re.search(r"for name in ([\w -]+);", DOCKERFILE)
    assert found is not None
    assert set(found[1].split()) == needed
    tested = (REPOSITORY / "requirements-test.lock").read_text("utf-8")
    assert all(f"\n{name}==" in tested for name in needed)


def test_nothing_but_the_packages_and_what_builds_them_reaches_the_build() -> None:
    taken = set(re.findall("^!(.*)$", IGNORE, re.MULTILINE))
    build = {"LICENSE", "README.md", "pyproject.toml", "setup.py"}
    assert taken == {*PACKAGES, *build, "requirements.lock", "requirements-test.lock"}
    assert IGNORE.splitlines()[1] == "*"


def test_the_image_runs_as_nobody_and_asks_healthz_where_the_page_puts_it() -> None:
    last = DOCKERFILE.rpartition("\nFROM ")[2]
    assert "\nUSER 10001:10001\n" in last
    [health] = re.findall(r"^ENV METALOG_HEALTH=(.*)/healthz$", last, re.MULTILINE)
    assert f"\nmetrics.listener={health}\n" in PAGE
    assert f"`{health}/healthz`" in PAGE
