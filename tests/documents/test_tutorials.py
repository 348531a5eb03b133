"""Every command of the tutorials and of the first page runs as printed, shortened only by REGARD_SET.

The quick page runs always, the others with `--thorough`.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from tests.documents.pages import ROOT

Command = Callable[..., tuple[int, str, str]]

SHORT = "training.steps=2 training.evaluate_every=2 search.max_length=6 search.method=greedy"
FEW = "data.world.train=60 data.world.dev=10 data.world.test=10"
QUICK = "tag"
WAIT = ("studio", "serve", "chat")
"""Commands that wait for somebody; tests/studio, tests/serve and tests/cli run them."""
PAGES = [ROOT / "docs" / "index.md", *sorted((ROOT / "docs" / "tutorials").glob("*.md"))]


def commands(page: Path) -> list[list[str]]:
    blocks = re.findall(r"^```bash\n(.*?)^```", page.read_text(encoding="utf-8"), re.S | re.M)
    lines = [
        line.partition("  #")[0].partition(" # ")[0].strip()
        for block in blocks
        for line in block.splitlines()
    ]
    return [shlex.split(line)[1:] for line in lines if line.startswith("regard ")]


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with what a reader brings."""
    monkeypatch.chdir(tmp_path)
    words = sorted(set(re.findall(r"[a-z]{3,9}", (ROOT / "README.md").read_text(encoding="utf-8"))))[:100]
    pairs = "".join(f"{word}\t{' '.join(word.upper())}\n" for word in words)
    for name in ("words.tsv", "pairs.tsv"):
        Path(name).write_text(pairs, encoding="utf-8")
    reviews = "".join(
        f"{one} {two},{'good' if one < two else 'bad'}\n" for one, two in zip(words, words[::-1], strict=True)
    )
    Path("reviews.csv").write_text("text,label\n" + reviews, encoding="utf-8")
    Image.fromarray(np.zeros((20, 30, 3), np.uint8)).save("beach.jpg")
    return tmp_path


@pytest.mark.parametrize(
    "page",
    [
        pytest.param(page, id=page.stem, marks=[] if page.stem == QUICK else pytest.mark.thorough)
        for page in PAGES
    ],
)
def test_commands_run_as_printed(
    page: Path, place: Path, regard: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    for given in commands(page):
        if given[0] in WAIT:
            continue
        own = any(name in given for name in ("words.tsv", "pairs.tsv", "reviews.csv"))
        monkeypatch.setenv("REGARD_SET", SHORT if own or given[0] != "train" else f"{SHORT} {FEW}")
        code, _, err = regard(*given)
        assert code == 0, f"{page.name}: regard {shlex.join(given)}\n{err}"


def test_every_page_is_in_the_site() -> None:
    told = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    pages = {path.relative_to(ROOT / "docs").as_posix() for path in (ROOT / "docs").rglob("*.md")}
    assert pages == set(re.findall(r"(\S+\.md)$", told, re.M))
