"""The rules of CONTRIBUTING.md that the source shows."""

import ast
import re
import subprocess
from collections import Counter
from functools import cache
from itertools import pairwise
from pathlib import Path

from tests.support.kafka.cases import PACKAGES, REPOSITORY

GENERATED = REPOSITORY / "metalog" / "records" / "messages"
MODULE_LINES = 400
FUNCTION_LINES = 70
FOLDER_MODULES = 13
NOT_FOR_THE_REPOSITORY = re.compile(
    rb"(pypi\.org|pythonhosted|repo1?\.maven|deb\.debian\.org|/root/|/home/[a-z]|/work/)"
)
MODULES = sorted(
    path
    for package in PACKAGES
    for path in (REPOSITORY / package).rglob("*.py")
    if not path.is_relative_to(GENERATED)
)


def short(path: Path) -> str:
    return path.relative_to(REPOSITORY).as_posix()


@cache
def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_bytes())


def test_a_module_is_short() -> None:
    lengths = {short(path): len(path.read_bytes().splitlines()) for path in MODULES}
    assert [name for name, lines in lengths.items() if lines > MODULE_LINES] == []


def test_a_folder_has_few_modules() -> None:
    folders = Counter(short(path.parent) for path in MODULES if path.name != "__init__.py")
    assert {name: count for name, count in folders.items() if count > FOLDER_MODULES} == {}


def test_a_module_says_what_it_is_for() -> None:
    silent = [
        path for path in MODULES if path.read_bytes() and not ast.get_docstring(tree_of(path))
    ]
    assert [short(path) for path in silent] == []


def test_a_function_is_short() -> None:
    assert [
        f"{short(path)}: {node.name}"
        for path in MODULES
        for node in ast.walk(tree_of(path))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and (node.end_lineno or 0) - node.lineno >= FUNCTION_LINES
    ] == []


def tracked_files() -> list[Path]:
    done = subprocess.run(
        ["git", "ls-files", "-z"], cwd=REPOSITORY, capture_output=True, text=True, check=True
    )
    return [REPOSITORY / name for name in done.stdout.split("\0") if name]


def test_nothing_depends_on_one_machine_or_one_registry() -> None:
    for path in tracked_files():
        if path.is_file() and path != Path(__file__).resolve():
            assert not NOT_FOR_THE_REPOSITORY.findall(path.read_bytes()), short(path)


def test_ci_runs_what_a_person_runs() -> None:
    script = (REPOSITORY / ".ci" / "run").read_text(encoding="utf-8")
    commands = [line for line in script.splitlines() if line and not line.startswith("#")]
    *_, seed, options, last = commands
    assert commands[:3] == ["set -euo pipefail", 'cd "$(dirname "$0")/.."', "export CI=true"]
    assert "CHANGELOG.md" in seed
    assert options.startswith('export PYTEST_OPTIONS="--randomly-seed=$seed')
    assert last == "exec make test"


def test_make_alone_lists_its_targets() -> None:
    done = subprocess.run(
        ["make", "--no-print-directory"], cwd=REPOSITORY, capture_output=True, text=True, check=True
    )
    for target in ("run", "test", "check", "kafka", "lock"):
        assert re.search(rf"^make {target} +\S", done.stdout, re.MULTILINE), target


COUNTED = re.compile(
    r" (?:[a-z-]+ ){0,2}(?:ACLs|answers|batches|brokers|cells|changes|columns|commands|credentials"
    r"|days|directories|entries|expectations|files|grants|hosts|hours|ids|JSON values|lines"
    r"|login modules|names|partitions|places|principals|questions|replicas|requests|rows|snapshots"
    r"|teams|times|topics|users|values)\b"
)
SUMS = ("len", "sum", "total")


def counts(node: ast.expr) -> bool:
    """Whether it counts things, and is written for a person."""
    if not isinstance(node, ast.FormattedValue):
        return False
    value, spec = node.value, node.format_spec
    if isinstance(value, ast.Call):
        function = value.func
        name = function.id if isinstance(function, ast.Name) else ast.unparse(function)
        return name.rpartition(".")[2] in SUMS
    name = ast.unparse(value).rpartition(".")[2]
    return isinstance(spec, ast.JoinedStr) and ast.unparse(spec) == "f','" and not name.isupper()


def written_inline(tree: ast.Module) -> list[int]:
    """The lines of each ``f"{n:,} words"`` that may print ``1 words``."""
    return [
        number.lineno
        for text in ast.walk(tree)
        if isinstance(text, ast.JoinedStr)
        for number, words in pairwise(text.values)
        if isinstance(words, ast.Constant) and COUNTED.match(words.value) and counts(number)
    ]


def test_what_counts_words_inline_is_found() -> None:
    for source, found in {
        'f"{n:,} ACLs"': [1],
        'f"{len(them)} other ACLs"': [1],
        'f"{found.total()} lines are"': [1],
        'f"{MOST:,} ACLs at most"': [],
        "f\"{counted(n, 'ACL')} of it\"": [],
        'f"{each.name} lines"': [],
    }.items():
        assert written_inline(ast.parse(source)) == found, source


def test_counted_words_are_written_by_one_function() -> None:
    """Decoders in metalog.records and metalog.wire print announced sizes as numbers."""
    decoders = ("metalog/records/", "metalog/wire/")
    assert [
        f"{short(path)}:{line}"
        for path in MODULES
        if not short(path).startswith(decoders)
        for line in written_inline(tree_of(path))
    ] == []
