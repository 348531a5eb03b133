"""A drawing of somebody else's: found by figures, pages, comparisons, the terminal and JSON, or refused."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from rich.console import Console
from rich.text import Text

import regard
from regard.errors import RegardError
from regard.inspect import PLAIN, Block, TracedDrawing, compare, figure
from regard.inspect.scene import Circle, Group
from regard.nn.selections.segments import Segmental
from regard.parts import names, registry
from regard.testing import check_part, failures
from regard.trace import Arcs, Trace, TracedStructure
from tests.inspect import drawn_inputs, drawn_structures

WORDS = ["the", "dog", "ran"]


@pytest.fixture(autouse=True)
def only_here() -> Iterator[None]:
    before = {kind: dict(registry.PARTS[kind]) for kind in ("drawing", "selection") if names(kind)}
    yield
    registry.PARTS.update(before)


@dataclass(frozen=True, eq=False)
class Beats(TracedStructure):
    """strengths (S,)."""

    kind = "beats"
    arrays = {"strengths": np.float64}

    strengths: Any
    names: Any = ()

    def check_against(self, name: str, outputs: int, positions: int) -> None:
        self.expect_count(name, len(self.strengths), "positions", positions, "that input has")


@dataclass(frozen=True, eq=False)
class BeatsDrawing(TracedDrawing):
    """A disc for each position."""

    traced = Beats

    beats: Beats
    title: str = ""

    @classmethod
    def of(cls, trace: Trace, name: str, view: Any = PLAIN) -> BeatsDrawing:
        found: Any = trace.structures[name]
        return cls(found, view.title)

    def block(self) -> Block:
        marks = tuple(Circle(20 * n, 10, 8 * float(one)) for n, one in enumerate(self.beats.strengths))
        return Block((Group(marks, kind="beats", content=self),), 60.0, 20.0)

    def description(self) -> str:
        return f"{len(self.beats.strengths)} beats."

    def terminal(self, width: int, ink: Any) -> Iterator[Text]:
        yield Text("●" * len(self.beats.strengths))

    @classmethod
    def terminal_legend(cls, shown: Any, width: int, ink: Any) -> Iterator[Text]:
        yield Text(f"● a beat, in {len(shown)} drawings")


def beaten() -> Trace:
    return Trace(
        {"a": WORDS, "b": WORDS},
        ["er", "lief"],
        {"a": np.full((2, 3), 1 / 3)},
        structures={"a": Beats([0.1, 0.5, 1.0], ["x", "y"]), "b": Beats([1, 1, 1])},
    )


def printed(scene: Any) -> str:
    console = Console(width=60, no_color=True, record=True, force_terminal=False)
    with console.capture() as found:
        console.print(scene)
    return found.get()


def test_it_is_drawn_in_every_figure() -> None:
    regard.register("drawing", "beats")(BeatsDrawing)
    trace = beaten()
    scene = figure(trace)
    groups = ElementTree.fromstring(scene.svg()).iter("{http://www.w3.org/2000/svg}g")
    assert sum(one.get("class") == "beats" for one in groups) == 2
    assert scene.description.startswith("3 beats. 3 beats. Attention over a:")  # the attention is drawn below
    lines = printed(scene).splitlines()
    assert lines.count("●●●") == 2 and lines.count("● a beat, in 2 drawings") == 1
    assert trace.html().count('class="beats"') == 2
    compared = compare([("one", trace), ("two", trace)], over="b")
    assert compared.description == "one: 3 beats. two: 3 beats."


def test_it_is_read_back_from_json() -> None:
    regard.register("drawing", "beats")(BeatsDrawing)
    trace = beaten()
    again = Trace.from_dict(json.loads(json.dumps(trace.to_dict())))
    found: Any = again.structures["a"]
    assert type(found) is Beats and found.strengths.tolist() == [0.1, 0.5, 1.0] and found.names == ("x", "y")
    assert again.plot().svg() == trace.plot().svg()


def test_a_selection_of_others_puts_it_into_the_trace() -> None:
    """Through `predict`: the selection returns the structure, and the figure of the trace draws it."""
    regard.register("drawing", "beats")(BeatsDrawing)

    @regard.register("selection", "beating")
    class Beating(Segmental):
        def traced(self, trace: Trace, name: str, best: Any, samples: Any) -> Any:
            return Beats(trace.attention[name].mean(0))

    spec = regard.Spec(
        inputs={"source": {"type": "text"}},
        outputs={"target": {"type": "text"}},
        encoder={"size": 4, "embedding": 4},
        decoder={"size": 4, "embedding": 4, "attention": {"select": "beating"}},
    )
    rows = [{"source": "a b c", "target": "c b a"}, {"source": "c a", "target": "a c"}]
    trace = regard.Model.build(spec, rows=rows).predict("a b c").trace
    assert trace is not None and type(trace.structures["source"]) is Beats
    assert trace.plot().description.startswith("3 beats. Attention over source:")


def test_a_structure_without_its_drawing_is_not_drawn_and_not_read() -> None:
    trace = beaten()
    assert printed(figure(trace)).startswith("the dog ran → er lief")
    with pytest.raises(RegardError, match=r"'beats' is not a known kind.*\n?.*Install the package"):
        Trace.from_dict(trace.to_dict())
    with pytest.raises(RegardError, match="beats over 'c', not one of its inputs"):
        Trace({"a": WORDS}, ["er"], structures={"c": Beats([1.0])})
    with pytest.raises(RegardError, match="the beats over 'a' are for 1 positions, but that input has 3"):
        Trace({"a": WORDS}, ["er"], structures={"a": Beats([1.0])})


def test_a_panel_that_lacks_it_is_named() -> None:
    regard.register("drawing", "beats")(BeatsDrawing)
    trace = beaten()
    bare = Trace(trace.input, trace.output, trace.attention)
    with pytest.raises(
        RegardError, match="panel 'two' has nothing of this kind over 'a', but another one does"
    ):
        compare([("one", trace), ("two", bare)], over="a")


def test_a_structure_without_a_drawing_is_compared_by_its_attention() -> None:
    trace = beaten()
    assert compare([("one", trace), ("two", trace)], over="a").description == "2 heatmaps: one, two."
    with pytest.raises(RegardError, match="the trace of panel 'one' has no attention over 'b'"):
        compare([("one", trace), ("two", trace)], over="b")


def test_declarations_that_cannot_be_are_refused() -> None:
    class Nothing(BeatsDrawing):
        traced = None

    class Taken(BeatsDrawing):
        traced = type("MyArcs", (Beats,), {"kind": Arcs.kind})

    with pytest.raises(RegardError, match="declares no class `traced`"):
        regard.register("drawing", "nothing")(Nothing)
    with pytest.raises(RegardError, match=r"draws the kind 'arcs', which .*ArcDiagram draws"):
        regard.register("drawing", "taken")(Taken)


OURS = {
    "arcs": drawn_structures.tree,
    "segments": drawn_structures.spelled,
    "hops": drawn_structures.story,
    "image": drawn_inputs.caption,
    "video": drawn_inputs.film,
    "series": drawn_inputs.spoken,
}


@pytest.mark.parametrize("name", OURS)
def test_our_own_pass_the_check_of_drawings(name: str) -> None:
    check_part("drawing", name, trace=OURS[name]())


def test_the_check_of_drawings_names_what_is_wrong() -> None:
    class Wide(BeatsDrawing):
        def terminal(self, width: int, ink: Any) -> Iterator[Text]:
            yield Text("●" * 200)

        def description(self) -> str:
            return ""

    regard.register("drawing", "beats")(Wide)
    told = failures("drawing", "beats", trace=beaten())
    assert "drawing beats: description: expected a text; received ''." in told
    assert "drawing beats: terminal: expected lines of at most 40 cells; received one of 200." in told
    assert failures("drawing", "arcs", trace=beaten()) == [
        "drawing arcs: shows: expected true for an entry of the trace's structures; received false for all."
    ]


def test_each_field_of_a_trace_is_described_once() -> None:
    """Every field is written under its own name and read back from it."""
    trace = Trace({"a": WORDS}, ["er"])
    written = trace.to_dict()
    usual = {one.name for one in fields(Trace) if not one.metadata["form"].rare}
    assert set(written) == usual >= {"input", "output", "attention", "gates", "structures"}
    for name in set(written) - {"input", "output"}:
        less = {key: value for key, value in written.items() if key != name}
        assert Trace.from_dict(less).to_dict() == written
