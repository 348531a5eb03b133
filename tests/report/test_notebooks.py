"""Models and evaluations show themselves in a notebook, offline and without scripts."""

from __future__ import annotations

import re

import pytest

import regard
from regard import Model

ROWS = [
    {"source": f"{word} {end}", "target": end}
    for word in ("a", "b", "c", "d", "e", "f")
    for end in ("yes", "no")
]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Model:
    folder = tmp_path_factory.mktemp("notebook")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("REGARD_CACHE", str(folder / "cache"))
        rows = [*ROWS, {"source": "<b>g</b> yes", "target": "<i>odd</i>"}]
        overrides = ["training.steps=2", "encoder.size=8", "outputs.target.type=label"]
        return regard.fit(rows, run=folder / "<u>run", overrides=overrides, quiet=True, device="cpu")


def test_a_model_and_an_evaluation_show_themselves(model: Model) -> None:
    shown = model._repr_html_()
    count = sum(one.numel() for one in model.network.parameters())
    assert f"{count:,} parameters on cpu" in shown
    value = model.metrics["scores"]["dev"]["accuracy"]["value"]
    assert f">{value:.4g}</td>" in shown
    found = model.evaluate(data=ROWS)
    text = found._repr_html_()
    assert f">{found.scores['accuracy'].value:.4g}</td>" in text and "12 rows" in text and "<svg" in text
    for page in (shown, text):
        assert not re.search(r"<script|<img|<link|https?://(?!www.w3.org)|<u>|<i>odd", page)
