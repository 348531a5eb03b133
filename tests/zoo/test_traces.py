"""The traces of untrained systems of the zoo: recorded whole, written to a file, read and drawn again."""

from __future__ import annotations

import itertools
import json
from pathlib import Path

import numpy as np
import pytest
import torch

from regard import Model, Trace, zoo
from regard.data.sources import open_splits
from tests.zoo.test_zoo import DATA, SIZES, TEXT_SIZES

SYSTEMS = {
    "g2p": {"beam", "states: decoder"},
    "translation-segments-word": {"forward-backward", "beam"},
    "tagger-crf": {"forward-backward", "pairs", "states: encoder"},
    "parser-crf": {"inside-outside", "marginals", "states: encoder.2.forward"},
    "parser-constituents": {"states: encoder.2.forward"},
    "nli-syntax": {"inside-outside over premise"},
    "facts-structured": {"hops", "forward-backward", "pairs"},
    "ntm-copy": {"tape", "states: decoder"},
    "pointer-hull": {"beam", "states: encoder.forward"},
    "image-qa-attention": {"states: encoder.question.forward"},
    "summary": {"beam"},
    "speech": {"states: encoder.3.backward"},
    "add": {"beam", "heads: decoder layer 2 over program"},
    "tree-lstm": {"states: encoder"},
}
"""Panels that the trace of each system must have."""
RECORD = ("states", "beam", "potentials", "times")


def untrained(name: str) -> tuple[Model, dict[str, str]]:
    provider = zoo.find(name).data.provider
    source = f"{provider.kind} {provider.type}"
    sizes = {key: min(40, value) for key, value in DATA[source].items()}
    if getattr(provider, "most", 5) < 4:
        sizes.pop("crowded", None)
    overrides = [f"data.{provider.kind}.{key}={value}" for key, value in sizes.items()]
    overrides += SIZES.get(source, TEXT_SIZES)
    if source != "world points":
        overrides.append("search.max_length=5")
    spec = zoo.find(name, overrides)
    rows = list(itertools.islice(open_splits(spec)["train"], 40))
    torch.manual_seed(0)
    model = Model.build(spec, rows=rows).eval()
    return model, {name: rows[0][model.columns[name].field] for name in spec.inputs}


@pytest.mark.parametrize("name", SYSTEMS)
def test_a_trace_is_recorded_kept_and_drawn_again(name: str, tmp_path: Path) -> None:
    model, given = untrained(name)
    output = next(iter(model.spec.outputs))
    plain = model.predict(given, output=output)
    answer = model.predict(given, output=output, record=RECORD)
    assert answer.text == plain.text
    assert answer.score == pytest.approx(plain.score, rel=1e-6, abs=1e-6)
    trace = answer.trace
    assert trace is not None and plain.trace is not None
    for over, rows in plain.trace.attention.items():
        assert np.abs(rows - trace.attention[over]).max() < 1e-6
    trace.save(tmp_path / "x.trace")
    again = Trace.load(tmp_path / "x.trace")
    assert json.dumps(again.to_dict()) == json.dumps(trace.to_dict())
    panels = {one.name: one for one in again.panels()}
    assert SYSTEMS[name] <= set(panels)
    for one in SYSTEMS[name]:
        assert panels[one].scene is not None or len(panels[one].steps) > 1
