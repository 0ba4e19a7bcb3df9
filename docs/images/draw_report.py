"""Draws ``report.png``: the first screen of the demo's report (``make report-picture``)."""

from __future__ import annotations

import sys
from base64 import b64decode
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from tests.support.spark.browser import browser

PICTURE: Final = Path(__file__).resolve().with_name("report.png")
WIDTH: Final = 1200
LONGEST: Final = 1100


def main(report: Path) -> int:
    """Draws the part of the report above the list of sections, as wide as a page of the
    documentation."""
    with TemporaryDirectory() as profile, browser(Path(profile)) as opened:
        opened.window.execute_cdp_cmd("Emulation.setScrollbarsHidden", {"hidden": True})
        opened.resize(WIDTH, LONGEST, scale=1.5)
        opened.open(report.resolve())
        edge = opened.run("return document.querySelector('nav').getBoundingClientRect().top")
        opened.resize(WIDTH, int(min(edge, LONGEST)), scale=1.5)
        shot = opened.window.execute_cdp_cmd("Page.captureScreenshot", {"format": "png"})
    PICTURE.write_bytes(b64decode(shot["data"]))
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
