"""The site's pages from outside docs/, and its Markdown for programs: for `make docs`.

A hook of MkDocs. README, CHANGELOG and CONTRIBUTING become pages, and a link to a file outside
docs/ leads to the repository. Each page is written as Markdown, too, and llms.txt lists them
(https://llmstxt.org). This module must not know what any page says.
"""

from __future__ import annotations

import posixpath
import re
from pathlib import Path
from typing import Any, Final

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.nav import Navigation
from mkdocs.structure.pages import Page

ROOT: Final = Path(__file__).parent.parent
HOME: Final = "index.md"
OUTSIDE: Final = {"README.md": HOME} | {it: it for it in ("CHANGELOG.md", "CONTRIBUTING.md")}
"""Pages of the site by their files outside docs/."""
FENCED: Final = re.compile(r"^( *```.*?^ *```)", re.MULTILINE | re.DOTALL)
LINK: Final = re.compile(r"(?<=\]\()([^)\s#]+)(?=[)#])")

_markdown: dict[str, str] = {}
_sections: list[Any] = []


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Replace a folder in the navigation by its README and the pages that only the README lists."""
    _markdown.clear()
    config.nav = _expanded(config.nav, Path(config.docs_dir), str(config.nav))
    return config


def _expanded(nav: Any, docs: Path, named: str) -> Any:
    if isinstance(nav, list):
        return [_expanded(each, docs, named) for each in nav]
    if isinstance(nav, dict):
        return {title: _expanded(value, docs, named) for title, value in nav.items()}
    if not nav.endswith("/"):
        return nav
    index = (docs / nav / "README.md").read_text("utf-8")
    listed = dict.fromkeys(re.findall(r"\]\(([\w-]+\.md)\)", index))
    pages = [f"{nav}{name}" for name in ("README.md", *listed)]
    return [page for page in pages if f"'{page}'" not in named]


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages from files outside docs/."""
    for outside, uri in OUTSIDE.items():
        text = (ROOT / outside).read_text("utf-8")
        files.append(File.generated(config, uri, content=text))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Rewrite the page's links for the site."""
    uri = page.file.src_uri
    page.meta["hide"] = ["navigation"] if uri == HOME else []
    page.meta["search"] = {"exclude": uri == "CHANGELOG.md"}  # it has nearly every word
    source = next((path for path, other in OUTSIDE.items() if other == uri), f"docs/{uri}")

    def on_the_site(link: re.Match[str]) -> str:
        return link[0] if re.match(r"\w+:", link[0]) else _link(link[0], source, uri, config)

    parts = FENCED.split(markdown)
    parts[::2] = [LINK.sub(on_the_site, prose) for prose in parts[::2]]
    _markdown[uri] = "".join(parts)
    return _markdown[uri]


def _link(link: str, source: str, uri: str, config: MkDocsConfig) -> str:
    path = posixpath.normpath(posixpath.join(posixpath.dirname(source), link))
    if path.startswith("docs/") and (ROOT / path / "README.md").exists():
        path += "/README.md"
    is_folder = (ROOT / path).is_dir()
    if path not in OUTSIDE and (is_folder or not path.startswith("docs/")):
        return f"{config.extra['repository']}/{'tree' if is_folder else 'blob'}/main/{path}"
    inside = OUTSIDE.get(path, path.removeprefix("docs/"))
    return posixpath.relpath(inside, posixpath.dirname(uri) or ".")


def on_nav(nav: Navigation, config: MkDocsConfig, files: Files) -> Navigation:
    """Keep the navigation for llms.txt."""
    _sections[:] = nav.items
    return nav


def on_post_build(config: MkDocsConfig) -> None:
    """Write each page as Markdown, and llms.txt."""
    for uri, text in _markdown.items():
        written = Path(config.site_dir, uri)
        written.parent.mkdir(parents=True, exist_ok=True)
        written.write_text(text, "utf-8")
    lines = [f"# {config.site_name}", "", f"> {config.site_description}", ""]
    for section in _sections:
        lines += _listed(section) if isinstance(section, Page) else ["", f"## {section.title}", ""]
        lines += [] if isinstance(section, Page) else _listed(section)
    Path(config.site_dir, "llms.txt").write_text("\n".join(lines) + "\n", "utf-8")


def _listed(item: Any) -> list[str]:
    if not isinstance(item, Page):
        return [line for each in item.children or () for line in _listed(each)]
    return [f"- [{item.title}]({item.file.src_uri}){_summary(_markdown[item.file.src_uri])}"]


def _summary(markdown: str) -> str:
    """The first sentence of the first paragraph, without its links."""
    found = re.search(r"^(?=[A-Za-z`*\[])(?!\[!)(.+)$", markdown.partition("\n")[2], re.MULTILINE)
    plain = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", found[1]) if found else ""
    sentence = re.match(r".*?[.:](?= |$)", plain)
    return f": {sentence[0].rstrip(':')}" if sentence else ""
