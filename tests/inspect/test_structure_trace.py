"""The structures of a trace: validation, and JSON round trips."""

import dataclasses
import json

import numpy as np
import pytest

from regard.errors import RegardError
from regard.trace import Trace
from regard.trace.structures import Arcs, Hops, Segments
from regard.trace.traced import traced_from_dict


def through_json(structure):
    return traced_from_dict(json.loads(json.dumps(structure.to_dict(), allow_nan=False)))


FULL = [
    Arcs([2, 0], np.full((3, 3), 0.5), ["det", "root"], [0, 1], ["root", "obj"], [[2, 0], [0, 1]]),
    Segments([[0.25, 1], [0, 0.5]], [[0, 1], [0, 0]], [[1, 1], [0, 1]], [[[0, 1], [1, 0]]]),
    Hops([[0.25, 0.75], [1, 0]], [1, 0], [1], [[0, 0], [1, 1], [-1, 0]], ["Ann left.", "Bob ran."]),
]


@pytest.mark.parametrize("structure", FULL, ids=lambda structure: structure.kind)
def test_every_field_survives_json(structure):
    again = through_json(structure)
    assert type(again) is type(structure)
    for name in (one.name for one in dataclasses.fields(structure)):
        before, after = getattr(structure, name), getattr(again, name)
        assert np.array_equal(before, after), name
        assert type(before) is type(after), name


@pytest.mark.parametrize(
    "empty", [Arcs([]), Segments(np.zeros((0, 3))), Hops(np.zeros((2, 0)), best=[-1, -1])]
)
def test_shapes_of_nothing_survive_json(empty):
    assert through_json(empty).to_dict() == empty.to_dict()
    first = "heads" if isinstance(empty, Arcs) else "weights"
    assert getattr(through_json(empty), first).shape == getattr(empty, first).shape


def test_what_is_not_known_is_left_out():
    assert Arcs([2, 0]).to_dict() == {"kind": "arcs", "heads": [2, 0]}
    assert through_json(Arcs([2, 0])).marginals is None


def test_a_trace_carries_its_structures_through_json():
    trace = Trace({"s": ["a", "b"]}, ["2:x", "0:root"], structures={"s": FULL[0]}, kind="tree")
    again = Trace.from_dict(json.loads(json.dumps(trace.to_dict())))
    assert again.structures["s"].to_dict() == FULL[0].to_dict()
    assert again.kind == "tree"


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Arcs([3, 0]), r"heads holds \[3, 0\], expected numbers from -1 to 2"),
        (lambda: Arcs([0.5]), "not whole"),
        (lambda: Arcs([0, 2]), r"in heads, \[0, 2\], a token is its own head"),
        (lambda: Arcs([2, 0], np.zeros((2, 2))), r"marginals has shape \(2, 2\), expected \(3, 3\)"),
        (lambda: Arcs([2, 0], relations=["x"]), "1 relations for 2 tokens"),
        (lambda: Arcs([2, 0], true_heads=[1]), r"true_heads has shape \(1,\), expected \(2,\)"),
        (lambda: Arcs([2, 0], samples=[1, 2]), r"samples has shape \(2,\), expected \(any, 2\)"),
        (lambda: Segments([0.5]), r"weights has shape \(1,\), expected \(any, any\)"),
        (lambda: Segments([[0.5]], best=[[2]]), r"best holds \[\[2\]\], expected numbers from 0 to 1"),
        (lambda: Segments([[0.5]], truth=[[1, 0]]), r"truth has shape \(1, 2\), expected \(1, 1\)"),
        (lambda: Hops([[0.5, 0.5]], best=[2]), r"best holds \[2\], expected numbers from -1 to 1"),
        (lambda: Hops([[0.5, 0.5]], truth=[-1]), "expected numbers from 0 to 1"),
        (lambda: Hops([[0.5, 0.5]], positions=["one"]), "1 texts for 2 positions"),
        (lambda: traced_from_dict({"kind": "cats"}), "'cats' is not a known kind.*arcs, .*hops, .*segments"),
    ],
)
def test_numbers_that_do_not_fit_are_refused(make, words):
    with pytest.raises(RegardError, match=words):
        make()


@pytest.mark.parametrize(
    ("structures", "words"),
    [
        ({"z": Arcs([0])}, r"arcs over 'z', not one of its inputs \(s\)"),
        ({"s": Arcs([0])}, "the arcs over 's' are for 1 tokens, but that input has 2"),
        ({"s": Segments([[1, 0]])}, "the segments over 's' are for 1 output pieces, but the trace has 2"),
        ({"s": Segments([[1], [0]])}, "for 1 positions, but that input has 2"),
        ({"s": Hops([[1.0]])}, "the hops over 's' are for 1 positions, but that input has 2"),
    ],
)
def test_structures_belong_to_the_pieces_of_the_trace(structures, words):
    with pytest.raises(RegardError, match=words):
        Trace({"s": ["a", "b"]}, ["x", "y"], structures=structures)


def test_hops_over_sentences_need_not_be_as_many_as_the_words():
    Trace(
        {"story": ["Ann", "left", "."]}, ["x"], structures={"story": Hops([[1.0]], positions=["Ann left."])}
    )
