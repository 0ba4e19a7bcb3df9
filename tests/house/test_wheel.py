"""The wheel has every module, type marker and license of the repository."""

import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

from tests.support.kafka.cases import PACKAGES, REPOSITORY


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A wheel built from a copy, since a build leaves files behind."""
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


def test_each_link_of_the_long_description_leads_to_the_repository(wheel: Path) -> None:
    """At the version's tag: a package index shows the README without other files."""
    with zipfile.ZipFile(wheel) as archive:
        [metadata] = [name for name in archive.namelist() if name.endswith("/METADATA")]
        description = archive.read(metadata).decode().partition("\n\n")[2]
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text("utf-8"))["project"]
    found = set()
    for link in re.findall(r"\]\(([^)]+)\)", description):
        start, repository, rest = link.partition(f"{project['urls']['Repository']}/")
        kind, tag, path = rest.split("/", 2)
        assert (start, bool(repository), tag) == ("", True, f"v{project['version']}"), link
        assert (REPOSITORY / path.partition("#")[0]).exists(), link
        is_image = path.endswith((".svg", ".png"))
        assert kind == ("raw" if is_image else "tree" if (REPOSITORY / path).is_dir() else "blob")
        found.add(path)
    readme = (REPOSITORY / "README.md").read_text("utf-8")
    assert found == set(re.findall(r"\]\((?!\w+:)([^)]+)\)", readme))


def test_an_editable_install_is_a_path_that_type_checkers_follow(
    wheel: Path, tmp_path: Path
) -> None:
    """mypy and pyright read path files; they cannot run the finder that setuptools may make."""
    source = wheel.parent / "copy"
    make = f"from setuptools.build_meta import build_editable; build_editable({str(tmp_path)!r})"
    subprocess.run(
        [sys.executable, "-c", make], cwd=source, check=True, capture_output=True, timeout=60
    )
    [built] = tmp_path.glob("*.whl")
    with zipfile.ZipFile(built) as archive:
        installed = {
            name: archive.read(name) for name in archive.namelist() if ".dist-info/" not in name
        }
    assert [Path(line.decode().strip()) for line in installed.values()] == [source]
    assert [Path(name).suffix for name in installed] == [".pth"]
