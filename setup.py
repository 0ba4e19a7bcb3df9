"""Makes the README's links absolute for a package index, where there are no files beside it.

pyproject.toml has all the rest.
"""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

from setuptools import setup

HERE = Path(__file__).parent


def long_description() -> str:
    """README.md as it is at the tag of this version."""
    project = tomllib.loads((HERE / "pyproject.toml").read_text("utf-8"))["project"]
    repository, tag = project["urls"]["Repository"], f"v{project['version']}"

    def absolute(link: re.Match[str]) -> str:
        text, path = link.groups()
        shown_as = "raw" if text.startswith("!") else "blob" if "." in path else "tree"
        return f"{text}({repository}/{shown_as}/{tag}/{path}"

    readme = (HERE / "README.md").read_text("utf-8")
    for relative in (r"(!\[[^]]*\])\((?!\w+:)([^)]+)", r"(\])\((?!\w+:|#)([^)]+)"):
        readme = re.sub(relative, absolute, readme)
    return readme


setup(long_description=long_description(), long_description_content_type="text/markdown")
