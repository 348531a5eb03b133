"""How large a report of 1,000 rows is, and how soon a browser shows it.

    python bench/report.py runs/g2p
    python bench/report.py runs/g2p --rows 1000 --figures 24 --json report.json

The page is opened from its file in Chromium, each time in a new context, wide and narrow in turns. The time is the
median from the request to the end of loading, scripts included. Exit status 1 if a bar is missed.
"""

from __future__ import annotations

import argparse
import shutil
import statistics
import sys
import tempfile
import time
from pathlib import Path

from written import parse, write_json

LARGEST, LONGEST = 5.0, 2.0
"""Megabytes and seconds at most."""
WIDTHS = (1200, 390)


def opened(path: Path, times: int) -> dict[int, float]:
    """{width: median of the seconds until the page is loaded}."""
    from playwright.sync_api import sync_playwright

    executable = shutil.which("chromium") or shutil.which("google-chrome")
    found: dict[int, list[float]] = {width: [] for width in WIDTHS}
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=executable, args=["--no-sandbox"])
        for turn in range(times + 1):
            for width in WIDTHS:
                context = browser.new_context(viewport={"width": width, "height": 900})
                page = context.new_page()
                begun = time.perf_counter()
                page.goto(path.as_uri(), wait_until="load")
                page.evaluate("() => new Promise(done => requestAnimationFrame(() => setTimeout(done)))")
                if turn:  # the first starts the browser's processes
                    found[width].append(time.perf_counter() - begun)
                context.close()
        browser.close()
    return {width: statistics.median(seconds) for width, seconds in found.items()}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("run", type=Path, help="folder of a trained model")
    parser.add_argument("--rows", type=int, default=1000, help="rows of the report")
    parser.add_argument("--figures", type=int, default=24, help="examples with a figure")
    parser.add_argument("--times", type=int, default=5, help="how often the page is opened at each width")
    options = parse(parser)
    from regard.report import report

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "report.html"
        begun = time.perf_counter()
        report(options.run, rows=options.rows, figures=options.figures).save(path)
        made, size = time.perf_counter() - begun, path.stat().st_size / 1e6
        seconds = opened(path, options.times)
    print(
        f"{options.rows} rows, {options.figures} figures: written in {made:.1f} s, {size:.2f} MB (bar {LARGEST:g})"
    )
    for width, value in seconds.items():
        print(f"opened in {value:.2f} s at {width} pixels (bar {LONGEST:g})")
    passed = size <= LARGEST and max(seconds.values()) < LONGEST
    write_json(options.json, {"megabytes": size, "seconds": seconds, "written": made, "passed": passed})
    sys.exit(0 if passed else 1)


if __name__ == "__main__":
    main()
