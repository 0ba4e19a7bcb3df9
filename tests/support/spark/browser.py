"""A real headless Chromium, driven through its WebDriver, that can reach no network.

It comes from Debian's packages chromium and chromium-driver (``make browser``). The page's console
output and its requests are recorded.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from selenium.webdriver import Chrome, ChromeOptions, ChromeService

_PROGRAMS = ("chromedriver", "chromium")
_AFTER_TWO_FRAMES = "requestAnimationFrame(() => requestAnimationFrame(arguments[0]))"
"""A page's ``resize`` event is sent with the next frame."""


def missing_for_browser() -> str | None:
    """Why no browser is available, or None."""
    missing = [name for name in _PROGRAMS if shutil.which(name) is None]
    return f"{missing[0]} is not installed; make browser installs it" if missing else None


class Browser:
    """A browser; ``window`` is its WebDriver."""

    def __init__(self, window: Chrome) -> None:
        self.window = window

    def open(self, page: Path) -> None:
        self.said()
        self.window.get(page.as_uri())

    def run(self, script: str, *arguments: object) -> Any:
        """The value that the script returns."""
        return self.window.execute_script(script, *arguments)

    def said(self) -> list[str]:
        """The console output since the last look, with violations of the content security
        policy."""
        return [entry["message"] for entry in self.window.get_log("browser")]

    def loaded(self) -> list[str]:
        """The addresses requested since the last look, except for Chromium's own start page, which
        may still be loading."""
        events = (
            json.loads(entry["message"])["message"] for entry in self.window.get_log("performance")
        )
        return [
            event["params"]["request"]["url"]
            for event in events
            if event["method"] == "Network.requestWillBeSent"
            and not event["params"]["documentURL"].startswith("chrome://")
        ]

    def resize(self, width: int, height: int, *, dark: bool = False, scale: float = 1) -> None:
        """Resize the window, and wait until the page has handled the event."""
        self._tell(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=scale,
            mobile=width < 600,
        )
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self._tell("Emulation.setEmulatedMedia", features=[scheme])
        self.window.execute_async_script(_AFTER_TWO_FRAMES)

    def _tell(self, command: str, **arguments: object) -> None:
        self.window.execute_cdp_cmd(command, arguments)


@contextmanager
def browser(folder: Path) -> Iterator[Browser]:
    """A browser with its profile in ``folder``."""
    options = ChromeOptions()
    options.binary_location = str(shutil.which("chromium"))
    for argument in (
        "--headless=new",
        "--disable-gpu",
        "--disable-dev-shm-usage",
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-extensions",
        "--no-first-run",
        "--host-resolver-rules=MAP * ~NOTFOUND",
        f"--user-data-dir={folder}",
    ):
        options.add_argument(argument)
    if os.geteuid() == 0:
        options.add_argument("--no-sandbox")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    service = ChromeService(str(shutil.which("chromedriver")))
    window = Chrome(options=options, service=service)
    try:
        yield Browser(window)
    finally:
        window.quit()
