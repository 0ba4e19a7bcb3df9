"""The release workflows run make's targets, for each named Python version."""

import re
import tomllib

import yaml

from shell.version import VERSION
from tests.support.kafka.cases import REPOSITORY

PROJECT = tomllib.loads((REPOSITORY / "pyproject.toml").read_text("utf-8"))["project"]
MAKEFILES = [REPOSITORY / "Makefile", *sorted((REPOSITORY / "make").glob("*.mk"))]
JOBS = {
    (path.stem, name): job
    for path in sorted((REPOSITORY / ".github" / "workflows").glob("*.yml"))
    for name, job in yaml.safe_load(path.read_text("utf-8"))["jobs"].items()
}


def test_each_step_of_a_workflow_is_a_target_of_make_that_runs_here() -> None:
    makefile = "\n".join(path.read_text("utf-8") for path in MAKEFILES)
    commands = [step["run"] for job in JOBS.values() for step in job["steps"] if "run" in step]
    assert {".ci/run", "make dist"} <= set(commands)
    for command in commands:
        target = re.match(r"make ([a-z-]+)", command)
        assert command == ".ci/run" or target is not None, command
        assert target is None or re.search(rf"^{target[1]}:", makefile, re.MULTILINE), command


def test_an_action_of_others_is_pinned_by_its_commit() -> None:
    """A tag may be moved to other code; the version stands in a comment, for people and
    Dependabot."""
    for path in (REPOSITORY / ".github" / "workflows").glob("*.yml"):
        for action in re.findall(r"uses: (.*)", path.read_text("utf-8")):
            assert re.fullmatch(r"[\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", action), action


def test_a_job_that_may_sign_or_publish_runs_no_code_of_ours() -> None:
    for (workflow, name), job in JOBS.items():
        signs = "id-token" in job.get("permissions", {})
        assert signs == (name in ("attest", "publish")), (workflow, name)
        assert not signs or not any("run" in step for step in job["steps"])


def test_a_release_is_tried_on_each_python_of_the_classifiers() -> None:
    classifiers = PROJECT["classifiers"]
    lead = "Programming Language :: Python :: 3."
    named = {f"3.{each.removeprefix(lead)}" for each in classifiers if each.startswith(lead)}
    for key in (("ci", "wheel"), ("release", "build")):
        [tried] = [
            step["with"]["python-version"].split()
            for step in JOBS[key]["steps"]
            if "setup-python" in step.get("uses", "")
        ]
        assert set(tried) == named


def test_the_changelog_has_what_is_unreleased_then_the_versions_newest_first() -> None:
    headings = re.findall("^## (.*)$", (REPOSITORY / "CHANGELOG.md").read_text("utf-8"), re.M)
    assert headings[0] == "[Unreleased]"
    released = [
        re.fullmatch(r"\[(\d+)\.(\d+)\.(\d+)\] - \d{4}-\d{2}-\d{2}", each) for each in headings[1:]
    ]
    versions = [tuple(map(int, each.groups())) for each in released if each is not None]
    assert len(versions) == len(headings) - 1
    assert versions == sorted(set(versions), reverse=True)
    assert ".".join(map(str, versions[0])) == VERSION == PROJECT["version"]


def test_examples_name_the_version() -> None:
    page = (REPOSITORY / "docs" / "guide" / "ci.md").read_text("utf-8")
    named = re.findall(r"kraft-metalog(?:@v|==)([\d.]+)|rev: v([\d.]+)", page)
    assert {each for pair in named for each in pair if each} == {VERSION}
