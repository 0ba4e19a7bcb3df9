"""The Python code in the guides runs unchanged, and its comments are true; so does each
metalog.toml."""

import re
import tomllib
from pathlib import Path

import pytest

from metalog.disk.files import LOCAL_FILES
from metalog_sources.names import NAMES_FILE, look_up
from tests.support.command.runs import run_python
from tests.support.kafka.cases import REPOSITORY

PAGES = sorted((REPOSITORY / "docs").rglob("*.md"))
EXAMPLES = [
    pytest.param(page, code, id=f"{page.stem}-{number}")
    for page in PAGES
    for number, code in enumerate(
        re.findall(r"^```python\n(.*?)^```", page.read_text(encoding="utf-8"), re.M | re.S), 1
    )
]
REMARK = re.compile(r"^(authorizer\..*\S) +# (True|False|acl)\b.*$", re.MULTILINE)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_a_metalog_toml_can_be_used(page: Path, tmp_path: Path) -> None:
    for document in re.findall(
        r"^```toml\n(.*?)^```", page.read_text(encoding="utf-8"), re.M | re.S
    ):
        (tmp_path / NAMES_FILE).write_text(document)
        for name in tomllib.loads(document)["sources"]:
            assert look_up(f"@{name}", {}, tmp_path, LOCAL_FILES).base == tmp_path


@pytest.mark.parametrize(("page", "code"), EXAMPLES)
def test_an_example_runs(page: Path, code: str) -> None:
    done = run_python("-c", REMARK.sub(r"assert \1 == \2", code))
    assert done.returncode == 0, done.stderr
