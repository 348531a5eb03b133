"""Dialogs as conversations: bubbles, weights, truth; long ones are folded, and all text is escaped."""

from __future__ import annotations

import io
import re
import time
from xml.etree import ElementTree

import numpy as np
import pytest
from rich.console import Console

from regard.errors import RegardError
from regard.inspect import conversation
from regard.inspect.drawings.conversation import Conversation
from regard.trace import Hops, Trace

TURNS = ["U: can you name a film ?", "B: how about Logan ?", "U: who is in <b>&it</b> ?"]


def looked(
    turns: list[str], weights: list[list[float]], *, truth: int | None = None, hops: bool = False
) -> Trace:
    rows = np.array(weights)
    known = None if truth is None else np.array([truth])
    structures = (
        {"dialog": Hops(weights=rows, best=rows.argmax(1), truth=known, positions=turns)} if hops else {}
    )
    marked = np.zeros_like(rows) if truth is not None and not hops else None
    if marked is not None and truth is not None:
        marked[0, truth] = 1
    return Trace(
        input={"dialog": turns},
        output=["Jackman"] if hops else ["Hugh", "Jackman"][: len(rows)],
        attention={"dialog": rows.mean(0, keepdims=True) if hops else rows},
        layout={"dialog": "dialog"},
        truth={} if marked is None else {"dialog": marked},
        structures=structures,
        kind="label" if hops else "text",
    )


def printed(trace: Trace, width: int = 80) -> str:
    stream = io.StringIO()
    trace.print(Console(file=stream, width=width, color_system=None))
    return stream.getvalue()


def test_the_attended_turn_is_marked_everywhere() -> None:
    trace = looked(TURNS, [[0.0, 0.9, 0.1], [0.1, 0.7, 0.2]], truth=1)
    (shown,) = (one for one in trace.plot().contents() if isinstance(one, Conversation))
    assert shown.turns[1] == ("B", "how about Logan ?")
    assert shown.weights[0] == pytest.approx([0.05, 0.8, 0.15])
    assert (shown.truth, shown.answer) == (frozenset({1}), "Hugh Jackman")
    svg = trace.plot().svg()
    root = ElementTree.fromstring(svg)
    rows = [one for one in root.iter() if one.get("data-row") is not None]
    assert [one.get("data-label") for one in rows] == TURNS
    values = [float(one.get("data-value", "")) for one in root.iter() if one.get("data-column") == "0"]
    assert values == pytest.approx([0.05, 0.8, 0.15])
    assert "<b>" not in svg and "<b>" not in trace.html()
    lines = printed(trace).splitlines()
    assert re.fullmatch(r"B  how about Logan \?\s+\[\.80\]", lines[1])
    assert lines[3] == "→  Hugh Jackman"


def test_each_hop_has_its_own_weights_and_narrow_terminals_say_what_is_missing() -> None:
    trace = looked(TURNS, [[0.1, 0.2, 0.7], [0.0, 1.0, 0.0], [0.5, 0.5, 0.0]], truth=0, hops=True)
    wide = printed(trace)
    assert "hop 3" in wide and "[.50]" in wide
    narrow = printed(trace, 30)
    assert "hop 1" in narrow and "widen the terminal" in " ".join(narrow.split())
    assert max(map(len, narrow.splitlines())) <= 30


def test_a_long_dialog_is_folded_and_stays_small() -> None:
    turns = [f"{'UB'[n % 2]}: turn {n} {'word ' * 30}" for n in range(3000)]
    weights = np.full((1, 3000), 1e-5)
    weights[0, [700, 1500]] = [0.6, 0.3]
    trace = looked(turns, weights.tolist(), truth=900)
    (shown,) = (one for one in trace.plot().contents() if isinstance(one, Conversation))
    places = [part for part in shown.parts if isinstance(part, int)]
    assert len(places) <= Conversation.MOST
    assert {0, 700, 900, 1500, 2999} <= set(places)
    covered = [place for part in shown.parts for place in ([part] if isinstance(part, int) else part)]
    assert covered == list(range(3000))
    assert len(trace.plot().svg()) < 60_000
    assert "699 turns" in printed(trace)


def test_turns_without_speakers_and_dialogs_nobody_looked_at() -> None:
    trace = looked(["hello", "to: and fro"], [[0.5, 0.5]])
    (shown,) = (one for one in trace.plot().contents() if isinstance(one, Conversation))
    assert shown.turns == (("", "hello"), ("to", "and fro"))
    unseen = Trace(input={"dialog": TURNS}, output=["yes"], layout={"dialog": "dialog"})
    lines = printed(unseen).splitlines()
    assert [line.split() for line in lines[: len(TURNS) + 1]] == [
        *(turn.replace(":", "", 1).split() for turn in TURNS),
        ["→", "yes"],
    ]
    assert not re.search(r"\.\d", "".join(lines)) and "weight" not in unseen.plot().svg()
    assert all(turn in unseen.plot().description for turn in TURNS)
    with pytest.raises(RegardError, match="the trace has no attention over a dialog"):
        conversation(unseen)


@pytest.mark.parametrize("hops", [False, True])
def test_a_turn_of_50000_characters_is_cut(hops: bool) -> None:
    weights = [[0.5, 0.5], [0.3, 0.7]] if hops else [[0.5, 0.5]]
    trace = looked([f"U: {'x' * 50_000}", "U: so ?"], weights, hops=hops)
    began = time.process_time()
    assert len(trace.html()) < 200_000 and len(trace.plot().svg()) < 60_000
    assert len(printed(trace).splitlines()) < 60
    assert time.process_time() - began < 5
