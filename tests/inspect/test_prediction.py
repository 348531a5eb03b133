"""Trace and Prediction: validation, and JSON round trips."""

import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.errors import RegardError
from regard.trace import Glimpses, Trace
from regard.trace.prediction import Alternative, Prediction


def through_json(values):
    return json.loads(json.dumps(values, allow_nan=False))


@st.composite
def traces(draw):
    labels = st.lists(st.text(max_size=4), max_size=5)
    source, output = draw(labels), draw(labels)
    shape = (len(output), len(source))
    weights = draw(
        st.lists(st.floats(0, 1, width=32), min_size=shape[0] * shape[1], max_size=shape[0] * shape[1])
    )
    scores = draw(
        st.lists(st.floats(-50, 0) | st.just(-math.inf), min_size=len(output), max_size=len(output))
    )
    return Trace(
        {"source": source}, output, {"source": np.array(weights).reshape(shape)}, scores=np.array(scores)
    )


@given(traces())
def test_a_trace_survives_json(trace):
    again = Trace.from_dict(through_json(trace.to_dict()))
    assert again.input == trace.input
    assert again.output == trace.output
    assert np.array_equal(again.attention["source"], trace.attention["source"])
    assert again.attention["source"].shape == trace.attention["source"].shape
    assert np.array_equal(again.scores, trace.scores)


def test_every_field_survives_json():
    trace = Trace(
        {"a": ["x", "y"], "b": ["z"]},
        ["u", "</s>"],
        {"a": [[0.25, 0.75], [1, 0]], "b": [[1], [1]]},
        layout={"a": "line"},
        truth={"a": [[0, 1], [0, 0]]},
        scores=[-0.5, -1.0],
        hypotheses=[("u", -1.5), ("v", -math.inf)],
        gates={"copy": [0.1, 0.9]},
        kind="tags",
        glimpses={"a": Glimpses([[0.5, 0.5], [0, 1]], [[1, 0], [0, 1]]), "b": Glimpses([[1], [1], [1]])},
    )
    again = Trace.from_dict(through_json(trace.to_dict()))
    assert again.to_dict() == trace.to_dict()
    assert again.hypotheses == [("u", -1.5), ("v", -math.inf)]
    assert np.array_equal(again.truth["a"], [[0, 1], [0, 0]])
    assert np.array_equal(again.gates["copy"], [0.1, 0.9])
    assert again.kind == "tags"
    assert np.array_equal(again.glimpses["a"].weights, [[0.5, 0.5], [0, 1]])
    assert np.array_equal(again.glimpses["a"].truth, [[1, 0], [0, 1]])
    assert again.glimpses["b"].truth is None
    assert again.layout == {"a": "line"}


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"attention": {"sauce": [[1.0]]}}, r"attention over 'sauce', not one of its inputs \(source\)"),
        ({"attention": {"source": [[1.0]]}}, r"shape \(1, 1\), expected \(1, 2\)"),
        ({"truth": {"source": [[1.0], [0.0]]}}, r"truth over 'source' has shape \(2, 1\), expected \(1, 2\)"),
        ({"glimpses": {"sauce": Glimpses([[1.0]])}}, r"glimpses over 'sauce', not one of its inputs"),
        (
            {"glimpses": {"source": Glimpses([[1.0]])}},
            r"weights of the glimpses at 'source' have shape \(1, 1\)",
        ),
        (
            {"glimpses": {"source": Glimpses([[0.5, 0.5]], [[1.0, 0.0], [0.0, 1.0]])}},
            r"truth of the glimpses at 'source' have shape \(2, 2\), expected \(1, 2\)",
        ),
        ({"scores": [0.0, 0.0]}, r"scores have shape \(2,\), expected \(1,\)"),
    ],
)
def test_numbers_that_do_not_fit_their_pieces_are_refused(fields, words):
    with pytest.raises(RegardError, match=words):
        Trace({"source": ["a", "b"]}, ["x"], **fields)


def test_probabilities_are_those_of_the_scores():
    trace = Trace({"s": ["a"]}, ["x", "y"], scores=np.log([0.5, 0.25]))
    assert trace.probabilities == pytest.approx([0.5, 0.25])
    assert Trace({"s": ["a"]}, ["x", "y"]).probabilities is None


def test_a_prediction_reads_as_its_text_and_survives_json():
    prediction = Prediction(
        value=["DET", "NOUN"],
        text="DET NOUN",
        score=-0.125,
        trace=Trace({"s": ["the", "dog"]}, ["DET", "NOUN"], kind="tags"),
        alternatives=[Alternative("DET NOUN", -0.125), Alternative("DET VERB", -math.inf)],
        probabilities={"yes": 0.75, "no": 0.25},
    )
    assert str(prediction) == "DET NOUN"
    assert repr(prediction) == "Prediction('DET NOUN', score=-0.125, 2 alternatives)"
    again = Prediction.from_dict(through_json(prediction.to_dict()))
    assert again.value == ["DET", "NOUN"]
    assert again.alternatives == prediction.alternatives
    assert again.probabilities == {"yes": 0.75, "no": 0.25}
    assert again.trace is not None and again.trace.kind == "tags"


def test_what_is_empty_is_left_out_of_json():
    assert Prediction("x", "x", -1.0).to_dict() == {"value": "x", "text": "x", "score": -1.0}
