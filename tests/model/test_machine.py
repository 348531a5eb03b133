"""Bits, external memories and machines: rows, metrics, training, resuming, traces, refusals."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

import regard
from regard.data.columns import BitsColumn
from regard.fitting.experiment import Experiment
from regard.metrics import metric
from regard.spec import Spec
from regard.trace import Tape, Trace

TINY = ["decoder.size=6", "data.world.train=96", "data.world.dev=8", "data.world.test=8", "data.world.long=8"]


def test_bits_round_trip_and_say_what_is_wrong() -> None:
    source, target = BitsColumn("source"), BitsColumn("target", of="source")
    source.learn(["_ 0110 1001"])
    target.learn(["011"])
    batch = source.collate([source.encode("0110 _"), source.encode("1111")])
    expected = [[[0, 1, 1, 0, 0], [0, 0, 0, 0, 1]], [[1, 1, 1, 1, 0], [0, 0, 0, 0, 0]]]
    assert batch.values.tolist() == expected and batch.lengths.tolist() == [2, 1]
    assert source.readable(batch) == [["0110", "_"], ["1111"]]
    assert target.decode(target.encode("001 110")) == "001 110"
    assert target.written(np.array([[0, 1, 1], [1, 0, 0]])) == "011 100"
    assert source.check("0120") == "has '0120', expected zeros and ones, or _"
    assert source.check("011") == "has '011' of 3 bits, expected 4"
    assert target.check("_") == "has '_', expected zeros and ones"
    assert target.check_beside(target.encode("001"), {"source": source.encode("0110 _ _")}) == (
        "has 1 vectors, expected 2, one for each _ of source"
    )


def test_bit_metrics_count_bits() -> None:
    found, true = [["011", "100"], ["1"]], [[["010", "100"]], [["1"]]]
    assert metric("bit_accuracy")(found, true).value == pytest.approx(6 / 7)  # type: ignore[operator]
    assert metric("bit_error")(found, true).value == pytest.approx(1 / 2)  # type: ignore[operator]
    assert metric("bit_error")([["011"]], [[["011", "11"]]]).value == 2  # type: ignore[operator]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("outputs.target.of=null", "of is missing"),
        ("outputs.target.of=sources", "no input is named 'sources'"),
        ("inputs.source.of=target", "of has no effect"),
        ("decoder.over=source", "over has no effect"),
        ("decoder.store=stm", "'stm' is not a known store"),
        ("decoder.store.slot=4", "unknown key 'slot'"),
    ],
)
def test_a_spec_that_cannot_be_is_refused(change: str, message: str) -> None:
    with pytest.raises(regard.RegardError, match=message):
        regard.zoo.find("ntm-copy", [change])


class _Stop:
    def on_evaluation(self, figures: dict[str, Any]) -> None:
        if figures["step"] == 4:
            raise KeyboardInterrupt


@pytest.mark.parametrize("name", ["ntm-copy", "dnc", "lie-access"])
def test_an_interrupted_training_resumes_to_the_same_bits(name: str, tmp_path: Path) -> None:
    overrides = [*TINY, "training.steps=6", "training.batch_rows=8", "training.evaluate_every=2"]
    whole = Experiment.start(name, run=tmp_path / "whole", overrides=overrides, device="cpu", quiet=True)
    whole.train()
    stopped = Experiment.start(name, run=tmp_path / "stopped", overrides=overrides, device="cpu", quiet=True)
    stopped.callbacks = [_Stop()]  # type: ignore[list-item]
    with pytest.raises(KeyboardInterrupt):
        stopped.train()
    stopped.close()
    Experiment.resume(tmp_path / "stopped", device="cpu", quiet=True).train()
    one, other = (load_file(tmp_path / run / "model.safetensors") for run in ("whole", "stopped"))
    assert one.keys() == other.keys() and all(torch.equal(one[key], other[key]) for key in one)
    scores = json.loads((tmp_path / "whole" / "metrics.json").read_text())["scores"]
    assert set(scores) >= {"test", "long"} and set(scores["long"]) == {"bit_accuracy", "bit_error", "exact"}


@pytest.mark.parametrize("name", ["ntm-copy", "dnc", "lie-access"])
def test_a_trace_holds_the_tape_and_goes_through_json(name: str) -> None:
    spec = regard.zoo.find(name, ["decoder.size=6", "decoder.store.heads=2"])
    model = regard.Model.build(spec, rows=[{"source": "011 101 _ _", "target": "011 101"}])
    prediction = model.predict("011 101 110 _ _")
    trace = prediction.trace
    assert trace is not None and len(prediction.value) == 2
    tape = trace.tapes["source"]
    assert tape.steps == 5 and len(tape.reads) == 2 and len(tape.writes) == (2 if name == "ntm-copy" else 1)
    if name != "dnc":
        np.testing.assert_allclose(tape.reads.sum(-1), 1.0, atol=1e-5)
    assert (tape.link is not None) == (name == "dnc")
    assert (tape.read_path is not None) == (name == "lie-access")
    again = Trace.from_dict(json.loads(json.dumps(trace.to_dict()))).tapes["source"]
    assert np.array_equal(again.reads, tape.reads) and np.array_equal(again.writes, tape.writes)


def test_a_cell_alone_has_no_tape() -> None:
    spec = regard.zoo.find("ntm-copy", ["decoder.store=null", "decoder.size=6"])
    model = regard.Model.build(spec, rows=[{"source": "011 _", "target": "011"}])
    prediction = model.predict("011 _")
    assert prediction.trace is not None and not prediction.trace.tapes
    assert Spec.parse(spec.written()).decoder["target"].store is None


def test_a_tape_of_other_shapes_is_refused() -> None:
    with pytest.raises(
        regard.RegardError, match=r"reads of a tape has shape \(1, 2, 3\), expected \(1, 2, 4\)"
    ):
        Tape(np.zeros((1, 2, 4)), np.zeros((1, 2, 3)))
    with pytest.raises(regard.RegardError, match=r"has 2 steps, but that input has 3"):
        Trace({"x": ["1", "_", "_"]}, [], tapes={"x": Tape(np.zeros((1, 2, 4)), np.zeros((1, 2, 4)))})
