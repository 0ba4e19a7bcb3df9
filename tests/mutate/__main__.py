"""Changes the code of a group of modules in small ways, and says which changes no test notices.

mutmut makes the changes and runs the tests, each change in a process of its own that is forked
from a warm one. What is worked out when a module is imported was so before the fork, so changes
that no test noticed are tried again in a new process each. A run goes on where the last one ended:
changes that a test noticed are tried again only when their function differs, the others also when
a test does.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path

from tests.mutate import results
from tests.mutate.groups import GROUPS, Group
from tests.support.kafka.cases import REPOSITORY, SHARED

SCRATCH = REPOSITORY / "build" / "mutate"
TOOL = SCRATCH / "tool"
"""Where ``make mutate`` installs mutmut, beside the environment of the tests."""
ONE_SESSION = Path(__file__).with_name("one_session.py")
SOURCES = (
    *("authorizer", "metalog", "metalog_node", "metalog_sources", "metalog_spark"),
    *("pyspark_metalog", "shell", "snapshot"),
)
CODE = (*SOURCES, "tests")
KILLED = {1, 3}
TIMED_OUT = {-24, 24, 36, 152, -9}
SURVIVED = {0, 5, 33}
"""As mutmut counts them: the tests went well, or no test runs the function. mutmut takes 255 for a
change that timed out, but so ends a fork that could not run its tests: such a change is left."""


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="make mutate", description=__doc__)
    parser.add_argument("--only", choices=GROUPS, action="append", help="a group; may be repeated")
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--results", type=Path, default=results.RESULTS)
    parser.add_argument("--page", type=Path, default=results.PAGE)
    given = parser.parse_args(arguments)
    for name in given.only or GROUPS:
        folder = _prepared(name, GROUPS[name])
        _mutmut(folder, "run", "--max-children", str(given.processes))
        _try_in_new_processes(folder, GROUPS[name])
        found = results.read(given.results)
        found[name] = _outcome(folder, GROUPS[name])
        results.write(found, given.results)
        print(f"{name}: {found[name].killed} of {found[name].total} noticed")
    found = results.read(given.results)
    given.page.write_text(results.rendered(given.page.read_text(), found, GROUPS))
    return 0


def _prepared(name: str, group: Group) -> Path:
    """The group's folder: links to the code, which mutmut copies, and what mutmut reads."""
    folder = SCRATCH / name
    # A folder that is not there when Python starts is never looked into.
    (folder / "mutants").mkdir(parents=True, exist_ok=True)
    for each in (*CODE, "docs", "examples", "bench", "README.md", "CHANGELOG.md"):
        link = folder / each
        if not link.is_symlink():
            link.symlink_to(REPOSITORY / each)
    options = {
        "source_paths": [*SOURCES],
        "only_mutate": [f"{module}.py" for module in group.modules],
        "also_copy": ["docs", "examples", "bench", "README.md", "CHANGELOG.md"],
        "pytest_add_cli_args_test_selection": [_test_path(each) for each in group.tests],
        "pytest_add_cli_args": _pytest_options(group),
        "use_git_change_detection": False,
        "process_isolation": "forkserver",
        "timeout_multiplier": 5.0,
        "timeout_constant": 2.0,
    }
    configuration = (REPOSITORY / "pyproject.toml").read_text() + "\n[tool.mutmut]\n"
    configuration += "".join(f"{key} = {json.dumps(value)}\n" for key, value in options.items())
    (folder / "pyproject.toml").write_text(configuration)
    _forget_survivors(folder, group)
    return folder


def _pytest_options(group: Group) -> list[str]:
    return [
        *("-n", "0", "-p", "no:cacheprovider", "-p", "no:rerunfailures"),
        "--hypothesis-profile=mutants",
        *(word for test in group.left_out for word in ("--deselect", test)),
    ]


def _try_in_new_processes(folder: Path, group: Group) -> None:
    """The changes of what is called when a module is imported."""
    at_import = _called_at_import(folder, group)
    for meta in _metas(folder, group):
        held = json.loads(meta.read_text())
        codes, tried = held["exit_code_by_key"], held["estimated_durations_by_key"]
        for key in codes:
            function = key.rpartition("__mutmut_")[0]
            if codes[key] in SURVIVED and function in at_import and _ANEW + key not in tried:
                codes[key] = int(not _is_right(folder, group, key))
                tried[_ANEW + key] = 0.0
                meta.write_text(json.dumps(held))


_ANEW = "in a new process: "


