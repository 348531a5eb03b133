"""Figures of states and of the tree of a search, from traces whose numbers are known."""

from xml.etree import ElementTree

import numpy as np
import pytest
from rich.console import Console

from regard.inspect.handles import BranchHandle
from regard.inspect.scene import Group
from regard.trace import BeamTree, Trace

HOSTILE = "</script><img onerror=x>\u202e\x1b[2J"


def written(scene, width=100) -> str:
    console = Console(width=width, record=True, file=open("/dev/null", "w"), color_system=None)  # noqa: SIM115
    console.print(scene)
    return console.export_text()


def traced(**more) -> Trace:
    return Trace({"word": ["c", "a", "t"]}, ["K", "AE", "</s>"], **more)


def panel(trace, name):
    return next(one for one in trace.panels() if one.name == name)


def test_states_have_a_panel_for_each_cell_with_strips_means_and_norms():
    gate = np.array([[0.0, 0.5], [0.25, 1.0], [1.0, 1.0]])
    hidden = np.array([[3.0, -4.0], [0.0, 0.0], [0.0, -1.0]])
    trace = traced(
        states={"decoder.update": gate, "decoder.hidden": hidden, "encoder.forward.hidden": hidden}
    )
    assert [one.name for one in trace.panels()] == ["figure", "states: decoder", "states: encoder.forward"]
    scene = panel(trace, "states: decoder").scene
    ElementTree.fromstring(scene.svg())
    assert "update: mean lowest at K (0.25), highest at </s> (1.00)" in scene.description
    assert "hidden: norm lowest at AE (0.00), highest at K (5.00)" in scene.description
    told = written(scene)
    assert "update" in told and "hidden, up to 4" in told and "norm of each state" in told
    assert "K" in told and "c a t" not in told
    assert "c a t" in written(panel(trace, "states: encoder.forward").scene)


def test_all_strips_of_a_cell_show_the_same_units():
    rows = np.random.default_rng(0).random((3, 40))
    rows[:, :16] = 0.5  # constant units are left out
    trace = traced(states={"decoder.update": rows, "decoder.hidden": rows * 2 - 1})
    told = written(panel(trace, "states: decoder").scene)
    assert "24 of 40 units" in told
    numbers = [line.split()[0] for line in told.splitlines() if line.strip()[:1].isdigit()][1:]
    assert numbers[:24] == [str(unit) for unit in range(17, 41)]


def tree() -> BeamTree:
    return BeamTree(
        ["", "K", "S", HOSTILE, "</s>", "</s>", "T"],
        [-1, 0, 0, 1, 3, 2, 1],
        [0, -0.1, -2.3, -0.2, -0.3, -2.9, -9.0],
        ["", "", "", "", "end", "limit", "pruned"],
        [0, 0, 0, 0, 1, 2, 0],
        {"word": np.eye(7, 3)},
    )


def test_a_search_is_drawn_as_a_tree_whose_nodes_can_be_continued():
    trace = traced(beam=tree())
    scene = panel(trace, "beam").scene
    root = ElementTree.fromstring(scene.svg())
    shown = "".join(root.itertext())
    assert HOSTILE not in shown and "\x1b" not in shown and "\u202e" not in shown
    nodes = [mark for mark in scene.walk() if isinstance(mark, Group) and mark.kind == "node"]
    prefixes = [mark.at.prefix for mark in nodes if isinstance(mark.at, BranchHandle)]
    assert prefixes == [(), ("K",), ("K", HOSTILE), ("K", HOSTILE), ("K", "T"), ("S",), ("S",)]
    assert "most attended position 2 (1.00)" in nodes[1].tip and "p 0.90" in nodes[1].tip
    assert "1 ended, 1 pruned, 1 ended at the limit" in scene.description
    lines = written(scene).splitlines()
    assert lines[0].startswith("K ") and lines[0].rstrip().endswith("■ -0.30 #1")
    assert lines[1].split() == ["└", "T", "×", "-9.00"] and lines[2].rstrip().endswith("▌ -2.90 #2")


@pytest.mark.parametrize("width", [20, 40])
def test_a_narrow_terminal_cuts_the_lines_of_a_tree(width):
    assert all(
        len(line) <= width for line in written(panel(traced(beam=tree()), "beam").scene, width).splitlines()
    )


def test_a_large_tree_shows_the_best_and_counts_the_rest():
    count = 200
    beam = BeamTree(
        ["", *map(str, range(count))], [-1, *[0] * count], [0, *(-np.arange(1, count + 1))],
        ["", *["pruned"] * count], [0] * (count + 1),
    )  # fmt: skip
    told = written(panel(traced(beam=beam), "beam").scene)
    assert len(told.splitlines()) <= 62 and "140 more are not shown" in told
