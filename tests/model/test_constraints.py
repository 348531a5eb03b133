"""Constraints in `predict`: the best output that obeys, with every search; what cannot be obeyed is refused."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import regard
from regard import Model, RegardError
from regard.model.streaming import stream_answer

from .small import build, spec

BENCH = Path(__file__).parents[2] / "bench"


@pytest.fixture(scope="module")
def bench() -> Iterator[Any]:
    sys.path.insert(0, str(BENCH))
    import constraints

    yield constraints
    sys.path.remove(str(BENCH))


@pytest.mark.parametrize("kind", ["words", "characters", "punctuation", "capitals", "subwords", "copies"])
def test_every_search_obeys_and_a_wide_beam_finds_the_best(bench: Any, kind: str) -> None:
    """Random constraints against all outputs listed; `bench/constraints.py` tries ten thousand."""
    tally, faults = bench.some(kind, 4, 7)
    assert not faults and sum(tally.values()) >= 8


@pytest.fixture(scope="module")
def model() -> Model:
    return build(spec(search={"max_length": 8}))


def written(model: Model, *constraints: dict[str, Any], **options: Any) -> str:
    return model.predict("badge", constraint=list(constraints), **options).text


def test_constraints_of_predict(model: Model) -> None:
    assert "A" not in written(model, {"type": "never", "phrases": "A"})
    must = written(model, {"type": "must", "phrases": ["A", "B C"]}, {"type": "never", "phrases": ["H"]})
    assert "A" in must.split() and "B C" in must and "H" not in must
    assert model.searching(constraint={"type": "must", "phrases": ["A"]}).spec.search.method.type == "beam"
    assert written(model, {"type": "answers", "answers": ["H A", "B"]}, method="sample") in ("H A", "B")
    after = written(model, {"type": "regex", "pattern": "([A-D] )+H"}, prefix="C A")
    assert after.startswith("C A") and after.endswith("H")
    options = regard.parts.find("constraint", "prefix").Options(text="G")
    assert model.predict("badge", constraint=options).text.startswith("G")
    pieces = list(stream_answer(model.searching(constraint=[options]), "badge"))
    assert "".join(pieces[:-1]) == pieces[-1].text == model.predict("badge", constraint=options).text


def test_a_constraint_is_stored_with_the_model(model: Model, tmp_path: Path) -> None:
    bound = model.searching(constraint={"type": "regex", "pattern": "([A-C] ){3}D"})
    bound.save(tmp_path / "run")
    again = regard.load(tmp_path / "run", device="cpu")
    assert again.predict("badge").text == bound.predict("badge").text != model.predict("badge").text
    with pytest.raises(RegardError, match="obey a constraint"):
        regard.export.export(again, tmp_path / "out", to="onnx")


@pytest.mark.parametrize(
    ("constraint", "told"),
    [
        ({"type": "must", "phrases": ["Q"]}, "cannot write an output of at most 8 units that contains 'Q'"),
        ({"type": "regex", "pattern": "([A-H] ){7}A B"}, "has at least 9 units, and at most 8 are allowed"),
        (
            [{"type": "must", "phrases": "A"}, {"type": "never", "phrases": "A"}],
            "does not contain 'A': no output obeys them all",
        ),
        ({"type": "mst"}, "Did you mean must"),
        ({"type": "regex", "pattern": "(A"}, "is not closed"),
    ],
)
def test_what_cannot_be_obeyed_is_refused(model: Model, constraint: Any, told: str) -> None:
    with pytest.raises(RegardError, match=told.replace("(", r"\(")):
        model.predict("badge", constraint=constraint)


def test_an_output_without_a_search_has_no_constraint() -> None:
    labels = build(spec(outputs={"topic": {"type": "label"}}, decoder=None, attention=None))
    with pytest.raises(RegardError, match="step by step"):
        labels.predict("badge", constraint={"type": "never", "phrases": "A"})
