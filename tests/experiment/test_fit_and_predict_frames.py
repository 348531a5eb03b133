"""A frame that was fitted can be predicted, with or without its target and with other columns."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import regard
from regard.errors import RegardError

QUICK = ["training.steps=1", "encoder.size=4", "encoder.embedding=4", "data.hold_out=0.4"]
WORDS = ["fine", "bad", "loud", "slow", "long"]
COLUMNS: dict[str, list[Any]] = {
    "id": list(range(40)),
    "text": [f"{WORDS[n % 5]} and {WORDS[n % 3]}" for n in range(40)],
    "more": [f"{WORDS[n % 4]} or {WORDS[n % 2]}" for n in range(40)],
    "label": [("pos", "neg")[n % 2] for n in range(40)],
}


class Frame:
    """As much of a data frame as the package asks for: columns and their values by name."""

    def __init__(self, columns: dict[str, list[Any]]) -> None:
        self._columns = columns
        self.columns = list(columns)

    def __getitem__(self, name: str) -> list[Any]:
        return self._columns[name]

    def without(self, *names: str) -> Frame:
        return Frame({name: values for name, values in self._columns.items() if name not in names})


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def fitted(data: Any, y: Any = None, *, quick: Sequence[str] = QUICK, **settings: Any) -> regard.Model:
    return regard.fit(data, y, device="cpu", quiet=True, overrides=quick, **settings)


def texts(found: Any) -> list[str]:
    return [one.text for one in found]


def test_a_frame_that_was_fitted_can_be_predicted() -> None:
    frame: Any = Frame(COLUMNS)
    model = fitted(frame, source="text", target="label", run="a")
    wanted = texts(model.predict(COLUMNS["text"]))
    assert texts(model.predict(frame)) == texts(model.predict(frame.without("label", "id"))) == wanted
    rows = [dict(zip(COLUMNS, row, strict=True)) for row in zip(*COLUMNS.values(), strict=True)]
    assert texts(model.predict(rows)) == texts(regard.load("a").predict(rows)) == wanted
    assert texts(model.predict([{"source": text} for text in COLUMNS["text"]])) == wanted
    with pytest.raises(RegardError, match=r"no input 'txt'. The inputs are source"):
        model.predict([{"txt": "fine"}])


def test_several_columns_of_a_frame_are_several_inputs() -> None:
    frame: Any = Frame(COLUMNS)
    model = fitted(frame, source=["text", "more"], target="label")
    assert list(model.spec.inputs) == ["text", "more"] and len(model.predict(frame)) == 40
    assert texts(model.predict(frame.without("label"))) == texts(model.predict(frame))


def test_arrays_of_numbers_are_series() -> None:
    X = np.random.default_rng(3).normal(size=(30, 7))
    y = [("up", "down")[n % 2] for n in range(30)]
    model = fitted(X, y, quick=["training.steps=1", "data.hold_out=0.4"])
    assert model.spec.inputs["source"].type == "series"
    found = texts(model.predict(X))
    assert len(found) == 30 and found == texts(model.predict(X.tolist()))
    with pytest.raises(RegardError, match=r"row 2: source: a list of numbers contains nan"):
        fitted(np.array([[0.5, 1.0], [float("nan"), 1.0]]), ["a", "b"])


def test_chats_given_in_python_are_recognized() -> None:
    chats = [
        {"messages": [{"role": "user", "content": f"hi {n}"}, {"role": "assistant", "content": f"hello {n}"}]}
        for n in range(20)
    ]
    sizes = ["encoder.words.size=4", "encoder.sentences.size=4", "decoder.size=4", "search.max_length=3"]
    model = fitted(chats, quick=["training.steps=1", "data.hold_out=0.4", *sizes])
    assert model.spec.inputs["source"].type == "dialog"
