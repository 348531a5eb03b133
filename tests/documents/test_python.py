"""Every block of Python in the guide that shows no output runs as it stands, with small untrained models.

Blocks with output are compared with it in tests/inspect/test_guide.py; those of the other pages run in
tests/test_readme.py, tests/plugin and tests/structures.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow
import pytest
from PIL import Image

import regard
from regard import zoo
from regard.data.audio import encode_wav
from tests.documents.pages import ROOT
from tests.documents.samples import samples

SPELLINGS = ["cat", "cot", "coat", "taco", "act", "attention", "actions", "knight", "one", "two"]
WORDS = [
    (word, " ".join(word.upper()))
    for word in [*SPELLINGS, *(f"{a}{b}" for a in "abcde" for b in "nopqrstuvwxyz")]
]
SHORT = "training.steps=2 training.evaluate_every=2 search.max_length=6 search.method=greedy"

Names = dict[str, Any]


def built(system: str, *changes: str) -> regard.Model:
    """An untrained model of a system of the zoo."""
    spec = zoo.find(system, changes)
    return regard.model.build(spec, rows=samples(spec))


def segments() -> Names:
    return {"model": built("translation-segments-char")}


def stories() -> Names:
    built("facts-structured").save("runs/facts-structured")
    return {"regard": regard}


def recorded() -> Names:
    return {"model": built("g2p", "search.max_length=8")}


def documents() -> Names:
    return {"model": built("document-class")}


def labels() -> Names:
    return {"model": built("topics")}


def tables() -> Names:
    return {"model": built("table-text")}


def nothing() -> Names:
    return {}


def pictures() -> Names:
    array = np.random.default_rng(1).integers(0, 256, (20, 30, 3), dtype=np.uint8)
    pillow = Image.fromarray(array)
    pillow.save("beach.jpg")
    pillow.save("a.png")
    content = Path("a.png").read_bytes()
    return {"model": built("caption"), "Path": Path, "content": content, "array": array, "pillow": pillow}


def speech() -> Names:
    samples = (0.3 * np.random.default_rng(1).standard_normal(4000)).astype(np.float32)
    Path("seven.wav").write_bytes(encode_wav(samples, 8000))
    return {"model": built("speech"), "samples": samples}


def streams() -> Names:
    Path("book.txt").write_text("It was a dark and stormy night.\n" * 300, encoding="utf-8")
    guide = (ROOT / "docs" / "guide.md").read_text(encoding="utf-8")
    (spec,) = re.findall(r"```yaml\n(# novel.yaml\n.*?)```", guide, re.S)
    Path("novel.yaml").write_text(spec.replace("size: 512", "size: 16"), encoding="utf-8")
    return {"regard": regard}


def python() -> Names:
    lines = "".join(f"{word}\t{sounds}\n" for word, sounds in WORDS * 3)
    for name in ("words.tsv", "new.tsv"):
        Path(name).write_text(lines, encoding="utf-8")
    other = regard.fit("words.tsv", run="runs/b", quiet=True)
    frame = pyarrow.table({"word": [word for word, _ in WORDS], "sounds": [sounds for _, sounds in WORDS]})
    X, y = [word for word, _ in WORDS], [sounds for _, sounds in WORDS]
    watch = regard.training.Callback()
    return {"frame": frame, "X": X, "y": y, "X_dev": X[:3], "y_dev": y[:3], "watch": watch, "other": other}


def overriding() -> Names:
    spec = regard.Spec(
        inputs={"source": {"type": "text", "unit": "char"}},
        outputs={"target": {"type": "text"}},
        attention={"score": "additive"},
        search={"max_length": 4},
    )
    rows = [{"source": word, "target": sounds} for word, sounds in [*WORDS, ("knight", "K N AY T")]]
    word = regard.model.build(spec, rows=rows)
    picture = built("caption")

    class Both:
        """The model of words for a word, that of pictures for a row."""

        score = word.score

        @staticmethod
        def predict(given: Any, **options: Any) -> regard.Prediction:
            return (picture if isinstance(given, dict) else word).predict(given, **options)

    return {"model": Both, "row": {"image": np.zeros((20, 30, 3), dtype=np.uint8)}}


def structures() -> Names:
    story = {"story": "Ann took the cat. Bob went home.", "question": "where is Ann"}
    looked = {
        kind: built(f"translation-{kind}-char").predict("the cat", samples=samples).trace
        for kind, samples in (("simple", 0), ("sigmoid", 0), ("segments", 3))
    }
    return {
        "parsed": built("parser-crf").predict("the dog saw the cat").trace,
        "story": built("facts-structured").predict(story).trace,
        "simple": looked["simple"],
        "sigmoid": looked["sigmoid"],
        "structured": looked["segments"],
    }


PREPARED: dict[str, Callable[[], Names]] = {
    "Looking at segments": segments,
    "Questions about stories": stories,
    "Documents": documents,
    "Several labels": labels,
    "Tables and graphs": tables,
    "Two texts: does one follow from the other?": nothing,
    "Pictures": pictures,
    "Speech": speech,
    "Language models": streams,
    "Python": python,
    "Change what it looked at": overriding,
    "Looking at structures": structures,
    "Traces: states, the search, a file": recorded,
}
"""{section of the guide: what its block needs}"""


def blocks() -> list[Any]:
    """The blocks without output, each with its section."""
    listed, section = [], ""
    guide = (ROOT / "docs" / "guide.md").read_text(encoding="utf-8")
    for title, code, text in re.findall(
        r"(?m)^## (.*)$|^```python\n((?:(?!```)[\s\S])*)```\n(```text)?", guide
    ):
        section = title or section
        if code and not text:
            listed.append(pytest.param(section, code, id=section))
    return listed


@pytest.mark.parametrize(("section", "code"), blocks())
def test_block(section: str, code: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("REGARD_SET", SHORT if section == "Python" else "training.steps=2")
    assert section in PREPARED, "tell tests/documents what this block needs"
    names = PREPARED[section]()
    exec(compile(code, f"guide.md: {section}", "exec"), names)


def test_every_preparation_is_used() -> None:
    assert {block.id for block in blocks()} == set(PREPARED)
