"""The runner of exports reads texts and searches as we do. Torch plays its programs here."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image

from regard import Model
from regard.data.columns import ImageColumn, TextColumn
from regard.export import recipes, runner
from regard.nn.path import without_fast_paths
from tests.export.small import TRANSFORMER, UNSEEN, trained

TEXTS = [
    "Stop, now! NATO and McDonald's in İstanbul",
    "  two  spaces ",
    "naïve cafe\u0301 ￭⇧▁␛j x",
    "ÀÉ straße 12,5 %",
    "\U0001f600 ok\tthen",
]


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"split": "punctuation", "case": "marked"},
        {"case": "lower", "normalize": "NFKD"},
        {"case": "marked"},
        {"unit": "char"},
        {"unit": "char", "spaces": "drop", "case": "lower"},
        {"unit": "char", "case": "marked"},
        {"unit": "byte"},
        {"unit": "subword", "vocabulary": 90},
        {"unit": "subword", "vocabulary": 90, "case": "marked"},
    ],
    ids=str,
)
def test_texts_are_cut_numbered_and_joined_alike(options: dict[str, Any]) -> None:
    column = TextColumn("text", **options)
    column.learn(TEXTS[:4])
    recipe = json.loads(json.dumps(column.exported()))
    theirs = runner.TextRecipe("text", recipe)
    for text in TEXTS:
        ids = column.encode(text).tolist()
        assert theirs.ids(text) == ids
        assert theirs.positions(text) == column.tokens(text)
        assert theirs.join(theirs.spelled([*ids, 3])) == column.decode(ids)
        assert theirs.readable(ids) == column.tokens(ids)


@pytest.mark.parametrize("fit", ["crop", "stretch", "pad", "keep"])
def test_images_are_laid_on_the_canvas_alike(fit: str, tmp_path: Path) -> None:
    pixels = np.random.default_rng(0).integers(0, 256, (23, 37, 4), dtype=np.uint8)
    Image.fromarray(pixels).save(tmp_path / "one.png")
    column = ImageColumn("image", size=(12, 16), color="gray" if fit == "pad" else "rgb", fit=fit)
    theirs = runner.ImageRecipe("image", column.exported())
    found = theirs.arrays([str(tmp_path / "one.png")])["pixels"][0]
    np.testing.assert_array_equal(found.transpose(1, 2, 0), column.encode(str(tmp_path / "one.png")))


class Played(runner.Exported):
    """An export whose programs are the modules from which they would be recorded."""

    def __init__(self, model: Model, folder: Path, **search: Any) -> None:
        output = next(iter(model.spec.outputs))
        self.graphs = recipes.programs(model, output)
        files = {graph.name: "" for graph in self.graphs.graphs}
        told = recipes.description(model, output, self.graphs, files)
        (folder / "model.json").write_text(json.dumps(told), encoding="utf-8")
        super().__init__(folder, **search)

    def run(self, name: str, given: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        graph = self.graphs.named(name)
        with torch.no_grad(), without_fast_paths():
            found = graph.module(*(torch.from_numpy(np.array(given[one])) for one in graph.inputs))
        return {one: part.numpy() for one, part in zip(graph.outputs, found, strict=True)}


@pytest.fixture(scope="module")
def model() -> Model:
    return trained(40)


@pytest.mark.parametrize(
    "search",
    [
        {"method": "greedy"},
        {"method": "greedy", "min_length": 3, "max_length": 5},
        {"method": "beam", "beam": 1},
        {"method": "beam", "beam": 4, "n_best": 3},
        {"method": "beam", "beam": 3, "length_penalty": 0.0, "max_length": 4},
        {"method": "beam", "beam": 9, "n_best": 9, "min_length": 2},
    ],
    ids=str,
)
def test_searches_are_equal(model: Model, search: dict[str, Any], tmp_path: Path) -> None:
    ours = model.predict(UNSEEN, **search)
    theirs = Played(model, tmp_path, **search).predict(UNSEEN, batch_rows=7)
    assert len({answer.text for answer in ours}) > 3, "the answers should differ"
    for mine, other in zip(ours, theirs, strict=True):
        assert other.text == mine.text
        assert other.score == pytest.approx(mine.score, abs=1e-4)
        assert [text for text, _ in other.alternatives] == [one.text for one in mine.alternatives]
        trace = mine.trace
        assert other.tokens == trace.output and other.inputs["source"] == trace.input["source"]
        np.testing.assert_allclose(other.attention["source"], trace.attention["source"], atol=1e-5)
        np.testing.assert_allclose(other.token_scores, trace.scores, atol=1e-4)


def test_a_step_that_depends_on_its_number_gets_it(tmp_path: Path) -> None:
    model = trained(30, encoder=TRANSFORMER, decoder=TRANSFORMER, attention=None)
    ours = model.predict(UNSEEN, method="beam", beam=3)
    theirs = Played(model, tmp_path, method="beam", beam=3).predict(UNSEEN)
    assert [one.text for one in theirs] == [one.text for one in ours]


def test_mistakes_are_told_in_a_line(
    model: Model, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    played = Played(model, tmp_path)
    with pytest.raises(ValueError, match="source is empty"):
        played.predict([""])
    with pytest.raises(ValueError, match="no option 'width'"):
        runner.Exported(tmp_path, width=3)
    with pytest.raises(ValueError, match="n_best must be at least 1 and at most beam"):
        runner.Exported(tmp_path, method="beam", beam=2, n_best=3)
    assert runner.main(["-f", str(tmp_path / "absent.txt")]) == 1
    assert capsys.readouterr().err.startswith("error: ")
