"""The Python in the guides runs as it stands, and does what the remarks beside it say."""

import re
from pathlib import Path

import pytest
from cases import REPOSITORY
from command import run_python

PAGES = sorted((REPOSITORY / "docs").rglob("*.md"))
EXAMPLES = [
    pytest.param(page, code, id=f"{page.stem}-{number}")
    for page in PAGES
    for number, code in enumerate(
        re.findall(r"^```python\n(.*?)^```", page.read_text(encoding="utf-8"), re.M | re.S), 1
    )
]
REMARK = re.compile(r"^(authorizer\..*\S) +# (True|False|acl)\b.*$", re.MULTILINE)


@pytest.mark.parametrize(("page", "code"), EXAMPLES)
def test_an_example_runs(page: Path, code: str) -> None:
    done = run_python("-c", REMARK.sub(r"assert \1 == \2", code))
    assert done.returncode == 0, done.stderr
