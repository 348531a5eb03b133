"""A figure of every drawing, by name."""

import numpy as np

from regard.inspect import compare, figure, heads_figure
from regard.inspect.scene import Scene
from regard.trace import Hops, Nodes, Pointed, SeenPoints, SentenceWords, Tape, Trace
from tests.inspect import drawn_heads, drawn_inputs, drawn_structures, drawn_traces

SQUARE = np.array([[0.0, 0.0], [2.0, 0.0], [2.0, 1.0], [0.0, 1.0], [1.0, 0.5]])
TURNS = ["U: can you name a film ?", "B: how about Logan ?", "U: who is in <b>&it</b> ?"]
ATTACK = "</script><img src=x onerror=alert(1)>"


def all_scenes() -> dict[str, Scene]:
    traces = all_traces()
    scenes = {name: figure(trace) for name, trace in traces.items()}
    scenes["grid"] = figure(traces["image"], style="grid")
    scenes["heads"] = heads_figure(drawn_heads.tiny_heads())
    scenes["compared"] = compare([("one", traces["matrix"]), ("two", traces["matrix"])])
    return scenes


def all_traces() -> dict[str, Trace]:
    return {
        "matrix": drawn_traces.random_trace("source", ["S", "O", "</s>"], truth=True),
        "large": _large(),
        "right to left": drawn_traces.random_trace(["שלום", "עולם"], ["hello", "world"]),
        "attacked": drawn_traces.random_trace([ATTACK, "\u202eevil"], [ATTACK, "</s>"]),
        "image": drawn_inputs.caption(),
        "glimpses": drawn_inputs.glimpsed(),
        "video": drawn_inputs.film(),
        "series": drawn_inputs.spoken(),
        "arcs": drawn_structures.tree(),
        "segments": drawn_structures.spelled(),
        "hops": drawn_structures.story(),
        "label": Trace(
            {"text": ["a", "fine", "film"]}, ["good"], {"text": np.array([[0.1, 0.8, 0.1]])}, kind="label"
        ),
        "tags": Trace({"text": ["a", "dog"]}, ["DET", "NOUN"], scores=np.log([0.9, 0.5]), kind="tags"),
        "points": _points(),
        "nodes": _nodes(),
        "document": _document(),
        "conversation": _conversation(),
        "copies": _copies(),
        "tape": _tape(),
    }


def _large() -> Trace:
    """More cells than are drawn with numbers; one weight is exactly 0."""
    found = drawn_traces.random_trace([f"w{n}" for n in range(26)], [f"o{n}" for n in range(30)], truth=True)
    found.attention["source"][3, 4] = 0.0
    return found


def _points() -> Trace:
    weights = np.zeros((4, 5))
    weights[range(3), range(3)] = 0.9
    return Trace(
        input={"points": list("12345")}, output=["1", "2", "3", "</s>"], attention={"points": weights},
        seen={"points": SeenPoints(SQUARE)}, pointed={"points": Pointed([0, 1, 2], [0, 1, 3], "polygon")},
    )  # fmt: skip


def _nodes() -> Trace:
    shares = np.array([0.1, 0.2, 0.3, 0.1, 0.3])
    pieces = ["a", "b", "c", "b c", "a b c"]
    nodes = Nodes([4, 3, 3, 4, -1], weights=shares)
    return Trace({"tree": pieces}, ["x"], structures={"tree": nodes}, kind="tree")


def _document() -> Trace:
    words = SentenceWords(
        ["so", "good", "a", "film"], np.array([2, 2]), np.full(4, 0.5), np.array([0.7, 0.3])
    )
    return Trace({"text": ["so good", "a film"]}, ["good"], structures={"text": words}, kind="label")


def _conversation() -> Trace:
    rows = np.array([[0.2, 0.7, 0.1], [0.1, 0.1, 0.8]])
    hops = Hops(weights=rows, best=rows.argmax(1), positions=TURNS)
    return Trace(
        input={"dialog": TURNS}, output=["Jackman"], attention={"dialog": rows.mean(0, keepdims=True)},
        layout={"dialog": "dialog"}, structures={"dialog": hops}, kind="label",
    )  # fmt: skip


def _copies() -> Trace:
    copied, looked = np.array([[0.9, 0.0], [0.0, 0.6]]), np.array([[0.8, 0.2], [0.3, 0.7]])
    return Trace({"source": ["Anna", "runs"]}, ["Anna", "ran"], {"source": looked}, copied={"source": copied})


def _tape() -> Trace:
    writes, reads = np.zeros((1, 4, 4)), np.zeros((1, 4, 4))
    writes[0, range(2), (1, 2)] = reads[0, (2, 3), (1, 2)] = 1.0
    tape = Tape(writes, reads)
    return Trace({"source": ["01", "10", "_", "_"]}, ["01", "10"], kind="bits", tapes={"source": tape})
