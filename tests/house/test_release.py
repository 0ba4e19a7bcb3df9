"""What a release is made of: workflows that run make's targets, for each Python that we name."""

import re
import tomllib

import yaml

from tests.support.kafka.cases import REPOSITORY

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


def test_a_job_that_may_sign_or_publish_runs_no_code_of_ours() -> None:
    for (workflow, name), job in JOBS.items():
        signs = "id-token" in job.get("permissions", {})
        assert signs == (name in ("attest", "publish")), (workflow, name)
        assert not signs or not any("run" in step for step in job["steps"])


def test_a_release_is_tried_on_each_python_of_the_classifiers() -> None:
    with (REPOSITORY / "pyproject.toml").open("rb") as file:
        classifiers = tomllib.load(file)["project"]["classifiers"]
    lead = "Programming Language :: Python :: 3."
    named = {f"3.{each.removeprefix(lead)}" for each in classifiers if each.startswith(lead)}
    for key in (("ci", "wheel"), ("release", "build")):
        [tried] = [
            step["with"]["python-version"].split()
            for step in JOBS[key]["steps"]
            if "setup-python" in step.get("uses", "")
        ]
        assert set(tried) == named
