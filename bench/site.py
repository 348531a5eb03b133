"""The site as a visitor meets it: built, every link followed, and read in Chromium.

    python bench/site.py --json site.json              # builds it into build/site first (`make docs` has its tools)
    python bench/site.py --built --screenshots shots   # the site that is there; pictures of the pages

Bars: no broken link, no request to another server, nothing that axe-core calls serious or critical, no page wider
than its window (light, dark, 400 px). Exit status 1 if one is missed. bench/finding.py searches it. Needs Chromium,
playwright and axe-playwright-python (extra `dev`).
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from visiting import SITE, browsing, build, served
from written import parse, write_json

PAGES = (
    "index",
    "tutorials/translate",
    "notebooks/look-and-change",
    "gallery",
    "inside",
    "questions",
    "guide",
    "spec",
    "performance",
    "lectures/001",
)
"""The pages that axe-core reads; requests and links are checked on all."""
VIEWS = {
    "light": {"viewport": {"width": 1200, "height": 900}, "color_scheme": "light"},
    "dark": {"viewport": {"width": 1200, "height": 900}, "color_scheme": "dark"},
    "400 px": {"viewport": {"width": 400, "height": 800}, "color_scheme": "light"},
}


class References(HTMLParser):
    """The ids of a page, and the addresses that it refers to."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.ids: set[str] = set()
        self.addresses: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if value and name in ("id", "name"):
                self.ids.add(value)
            elif value and name in ("href", "src"):
                self.addresses.add(value)


@dataclass
class Found:
    """What missed a bar, and what was measured."""

    pages: int = 0
    links: int = 0
    broken: list[str] = field(default_factory=list)
    requests: int = 0
    elsewhere: set[str] = field(default_factory=set)
    wide: list[str] = field(default_factory=list)
    serious: list[str] = field(default_factory=list)

    @property
    def missed(self) -> list[str]:
        return [*self.broken, *sorted(self.elsewhere), *self.wide, *self.serious]


def follow_links(site: Path, found: Found) -> None:
    """Every address inside the site leads to a file, and to a part of it that exists."""
    pages = {path: References(path.read_text(encoding="utf-8")) for path in sorted(site.rglob("*.html"))}
    found.pages = len(pages)
    for page, references in pages.items():
        if page.name == "404.html":
            continue
        for address in sorted(references.addresses):
            parts = urlsplit(address)
            if parts.scheme or parts.netloc:
                continue
            found.links += 1
            target = (page.parent / unquote(parts.path)).resolve() if parts.path else page
            target = target / "index.html" if target.is_dir() else target
            known = pages.get(target)
            anchor = unquote(parts.fragment)
            lost = anchor and known is not None and anchor not in known.ids and not anchor.startswith("__")
            if not target.is_file() or lost:
                found.broken.append(f"{page.relative_to(site)}: {address}")


def read_pages(browser: Any, url: str, found: Found, pages: list[str], shots: Path | None) -> None:
    """Open each page in each view; axe-core reads it."""
    from axe_playwright_python.sync_playwright import Axe

    for view, options in VIEWS.items():
        context = browser.new_context(**options, reduced_motion="reduce")
        page = context.new_page()
        watch(page, url, found)
        for name in pages:
            page.goto(f"{url}/{name}.html", wait_until="load")
            page.wait_for_timeout(200)
            width = page.evaluate("document.documentElement.scrollWidth")
            if width > options["viewport"]["width"]:
                found.wide.append(f"{name}, {view}: {width} px wide")
            for one in Axe().run(page).response["violations"]:
                if one["impact"] in ("serious", "critical"):
                    where = "; ".join(" ".join(node["target"][:1]) for node in one["nodes"][:3])
                    found.serious.append(f"{name}, {view}: {one['id']} ({len(one['nodes'])}: {where})")
            if shots is not None:
                shots.mkdir(parents=True, exist_ok=True)
                page.screenshot(path=shots / f"{name.replace('/', '-')}-{view.replace(' ', '')}.png")
        context.close()


def watch(page: Any, url: str, found: Found) -> None:
    def requested(request: Any) -> None:
        found.requests += 1
        if not request.url.startswith((url, "data:", "blob:")):
            found.elsewhere.add(request.url)

    page.on("request", requested)


def request_all(browser: Any, url: str, found: Found, site: Path) -> None:
    """Open every page once, for its requests."""
    page = browser.new_page()
    watch(page, url, found)
    for path in sorted(site.rglob("*.html")):
        page.goto(f"{url}/{path.relative_to(site).as_posix()}", wait_until="load")
    page.close()


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--built", action="store_true", help="do not build: check build/site as it is")
    parser.add_argument("--pages", nargs="+", default=list(PAGES), help="pages for axe-core")
    parser.add_argument("--screenshots", type=Path, metavar="FOLDER", help="keep a picture of each view")
    options = parse(parser)
    if not options.built:
        build()
    found = Found()
    follow_links(SITE, found)
    with served(SITE) as url, browsing() as browser:
        request_all(browser, url, found, SITE)
        read_pages(browser, url, found, options.pages, options.screenshots)
    print(f"{found.pages} pages, {found.links:,} links, {len(found.broken)} broken")
    print(f"{found.requests:,} requests, {len(found.elsewhere)} elsewhere")
    print(
        f"{len(options.pages)} pages × {len(VIEWS)} views: {len(found.serious)} serious, {len(found.wide)} too wide"
    )
    for one in found.missed:
        print(f"missed: {one}")
    write_json(
        options.json,
        {
            "pages": found.pages,
            "links": found.links,
            "broken": found.broken,
            "requests": found.requests,
            "elsewhere": sorted(found.elsewhere),
            "serious": found.serious,
            "wide": found.wide,
        },
    )
    sys.exit(1 if found.missed else 0)


if __name__ == "__main__":
    main()
