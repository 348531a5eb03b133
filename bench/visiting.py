"""The built site, served on this machine and opened in Chromium: what bench/site.py and bench/finding.py share."""

from __future__ import annotations

import functools
import http.server
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

__all__ = ["ROOT", "SITE", "browsing", "build", "served"]

ROOT = Path(__file__).parents[1]
SITE = ROOT / "build" / "site"


def build() -> None:
    """Build the site with Zensical; a broken link is an error."""
    beside = Path(sys.executable).parent / "zensical"
    program = str(beside) if beside.is_file() else shutil.which("zensical")
    if program is None:
        sys.exit("zensical is not installed: pip install 'regard[docs]', or pass --built.")
    subprocess.run([program, "build", "--clean", "--strict"], cwd=ROOT, check=True)


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """Serve a folder on a free port of 127.0.0.1."""

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *arguments: Any) -> None:
            pass

    server = http.server.ThreadingHTTPServer(
        ("127.0.0.1", 0), functools.partial(Quiet, directory=str(folder))
    )
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


@contextmanager
def browsing() -> Iterator[Any]:
    """A browser of playwright."""
    from playwright.sync_api import sync_playwright

    executable = shutil.which("chromium") or shutil.which("google-chrome")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=executable, args=["--no-sandbox"])
        yield browser
        browser.close()