def _called_at_import(folder: Path, group: Group) -> set[str]:
    modules = [module.replace("/", ".") for module in group.modules]
    lines = (
        "from importlib import import_module",
        "from mutmut.state import state",
        f"for each in {modules!r}: import_module(each)",
        "print(*state()._stats)",
    )
    done = subprocess.run(
        [sys.executable, "-P", "-c", "\n".join(lines)],
        cwd=folder,
        env=_environment(folder) | {"MUTANT_UNDER_TEST": "stats"},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    found = set(done.stdout.split())
    if found and not _is_right(folder, group, ""):
        sys.exit("make mutate: the tests fail in a new process, without any change")
    return found


def _is_right(folder: Path, group: Group, change: str) -> bool:
    options = [*_pytest_options(group), "-x", "-q", "-p", "no:randomly", "--rootdir=."]
    tests = [_test_path(each) for each in group.tests]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *options, *tests],
        cwd=folder / "mutants",
        env=_environment(folder) | {"MUTANT_UNDER_TEST": change},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        check=False,
    )
    return done.returncode == 0


def _test_path(test: str) -> str:
    return test if (REPOSITORY / test).is_dir() else f"{test}.py"


def _forget_survivors(folder: Path, group: Group) -> None:
    """If a test differs from when the changes were tried, those that none noticed are untried."""
    kept, now = folder / "tests.sum", _sum(_test_path(test) for test in group.tests)
    if kept.exists() and kept.read_text() == now:
        return
    (folder / "mutants" / "mutmut-stats.json").unlink(missing_ok=True)
    shutil.rmtree(folder / "mutants" / "tests", ignore_errors=True)
    for meta in _metas(folder, group):
        held = json.loads(meta.read_text())
        codes = held["exit_code_by_key"]
        held["estimated_durations_by_key"] = {}
        held["exit_code_by_key"] = {
            key: code if code in KILLED | TIMED_OUT else None for key, code in codes.items()
        }
        meta.write_text(json.dumps(held))
    kept.write_text(now)


def _metas(folder: Path, group: Group) -> list[Path]:
    files = [folder / "mutants" / f"{module}.py.meta" for module in group.modules]
    return [file for file in files if file.exists()]


def _mutmut(folder: Path, *arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, "-P", str(ONE_SESSION), *arguments],
        cwd=folder,
        env=_environment(folder),
        stdout=subprocess.PIPE,
        text=True,
        check=False,
    )
    (folder / "last.out").write_text(done.stdout)
    if done.returncode:
        sys.exit(f"make mutate: mutmut ended with {done.returncode}: see {folder / 'last.out'}")
    return done.stdout


def _environment(folder: Path) -> dict[str, str]:
    paths = os.pathsep.join((str(folder / "mutants"), str(TOOL)))
    return os.environ | {"PYTHONPATH": paths, "METALOG_SHARED": str(SHARED)}


def _outcome(folder: Path, group: Group) -> results.Outcome:
    codes: dict[str, int | None] = {}
    for meta in _metas(folder, group):
        codes |= json.loads(meta.read_text())["exit_code_by_key"]
    untried = sum(1 for code in codes.values() if code is None)
    left = [key for key, code in codes.items() if code not in KILLED | TIMED_OUT | {None}]
    return results.Outcome(
        modules=group.modules,
        tests=group.tests,
        total=len(codes),
        killed=len(codes) - len(left) - untried,
        untried=untried,
        date=f"{datetime.now(UTC):%Y-%m-%d}",
        commit=_git("rev-parse", "--short", "HEAD"),
        code=_sum(f"{module}.py" for module in group.modules),
        survivors=tuple(sorted(_survivors(folder, left))),
    )


def _survivors(folder: Path, keys: Sequence[str]) -> Iterable[results.Survivor]:
    lines = (
        "import sys",
        "from mutmut.mutation.diff_apply import get_diff_for_mutant",
        "for key in sys.argv[1:]: print(get_diff_for_mutant(key), end='\\0')",
    )
    done = subprocess.run(
        [sys.executable, "-P", "-c", "\n".join(lines), *keys],
        cwd=folder,
        env=_environment(folder),
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return map(_survivor, keys, done.stdout.split("\0"))


def _survivor(key: str, shown: str) -> results.Survivor:
    body = [line for line in shown.splitlines() if not line.startswith(("---", "+++"))]
    was = " ".join(line[1:].strip() for line in body if line.startswith("-"))
    now = " ".join(line[1:].strip() for line in body if line.startswith("+"))
    function = key.rpartition("__mutmut_")[0].replace(".xǁ", ".").replace("ǁ", ".")
    return results.Survivor(function.replace(".x_", "."), was, now)


def _sum(files: Iterable[str]) -> str:
    summed = hashlib.sha256()
    for name in files:
        path = REPOSITORY / name
        for file in sorted(path.rglob("*.py")) if path.is_dir() else [path]:
            summed.update(file.read_bytes())
    return summed.hexdigest()[:12]


def _git(*arguments: str) -> str:
    done = subprocess.run(
        ["git", *arguments], cwd=REPOSITORY, capture_output=True, text=True, check=False
    )
    return done.stdout.strip()


if __name__ == "__main__":
    os.nice(19)
    sys.exit(main())
