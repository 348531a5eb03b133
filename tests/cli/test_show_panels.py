"""`regard show --panel`, and traces as files."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from regard import Trace
from regard.trace import BeamTree

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def kept(tmp_path: Path) -> Path:
    beam = BeamTree(["", "B", "</s>"], [-1, 0, 1], [0, -0.5, -0.6], ["", "", "end"], [0, 0, 1])
    states = {"decoder.update": np.full((2, 3), 0.25), "encoder.update": np.full((2, 3), 0.75)}
    Trace(
        {"source": ["a", "b"]}, ["B", "</s>"], {"source": np.full((2, 2), 0.5)}, states=states, beam=beam
    ).save(tmp_path / "x.trace")
    return tmp_path / "x.trace"


def test_a_saved_trace_is_drawn_without_its_model(regard: Run, kept: Path, tmp_path: Path) -> None:
    code, out, err = regard("show", str(kept))
    assert code == 0, err
    assert "a b" in " ".join(out.split()) and "B" in out
    code, out, err = regard("show", str(kept), "--panel", "beam")
    assert code == 0 and "■ -0.60 #1" in out, err
    code, out, err = regard("show", str(kept), "--panel", "states")
    assert code == 0 and "Gates and states: decoder" in out and "Gates and states: encoder" in out, err
    for name in ("x.svg", "x.html"):
        code, out, err = regard("show", str(kept), "--panel", "states", "-o", str(tmp_path / name))
        assert code == 0, err
        assert "Gates and states: encoder" in (tmp_path / name).read_text()


def test_mistakes_are_named(regard: Run, kept: Path, tmp_path: Path) -> None:
    for given, message in {
        ("--panel", "heads"): "Choose from figure, links, beam, states: decoder, states: encoder.",
        ("some", "text"): "a saved trace has its own input",
        ("--heads",): "Leave out --heads.",
        ("-o", kept): "this command reads this file and would overwrite it",
    }.items():
        code, _, err = regard("show", str(kept), *map(str, given))
        assert code != 0 and message in " ".join(err.split())
    kept.write_bytes(kept.read_bytes()[:-3])
    code, _, err = regard("show", str(kept))
    assert code != 0 and "the trace cannot be read" in err
    code, _, err = regard("show", str(tmp_path / "missing.trace"))
    assert code != 0 and "no such file" in err
