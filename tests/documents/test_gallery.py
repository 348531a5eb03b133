"""The gallery shows the figures that are there, each with its command."""

from __future__ import annotations

import sys

from tests.documents.pages import ROOT

sys.path.insert(0, str(ROOT / "bench"))
import gallery

sys.path.remove(str(ROOT / "bench"))


def test_the_page_is_what_the_script_writes() -> None:
    assert gallery.PAGE.read_text(encoding="utf-8") == gallery.page()


def test_figures_are_small_and_shown() -> None:
    shown = {one.path for figures in gallery.SECTIONS.values() for one in figures}
    there = set(gallery.FOLDER.glob("*"))
    assert len(there) >= 20 and there <= shown
    assert all(path.stat().st_size <= gallery.MOST for path in there)
