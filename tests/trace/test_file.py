"""A trace as one file: read as it was written, refused if it is damaged, newer or too large."""

import json
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from regard import RegardError
from regard.trace import BeamTree, Pointed, SeenImage, Segments, Tape, Trace, file

HOSTILE = "</script><img onerror=x>\u202e\x1b[2J"


def full() -> Trace:
    """A trace with every kind of field."""
    generator = np.random.default_rng(0)
    weights = generator.dirichlet(np.ones(20), size=3)
    return Trace(
        {"word": [HOSTILE, *map(str, range(19))], "image": ["a", "b"]},
        ["K", "AE", "</s>"],
        {"word": weights},
        truth={"word": np.eye(3, 20)},
        scores=np.array([-0.5, -np.inf, -1 / 3]),
        hypotheses=[("K AE", -1.0), (HOSTILE, -np.inf)],
        gates={"copy": np.array([0.25, 0.5, 1.0])},
        seen={"image": SeenImage(generator.integers(0, 255, (5, 7, 3), dtype=np.uint8), (1, 2))},
        structures={"word": Segments(weights, (weights > 0.05).astype(int))},
        pointed={"word": Pointed([1, 2])},
        tapes={"word": Tape(generator.random((1, 20, 4)), generator.random((2, 20, 4)))},
        states={"decoder.update": generator.random((3, 8)), "none": np.zeros((0, 4))},
        beam=BeamTree(
            ["", "K", "</s>", HOSTILE], [-1, 0, 1, 0], [0, -0.5, -0.7, -np.inf], ["", "", "end", "pruned"],
            [0, 0, 1, 0], {"word": generator.random((4, 20))},
        ),
        times={"search": 1.25},
    )  # fmt: skip


def test_what_was_written_is_read(tmp_path: Path) -> None:
    trace, path = full(), tmp_path / "x.trace"
    trace.save(path)
    again = Trace.load(path)
    assert json.dumps(again.to_dict()) == json.dumps(trace.to_dict())
    assert np.array_equal(again.states["decoder.update"], trace.states["decoder.update"])
    assert again.beam is not None and again.beam.prefix(2) == ["K", "</s>"]
    assert again.beam.node(3).score == -np.inf and again.beam.node(2).rank == 1
    assert again.plot().svg() == trace.plot().svg()
    trace.save(tmp_path / "y.trace")
    assert path.read_bytes() == (tmp_path / "y.trace").read_bytes()


def test_numbers_of_single_precision_take_four_bytes(tmp_path: Path) -> None:
    rows = np.random.default_rng(0).random((1000, 10)).astype(np.float32)
    path = tmp_path / "x.trace"
    Trace({}, [], states={"cell": rows}).save(path)
    assert path.stat().st_size < 4 * rows.size + 2000
    assert np.array_equal(Trace.load(path).states["cell"], rows.astype(np.float64))


def test_empty_fields_add_no_keys_to_the_json() -> None:
    assert not {"states", "beam", "times", "left_out"} & set(Trace({}, []).to_dict())
    assert {"states", "beam", "times"} <= set(full().to_dict())


def test_a_file_has_a_largest_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(file, "LARGEST", 4000)
    states = {"large": np.random.default_rng(0).random((100, 9)), "small": np.ones((10, 2))}
    path = tmp_path / "x.trace"
    with pytest.warns(UserWarning, match=r"left out: states\.large\."):
        Trace({"word": ["a"]}, ["A"], {"word": np.ones((1, 1))}, states=states).save(path)
    again = Trace.load(path)
    assert set(again.states) == {"small"} and again.left_out == ("states.large",)
    assert "left out of the file: states.large" in repr(again)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        again.save(path)
    with pytest.raises(RegardError, match="a file holds at most"):
        Trace({"word": ["a" * 5000]}, []).save(path)


@pytest.mark.parametrize("place", [3, 100, -5])
def test_a_damaged_file_is_refused(tmp_path: Path, place: int) -> None:
    path = tmp_path / "x.trace"
    full().save(path)
    content = bytearray(path.read_bytes())
    content[place] ^= 8
    path.write_bytes(content)
    with pytest.raises(RegardError, match="the trace cannot be read"):
        Trace.load(path)
    path.write_bytes(content[: len(content) // 2])
    with pytest.raises(RegardError, match="the trace cannot be read"):
        Trace.load(path)


def test_other_files_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.trace"
    path.write_bytes(b"\xff" * 64)
    with pytest.raises(RegardError, match="its header is cut off"):
        Trace.load(path)
    save_file({"a": np.ones(3)}, path)
    with pytest.raises(RegardError, match="its digest is missing"):
        Trace.load(path)
    with pytest.raises(RegardError, match="no such file"):
        Trace.load(tmp_path / "missing.trace")
    with path.open("wb") as sparse:
        sparse.truncate(1 << 30)
    with pytest.raises(RegardError, match="at most 134,217,728 are allowed"):
        Trace.load(path)


def test_a_newer_version_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "x.trace"
    monkeypatch.setattr(file, "VERSION", 2)
    full().save(path)
    assert len(load_file(path)) > 3
    monkeypatch.setattr(file, "VERSION", 1)
    with pytest.raises(RegardError, match="has version 2 of the format"):
        Trace.load(path)


def test_a_packed_array_that_unpacks_to_more_than_it_says_is_refused() -> None:
    trace = full().to_dict()
    for shape in ([1 << 20, 1 << 20, 3], [5, 7, 2], [-1, 7, 3]):
        trace["seen"]["image"]["pixels"]["shape"] = shape
        with pytest.raises(RegardError, match="an array of"):
            Trace.from_dict(trace)


def test_a_file_is_drawn_without_torch(tmp_path: Path) -> None:
    full().save(tmp_path / "x.trace")
    code = (
        "import sys; from regard.trace import Trace; t = Trace.load(sys.argv[1]); t.plot().svg()\n"
        "assert all(p.scene or p.steps for p in t.panels()); assert 'torch' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code, tmp_path / "x.trace"], check=True, timeout=60)
