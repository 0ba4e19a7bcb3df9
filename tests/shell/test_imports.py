"""Every module can be imported on each Python version, even if its own tests run on one only. The
pipeline's modules are compiled, since not every version has Spark."""

from __future__ import annotations

import importlib
import pkgutil

import pytest

from tests.support.kafka.cases import REPOSITORY

PACKAGES = ("metalog", "metalog_node", "metalog_sources", "authorizer", "snapshot", "shell")
NEED_SPARK = ("shell.arguments.pipeline", "shell.verbs.pipeline")


@pytest.mark.parametrize("package", PACKAGES)
def test_a_package_is_imported_whole(package: str) -> None:
    root = importlib.import_module(package)
    for found in pkgutil.walk_packages(root.__path__, f"{package}."):
        if not found.name.startswith(NEED_SPARK):
            importlib.import_module(found.name)


def test_the_pipeline_compiles_without_a_warning() -> None:
    names = [name.replace(".", "/") for name in NEED_SPARK]
    paths = [
        path for name in ("metalog_spark", *names) for path in (REPOSITORY / name).rglob("*.py")
    ]
    paths += [path for name in names if (path := REPOSITORY / f"{name}.py").is_file()]
    assert len(paths) > 50
    for path in paths:
        compile(path.read_bytes(), path, "exec")
