"""What is built is what is in the repository: no module, type marker or license left out."""

import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from cases import REPOSITORY

PACKAGES = ("metalog", "metalog_node", "metalog_spark", "authorizer", "snapshot", "shell")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A wheel built from a copy, since building leaves files behind."""
    folder = tmp_path_factory.mktemp("wheel")
    for name in (*PACKAGES, "setup.py", "pyproject.toml", "README.md", "LICENSE"):
        source = REPOSITORY / name
        if source.is_dir():
            ignored = shutil.ignore_patterns("__pycache__")
            shutil.copytree(source, folder / "copy" / name, ignore=ignored)
        else:
            shutil.copy(source, folder / "copy" / name)
    options = ["--no-deps", "--no-build-isolation", "--no-index", "--quiet"]
    subprocess.run(
        [sys.executable, "-m", "pip", "wheel", *options, "--wheel-dir", folder, folder / "copy"],
        check=True,
    )
    [built] = folder.glob("*.whl")
    return built


def test_the_wheel_holds_all_packages_and_nothing_else(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    built = {name for name in names if ".dist-info/" not in name}
    ours = {
        path.relative_to(REPOSITORY).as_posix()
        for package in PACKAGES
        for path in (REPOSITORY / package).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts and not path.name.startswith(".")
    }
    assert built == ours
    assert any(name.endswith("/LICENSE") for name in names)
