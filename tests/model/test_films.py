"""Models of videos and series: from a spec to answers with their attention, saved and loaded."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from regard import Model, Spec
from regard.data import Dataset, Row
from regard.data.arrays import array_from_uri, array_uri
from regard.errors import RegardError
from regard.trace import SeenSeries, SeenVideo
from regard.worlds import world
from tests.model.small import build

SMALL_NETWORK = {"type": "vgg", "channels": [4, 8], "stride": 4, "connected": 8}


@pytest.fixture(scope="module")
def films() -> list[Row]:
    return world("films", train=40, dev=0, test=0).splits()["train"]


def captions(**encoder) -> Spec:
    recurrent = {} if encoder.get("cell", "gru") is None else {"size": 6}
    return Spec.parse(
        {
            "inputs": {"film": {"type": "video", "size": 24, "frames": 24}},
            "outputs": {"caption": {"type": "text", "unit": "word"}},
            "truth": {"places": {"type": "places"}},
            "encoder": {"network": SMALL_NETWORK, **recurrent, **encoder},
            "attention": {"score": "additive"},
            "decoder": {"size": 8, "embedding": 6},
        }
    )


@pytest.mark.parametrize(
    "encoder",
    [
        {},
        {"motion": "local", "cell": "lstm"},
        {"cell": None},
        {"values": "frames", "bidirectional": False},
        {"network": {"type": "resnet", "channels": [4, 8], "stride": 4}},
    ],
)
def test_each_word_looks_at_the_frames(films: list[Row], encoder: dict) -> None:
    model = build(captions(**encoder), films)
    row = films[1]
    frames = array_from_uri(row["film"])
    answer = model.predict(row["film"], max_length=5)
    assert answer.trace is not None
    looks = answer.trace.attention["film"]
    assert looks.shape[1] == len(frames) and np.allclose(looks.sum(1), 1, atol=1e-5)
    assert answer.trace.layout["film"] == "frames"
    assert answer.trace.input["film"][:2] == ["frame 1", "frame 2"]
    seen = answer.trace.seen["film"]
    assert isinstance(seen, SeenVideo) and np.array_equal(seen.frames, frames)


def test_the_true_frames_are_laid_on_the_memory(films: list[Row]) -> None:
    model = build(captions(), films)
    row = next(row for row in films if " then " in row["caption"])
    dataset = Dataset.build([row], model.columns.values())
    (answer,) = model.score_batch(dataset.batch([0]), "caption")
    truth = answer.trace.truth["film"]  # (T, S), </s> included
    frames = len(array_from_uri(row["film"]))
    first, last = (float(number) for number in row["places"].split()[2].partition(":")[2].split(","))
    expected = np.zeros(frames)
    expected[round(first * frames) : round(last * frames)] = 1 / 5
    assert np.allclose(truth[3], expected, atol=1e-6) and not truth[0].any()


def test_films_of_a_program(films: list[Row], tmp_path: Path) -> None:
    model = build(captions(), films)
    frames = array_from_uri(films[0]["film"])
    folder = tmp_path / "film"
    folder.mkdir()
    for number, frame in enumerate(frames):
        Image.fromarray(frame).save(folder / f"{number}.png")
    np.save(tmp_path / "film.npy", frames)
    expected = model.predict(films[0]["film"], max_length=5)
    for value in (frames, folder, str(folder), tmp_path / "film.npy"):
        assert model.predict(value, max_length=5).score == pytest.approx(expected.score, rel=1e-5)
    with pytest.raises(RegardError, match="but there is no such file"):
        model.predict("nowhere.mp4")


def test_bad_films_are_set_aside_with_their_names(films: list[Row], tmp_path: Path) -> None:
    model = build(captions(), films)
    (tmp_path / "film.mp4").write_bytes(b"no film")
    (tmp_path / "empty").mkdir()
    pytest.importorskip("av")
    caption = {"caption": films[0]["caption"], "places": films[0]["places"]}
    bad = ["film.mp4", "empty", "missing.avi", array_uri(np.zeros((0, 4, 4), np.uint8))]
    rows = [
        Row({"film": film, **caption}, file=str(tmp_path / "rows.tsv"), line=line)
        for line, film in enumerate(bad)
    ]
    dataset = Dataset.build([*rows, films[0]], model.columns.values(), on_bad="skip")
    assert len(dataset) == 1 and dataset.rejected == 4
    reasons = [kept.reason for kept in dataset.rejections.kept]
    for name, reason in zip(("film.mp4", "empty", "missing.avi", "without frames"), reasons, strict=True):
        assert reason.startswith("film ") and name in reason


def test_series_are_classified_and_looked_at(tmp_path: Path) -> None:
    generator = np.random.default_rng(1)
    rows = [
        Row({"series": array_uri(generator.normal(size=(5 + number, 6))), "label": "ab"[number % 2]})
        for number in range(6)
    ]
    spec = Spec.parse(
        {
            "inputs": {"series": {"type": "series", "points": 3, "origin": 0, "velocities": True, "most": 8}},
            "outputs": {"label": {"type": "label"}},
            "encoder": {"size": 6, "layers": 1, "reductions": 0},
            "decoder": {"attention": {"score": "additive"}},
        }
    )
    model = build(spec, rows)
    answer = model.predict(rows[5]["series"])
    assert answer.trace.attention["series"].shape == (1, 8)
    seen = answer.trace.seen["series"]
    assert isinstance(seen, SeenSeries) and seen.values.shape == (8, 12)
    model.save(tmp_path / "model")
    again = Model.load(tmp_path / "model", device="cpu")
    assert again.predict(rows[5]["series"]).score == pytest.approx(answer.score, rel=1e-5)


def test_points_are_asked_for() -> None:
    with pytest.raises(RegardError, match="points: 3"):
        Spec.parse(
            {
                "inputs": {"series": {"type": "series", "origin": 0}},
                "outputs": {"label": {"type": "label"}},
            }
        )
