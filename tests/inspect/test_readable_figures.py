"""Figures that mislead: lines through words, marks of tokens, rounded regions, shades without meaning, weak values."""

import io
import re
from dataclasses import replace
from itertools import pairwise
from pathlib import Path as FilePath

import numpy as np
import pytest
from drawn_inputs import caption
from drawn_structures import STORY
from rich.console import Console

from regard.course.lab import run
from regard.inspect import (
    Example,
    bars,
    conversation,
    document,
    figure,
    gallery,
    groups_figure,
    hops,
    trace_page,
)
from regard.inspect.scene import Circle, Group, Image, Rect, Scene, Shape, Text
from regard.metrics.groups import ByGroup, GroupScore
from regard.trace import Hops, Nodes, SeenImage, SeenSeries, SentenceWords, Trace

LEAVES = ["an", "extraordinarily", "long", "day", "ends"]


def placed(scene: Scene):
    """Every mark with its offset from the scene."""

    def walk(marks, dx, dy):
        for mark in marks:
            yield mark, dx, dy
            if isinstance(mark, Group):
                yield from walk(mark.marks, dx + mark.dx, dy + mark.dy)

    return walk(scene.marks, 0.0, 0.0)


def texts(scene: Scene) -> list[str]:
    return [mark.text for mark in scene.walk() if isinstance(mark, Text)]


def printed(scene: Scene, width: int = 80) -> str:
    console = Console(file=io.StringIO(), width=width, color_system=None, legacy_windows=False, _environ={})
    console.print(scene)
    return console.file.getvalue()


def a_tree(words: list[str], *, weights: bool) -> Trace:
    """A comb to the right: the first word is a child of the root, the last two are the deepest."""
    count = len(words)
    pieces = [*words, *(" ".join(words[count - size :]) for size in range(2, count + 1))]
    parents = [0] * len(pieces)
    parents[count - 1] = parents[count - 2] = count
    for place in range(count - 2):
        parents[place] = 2 * count - 2 - place
    for place in range(count, len(pieces) - 1):
        parents[place] = place + 1
    parents[-1] = -1
    shares = np.full(len(pieces), 1 / len(pieces)) if weights else None
    return Trace({"tree": pieces}, ["x"], structures={"tree": Nodes(parents, weights=shares)}, kind="tree")


@pytest.mark.parametrize("weights", [False, True])
@pytest.mark.parametrize("times", [1, 8])  # upright; sideways, because it is too wide
def test_no_edge_of_a_tree_strikes_through_a_word(times, weights):
    words = [f"{word}{number or ''}" for number in range(times) for word in LEAVES]
    scene = figure(a_tree(words, weights=weights), title="")
    boxes = []
    for mark, dx, dy in placed(scene):
        if isinstance(mark, Text) and mark.text in words:
            wide = 0.5 * mark.size * len(mark.text)  # at least this much of the word is ink
            left = mark.x + dx - (wide / 2 if mark.anchor == "middle" else 0)
            boxes.append((left, left + wide, mark.y + dy - 0.7 * mark.size, mark.y + dy))
    assert len(boxes) == len(words)
    for mark, dx, dy in placed(scene):
        if isinstance(mark, Shape):
            (x1, y1), (x2, y2) = [(step[1][0] + dx, step[1][1] + dy) for step in mark.steps[:2]]
            for share in np.linspace(0, 1, 60):
                x, y = x1 + share * (x2 - x1), y1 + share * (y2 - y1)
                assert not any(left < x < right and top < y < bottom for left, right, top, bottom in boxes)


def test_the_title_of_a_tree_is_its_sentence():
    title = re.search(r"<h1>(.*?)</h1>", trace_page(a_tree(LEAVES, weights=True)))[1]
    assert title == " ".join(LEAVES)


