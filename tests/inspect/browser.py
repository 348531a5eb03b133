"""Pages as a real browser lays them out: Chromium without a window, if one is installed.

Each page is shown in frames of several widths; a frame is a screen of its own, with its own media queries. A script
measures them, and the browser prints what it found.
"""

import html
import json
import shutil
import subprocess

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--virtual-time-budget=20000",
    "--dump-dom",
)
DARK = "--blink-settings=preferredColorScheme=0"

MEASURE = """
function measure(frame) {
  const view = frame.contentWindow, page = view.document, lost = [], silent = [];
  const scrolls = e => ['auto', 'scroll'].includes(view.getComputedStyle(e).overflowX);
  const holder = e => { for (e = e.parentElement; e; e = e.parentElement) if (scrolls(e)) return e; };
  for (const e of page.querySelectorAll('main *')) {
    const at = e.getBoundingClientRect();
    if (!at.width || (at.right <= view.innerWidth + 1 && at.left >= -1)) continue;
    if (!holder(e)) lost.push((e.tagName + ' ' + e.textContent).slice(0, 60));
  }
  for (const text of page.querySelectorAll('svg text')) {
    const at = text.getBoundingClientRect(), room = text.closest('svg').getBoundingClientRect();
    if (at.right > room.right + 1 || at.left < room.left - 1 || at.bottom > room.bottom + 1 || at.top < room.top - 1)
      lost.push('cut: ' + text.textContent.slice(0, 60));
  }
  for (const box of page.querySelectorAll('.scroller')) {
    if (box.scrollWidth <= box.clientWidth + 1) continue;
    const hint = view.getComputedStyle(box.parentElement, '::before');
    if (hint.content === 'none' || !(parseFloat(hint.height) > 8)) silent.push(box.textContent.slice(0, 60));
  }
  for (const box of page.querySelectorAll('.scroll')) {
    const hint = view.getComputedStyle(box).backgroundImage;
    if (box.scrollWidth > box.clientWidth + 1 && !hint.includes('gradient')) silent.push(box.textContent.slice(0, 60));
  }
  const text = page.querySelector('svg text');
  return {
    width: view.innerWidth, page: page.documentElement.scrollWidth, lost, silent,
    paper: view.getComputedStyle(page.body).backgroundColor,
    ink: text ? view.getComputedStyle(text).fill : '',
    scrolling: [...page.querySelectorAll('.scroller')].filter(b => b.scrollWidth > b.clientWidth + 1).length,
  };
}
addEventListener('load', () => {
  const found = {};
  for (const frame of document.querySelectorAll('iframe')) found[frame.name] = measure(frame);
  document.body.textContent = '<<<' + JSON.stringify(found) + '>>>';
});
"""


def browser() -> str | None:
    """The path of an installed browser."""
    return next(filter(None, map(shutil.which, NAMES)), None)


def measured(pages, folder, *, widths, dark=False) -> dict:
    """What the browser found, by the name of the page and the width of the screen."""
    frames = "".join(
        f'<iframe name="{name} {width}" style="border:0;width:{width}px;height:700px" '
        f'srcdoc="{html.escape(text)}"></iframe>'
        for name, text in pages.items()
        for width in widths
    )
    outer = folder / f"frames{'-dark' if dark else ''}.html"
    outer.write_text(
        f'<!doctype html><meta charset="utf-8"><script>{MEASURE}</script><body>{frames}', "utf-8"
    )
    command = [browser(), *FLAGS, *([DARK] if dark else []), f"--user-data-dir={folder / 'profile'}"]
    done = subprocess.run(
        [*command, outer.as_uri()], capture_output=True, text=True, timeout=120, check=False
    )
    _, start, rest = done.stdout.rpartition("&lt;&lt;&lt;")
    assert start, f"the browser found nothing: {done.stderr[-400:]}"
    found = json.loads(html.unescape(rest.partition("&gt;&gt;&gt;")[0]))
    return {(name.rpartition(" ")[0], int(name.rpartition(" ")[2])): one for name, one in found.items()}
