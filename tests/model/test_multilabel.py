"""Several labels from end to end: answers, files, figures, the server, exports and metrics."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import httpx
import numpy as np
import pytest

from regard import Model, Prediction, Trace
from regard.evaluation import settle
from regard.serve import app
from regard.serve.running import Serving
from tests.export.small import saved, trained
from tests.export.test_runner import Played
from tests.model.small import rows, words

TEXTS = [*words(12, seed=5), "h"]
PARTS = {
    "outputs": {"letters": {"type": "multilabel"}},
    "truth": {"places": {"type": "label_words"}},
    "encoder": {"type": "mean", "embedding": 8},
    "decoder": {"type": "multilabel"},
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model that tells which of the letters a, b and c a word has."""
    model = trained(80, **PARTS)
    (line,) = settle(model, model.dataset(rows(), ["letters"]))
    assert line.startswith("thresholds chosen on 40 rows of dev")
    place = tmp_path_factory.mktemp("letters")
    model.save(place)
    return place


def test_labels_have_probabilities_and_a_look_each(folder: Path) -> None:
    model = Model.load(folder, device="cpu")
    right, thresholds = 0, model.network.decoders["letters"].thresholds.tolist()
    for text, one in zip(TEXTS, model.predict(TEXTS), strict=True):
        assert one.value == one.text.split("|") if one.text else one.value == []
        shares = list(one.probabilities.values())
        chosen = [p >= t for p, t in zip(shares, thresholds, strict=True)]
        assert one.value == [letter for letter, given in zip("abc", chosen, strict=True) if given]
        logs = [np.log(p if given else 1 - p) for p, given in zip(shares, chosen, strict=True)]
        assert one.score == pytest.approx(sum(logs), abs=1e-4)
        looks = one.trace.glimpses["source"]
        assert looks.names == ("a", "b", "c") and looks.weights.shape == (3, len(text))
        np.testing.assert_allclose(looks.probabilities, list(one.probabilities.values()))
        right += one.value == [letter for letter in "abc" if letter in text]
        again = Prediction.from_dict(json.loads(json.dumps(one.to_dict())))
        assert again.value == one.value and again.trace.glimpses["source"].probabilities.shape == (3,)
    assert right >= 10
    found = model.evaluate(
        data=rows(), metrics=["micro_f1", "macro_f1", "exact", "label_words", "loss"]
    ).scores
    assert found["micro_f1"].value > 0.9 and 0.3 < found["label_words"].value <= 1
    scored = model.score(["abc", "hhh"], [["c", "a", "b"], ""])
    assert [one.value for one in scored] == [["a", "b", "c"], []] and scored[0].score < 0


def test_the_look_on_the_words_of_a_label_is_a_mean_over_labels(folder: Path) -> None:
    model = Model.load(folder, device="cpu")
    data = [row for row in rows() if row["letters"]]
    shares = []
    for row in data:
        looks = model.predict(row["source"]).trace.glimpses["source"]
        for label in row["letters"].split("|"):
            mine = [place for place, letter in enumerate(row["source"]) if letter == label]
            shares.append(looks.weights["abc".index(label)][mine].sum())
    measured = model.evaluate(data=data, metrics=["label_words"]).scores["label_words"].value
    assert measured == pytest.approx(np.mean(shares), abs=1e-4)


def test_a_figure_names_the_labels_with_their_probabilities(folder: Path) -> None:
    trace = Model.load(folder, device="cpu").predict("abh").trace
    figure = trace.plot()
    drawn = figure.svg()
    assert all(f">{label}<" in drawn for label in "abc")
    for share in trace.glimpses["source"].probabilities:
        assert f"{share:.2f}" in drawn
    none = Trace(input={"source": "hh"}, output=["(none)"], kind="labels", scores=[-0.1])
    assert "(none)" in none.plot().svg() and trace.html()


def test_files_and_the_server_have_lists_with_probabilities(
    folder: Path, tmp_path: Path, regard: Callable[..., tuple[int, str, str]]
) -> None:
    model = Model.load(folder, device="cpu")
    texts = tmp_path / "in.txt"
    texts.write_text("\n".join(TEXTS) + "\n")
    out, lines = tmp_path / "out.txt", tmp_path / "out.jsonl"
    to = ("-o", str(out), "--json", str(lines))
    assert regard("predict", str(folder), "-f", str(texts), *to, "--device", "cpu")[0] == 0
    truth = model.predict(TEXTS, trace=False)
    assert out.read_text().split("\n")[:-1] == [one.text for one in truth]
    written = [json.loads(line) for line in lines.read_text().splitlines()]
    assert [one["value"] for one in written] == [one.value for one in truth]
    assert set(written[0]["probabilities"]) == {"a", "b", "c"}
    with Serving(app(folder, device="cpu", grace=0.0)) as serving:
        answer = httpx.post(f"{serving.url}/predict", json={"text": TEXTS}).json()["answers"]
    assert [one["value"] for one in answer] == [one.value for one in truth]
    assert answer[0]["probabilities"] == pytest.approx(truth[0].probabilities, abs=1e-5)


def test_the_runner_of_an_export_gives_the_same_labels(folder: Path, tmp_path: Path) -> None:
    model = saved(Model.load(folder, device="cpu"), tmp_path / "model")
    for mine, other in zip(model.predict(TEXTS), Played(model, tmp_path).predict(TEXTS), strict=True):
        assert (other.text, dict(other.probabilities)) == (
            mine.text,
            pytest.approx(mine.probabilities, abs=1e-5),
        )
        assert other.score == pytest.approx(mine.score, abs=1e-4)
        np.testing.assert_allclose(
            other.attention["source"], mine.trace.glimpses["source"].weights, atol=1e-5
        )
