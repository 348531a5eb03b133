"""Every recipe builds a model on a few rows of the right shape, answers, and has equations."""

from __future__ import annotations

from pathlib import Path

import pytest

import regard
from regard.describe import answers
from tests.documents.pages import RECIPES
from tests.documents.samples import asked, samples, write_candidates


def shortened(spec: regard.Spec) -> regard.Spec:
    """The spec with short answers; specs that search for nothing refuse the setting and stay as they are."""
    try:
        return spec.changed("search={max_length: 16}")
    except regard.RegardError:
        return spec


@pytest.mark.parametrize("recipe", RECIPES, ids=lambda path: path.stem)
def test_recipe(recipe: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    spec = regard.Spec.load(recipe)
    for column in spec.outputs.values():
        if isinstance(candidates := getattr(column, "candidates", None), str):
            write_candidates(candidates)
    rows = samples(spec)
    model = regard.model.build(shortened(spec), rows=rows)
    told = answers(spec)
    assert told["data"] and told["decoder"] and told["loss"] and told["algorithm"]
    if not spec.inputs:
        assert model.generate("Ann", length=3).text
        return
    for output in spec.outputs:
        assert model.predict(asked(spec, rows[0]), output=output).trace is not None


def test_there_are_recipes() -> None:
    assert len(RECIPES) >= 40