def test_split_punctuation_is_readable():
    source, output = ["“￭", "Stop", "￭,", "now", "￭!", "￭”"], ["Halt", "￭,", "jetzt", "￭!", "</s>"]
    weights = np.full((len(output), len(source)), 1 / len(source))
    trace = Trace({"source": source}, output, {"source": weights}, hypotheses=[("Halt, jetzt!", -0.1)])
    assert "￭" not in trace.plot().svg().replace('data-label="￭', "")
    assert "￭" not in "".join(texts(figure(trace))) and "￭" not in printed(figure(trace))
    assert "“Stop, now!” → Halt, jetzt!" in trace_page(trace)
    # Without a text of the output, its pieces are joined in the same way.
    assert figure(replace(trace, hypotheses=())).title == "“Stop, now!” → Halt, jetzt!"


def test_true_regions_of_a_gallery_are_exact():
    """Where only some words are right, their boxes stay boxes."""
    known = caption()
    boxes = ((0, 0.34, 0.02, 0.6, 0.3), (1, 0.7, 0.7, 0.95, 0.9))
    truth = known.truth["image"].copy()
    truth[1] = 0  # the second word is wrong: its region means nothing
    trace = replace(
        known, truth={"image": truth}, seen={"image": SeenImage(known.seen["image"].pixels, (3, 3), boxes)}
    )
    scene = gallery([Example(trace, "red blue square", ("red green square",))])
    outlines = [mark for mark in scene.walk() if isinstance(mark, Shape) and mark.stroke == "truth"]
    assert len(outlines) == 1
    corners = np.array([step[1] for step in outlines[0].steps])
    (picture, *_) = [mark for mark in scene.walk() if isinstance(mark, Image)]
    wide, high = np.ptp(corners, axis=0)
    assert wide / picture.width == pytest.approx(0.6 - 0.34) and high / picture.height == pytest.approx(
        0.3 - 0.02
    )


def test_a_series_of_one_number_is_a_curve():
    values = np.sin(np.linspace(0, 6, 50))[:, None].astype(np.float32)
    seen = {"beat": SeenSeries(values)}
    scene = figure(Trace({"beat": list("abcde")}, ["sick"], {"beat": np.eye(5)[:1]}, seen=seen, kind="label"))
    (line,) = [mark for mark in scene.walk() if isinstance(mark, Shape) and len(mark.steps) == 50]
    heights = np.array([step[1][1] for step in line.steps])
    assert np.corrcoef(heights, values[:, 0])[0, 1] == pytest.approx(-1)  # up is small in a file
    assert not any(isinstance(mark, Image) for mark in scene.walk())
    assert {"-1", "1"} <= {text.replace("−", "-") for text in texts(scene)}  # its values are beside the axis
    drawn = [
        line for line in printed(scene).splitlines() if any("\u2801" <= sign <= "\u28ff" for sign in line)
    ]
    assert len(drawn) > 3  # in the terminal too
    many = replace(seen["beat"], values=np.tile(values, (1, 8)))
    wide = figure(
        Trace({"beat": list("abcde")}, ["sick"], {"beat": np.eye(5)[:1]}, seen={"beat": many}, kind="label")
    )
    assert any(isinstance(mark, Image) for mark in wide.walk())


def test_words_of_a_document_have_even_gaps():
    words = ["it", "was", "the", "best", "film", "I", "saw", "in", "all", "these", "years"]
    shares = np.zeros(len(words))
    shares[3] = 1.0
    found = SentenceWords(words, np.array([len(words)]), shares, np.array([1.0]))
    trace = Trace(
        {"text": [" ".join(words)]},
        ["good"],
        {"text": np.ones((1, 1))},
        structures={"text": found},
        kind="label",
    )
    scene = document(trace)
    assert {"it was the", "best", "film I saw in all these years"} <= set(texts(scene))  # blanks of the font
    runs = [mark for mark in scene.walk() if isinstance(mark, Text) and mark.fills]
    runs.sort(key=lambda mark: mark.x)
    gaps = [second.x - first.x - first.fills for first, second in pairwise(runs)]
    assert len(gaps) == 2 and max(gaps) - min(gaps) < 1 and min(gaps) > 3  # whatever the font
    assert len(re.findall(r'textLength="[\d.]+"', scene.svg())) == 3


def test_a_page_of_a_dialog_is_headed_by_the_answer():
    turns = ["U: can you name a film ?", "B: how about Logan ?"]
    trace = Trace(
        {"dialog": turns},
        ["Hugh", "Jackman", "</s>"],
        {"dialog": np.full((3, 2), 0.5)},
        layout={"dialog": "dialog"},
    )
    html = trace_page(trace)
    assert re.search(r"<h1>(.*?)</h1>", html)[1] == "Hugh Jackman"
    assert "how about Logan" in html
    assert conversation(trace).title == ""


def test_a_hop_without_weights_is_said_to_be_unused():
    weights = np.array([[0.9, 0.06, 0.04], [0.0, 0.0, 0.0]])
    trace = Trace(
        {"story": " ".join(STORY).split()},
        ["garden"],
        structures={"story": Hops(weights, [0, -1], None, None, STORY)},
        kind="label",
    )
    scene = hops(trace)
    assert texts(scene).count("not used") == 1 and "Hop 2 is not used" in scene.description
    assert "– hop not used" in printed(scene)
    used = [mark for mark in scene.walk() if isinstance(mark, Rect) and ("column", "1") in mark.tags]
    assert len(used) == 3 and all(mark.fill is None for mark in used)  # empty, unlike a small weight
    full = hops(replace(trace, structures={"story": Hops(weights[:1], [0], None, None, STORY)}))
    assert "not used" not in texts(full)


def test_the_table_of_backpropagation_explains_its_shades():
    scene = run("bptt").figure
    said = texts(scene)
    assert any("magnitude" in text and "sign" in text for text in said)
    assert any(re.fullmatch(r"−\.\d\d", text) for text in said)  # negative numbers have a sign


@pytest.mark.parametrize("style", ["bars", "lines"])
def test_values_of_a_few_rows_look_weak(style):
    scene = bars(["short", "long", "longer"], {"one": [90.0, 80.0, 100.0]}, counts=[400, 30, 1], style=style)
    values = [
        mark for mark in scene.walk() if isinstance(mark, Rect | Circle) and dict(mark.tags).get("place")
    ]
    assert len(values) == 3
    firm, also, weak = [(mark.fill, mark.opacity) for mark in values]
    assert firm == also != weak
    assert any("n < 5" in text for text in texts(scene)) and "n=1" in texts(scene)
    enough = bars(["short", "long"], {"one": [90.0, 80.0]}, counts=[400, 30], style=style)
    assert not any("n < 5" in text for text in texts(enough))


def test_cells_of_a_few_rows_are_not_shaded():
    cells = [GroupScore((a, b), 2 if a == b == "x" else 50, 0.5, (0.4, 0.6)) for a in "xy" for b in "xy"]
    scene = groups_figure({"model": ByGroup("accuracy", ("first", "second"), cells)})
    shown = [mark for mark in scene.walk() if isinstance(mark, Rect) and dict(mark.tags).get("value")]
    assert [mark.fill == "paper" for mark in shown] == [True, False, False, False]
    assert any("n < 5" in text for text in texts(scene))


DOCUMENTS = FilePath(__file__).parents[2]


def test_figures_of_the_documents_have_the_words_of_the_program():
    pages = [DOCUMENTS / "README.md", *(DOCUMENTS / "docs").rglob("*.md")]
    shown = set()
    for page in pages:
        for target in re.findall(r"\]\(([^)\s]*figures/[^)\s]*\.svg)\)", page.read_text("utf-8")):
            assert (page.parent / target).is_file(), f"{page.name}: {target}"
            shown.add((page.parent / target).resolve())
    figures = sorted((DOCUMENTS / "docs/figures").glob("*.svg"))
    assert figures and {one.resolve() for one in figures} <= shown
    for one in figures:
        said = " ".join(re.findall(r">([^<>]+)</(?:text|desc|title)>", one.read_text("utf-8")))
        assert not re.search(r"\btold\b|\bby itself\b|\b(true|told) place\b", said), one.name
