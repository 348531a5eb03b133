"""Images from files to a trained model: any number of threads, stopping and resuming, inputs in any form."""

from __future__ import annotations

import os
import signal
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image

from regard.cli import main
from regard.data import ImageColumn
from regard.errors import RegardError
from regard.fitting.experiment import Experiment
from regard.model import Model, load
from regard.training.machine import Interrupted

SPEC = """
inputs: {image: {type: image, size: 16, augment: {flip: true, crop: 0.2, color: 0.2}}}
outputs: {label: {type: label}}
encoder: {type: image, network: lenet}
decoder: {type: label}
data: {train: pictures, dev: pictures, format: folder}
training: {batch_rows: 4, steps: 12, epochs: 9, evaluate_every: 12}
"""
COLORS = {"red": (220, 40, 40), "blue": (40, 40, 220)}


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with images of two colors, a spec and a private cache."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("REGARD_CACHE", str(tmp_path / "cache"))
    generator = np.random.default_rng(0)
    for name, color in COLORS.items():
        for number in range(12):
            path = tmp_path / "pictures" / name / f"{number}.png"
            path.parent.mkdir(parents=True, exist_ok=True)
            pixels = np.clip(np.array(color) + generator.integers(-40, 41, (20, 24, 3)), 0, 255)
            Image.fromarray(pixels.astype(np.uint8)).save(path)
    (tmp_path / "spec.yaml").write_text(SPEC)
    return tmp_path


def experiment(run: str, *overrides: str) -> Experiment:
    return Experiment.start("spec.yaml", run=Path(run), overrides=overrides, device="cpu", quiet=True)


def weights(model: Model) -> dict[str, Any]:
    return {name: value.clone() for name, value in model.network.state_dict().items()}


def same(one: dict[str, Any], other: dict[str, Any]) -> bool:
    return one.keys() == other.keys() and all(torch.equal(one[name], other[name]) for name in one)


def test_threads_and_a_stop_in_the_middle_of_an_epoch_change_nothing() -> None:
    alone = weights(experiment("alone", "training.workers=0").train())
    assert same(weights(experiment("threads", "training.workers=3").train()), alone)
    experiment("stopped", "training.steps=4", "training.evaluate_every=4").train()
    resumed = Experiment.resume(Path("stopped"), overrides=["training.steps=12"], device="cpu", quiet=True)
    assert same(weights(resumed.train()), alone)
    assert not same(weights(experiment("other", "training.seed=2").train()), alone), "or nothing was compared"


def test_a_picture_in_any_form_gets_the_same_answer(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = experiment("run").train()
    path = here / "pictures" / "red" / "3.png"
    picture = Image.open(path)
    forms: list[Any] = [
        "pictures/red/3.png",
        path,
        path.read_bytes(),
        np.asarray(picture),
        picture,
        {"image": path},
    ]
    scores = {round(model.predict(form).score, 6) for form in forms}
    assert len(scores) == 1
    several = model.predict([path, picture, here / "pictures" / "blue" / "0.png"])
    assert len(several) == 3
    assert several[0].score == pytest.approx(several[1].score) != several[2].score
    assert several[0].trace is not None
    assert several[0].trace.seen["image"].pixels.shape == (16, 16, 3)  # type: ignore[union-attr]


def test_predict_on_the_command_line(
    here: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, learning_seed: int
) -> None:
    settings = ["training.steps=40", "training.evaluate_every=40", "training.lr=0.003"]
    experiment("run", *settings, f"training.seed={1 + learning_seed}").train()
    monkeypatch.setattr(
        sys, "argv", ["regard", "predict", "run", "pictures/red/1.png", "pictures/blue/2.png"]
    )
    capsys.readouterr()
    with pytest.raises(SystemExit) as stopped:
        main()
    assert not stopped.value.code
    assert capsys.readouterr().out.split() == ["red", "blue"]
    monkeypatch.setattr(sys, "argv", ["regard", "predict", "run", "pictures/red/none.png"])
    with pytest.raises(SystemExit) as stopped:
        main()
    assert stopped.value.code == 2
    assert "none.png', but there is no such file" in capsys.readouterr().err


def test_bad_pictures_are_skipped_where_that_is_asked_for(here: Path) -> None:
    (here / "pictures" / "red" / "bad.png").write_text("a text")
    with pytest.raises(RegardError, match=r"bad\.png.*not an image that can be read"):
        experiment("stop").train()
    experiment("skip", "data.bad_rows=skip").train()
    rejected = (here / "skip" / "rejected.tsv").read_text().splitlines()
    assert len(rejected) == 2 and "bad.png" in rejected[1] and "not an image that can be read" in rejected[1]
    assert load("skip").predict(here / "pictures" / "red" / "0.png").text in COLORS


def ahead_threads() -> list[str]:
    return [thread.name for thread in threading.enumerate() if thread.name.startswith("regard-ahead")]


def test_ctrl_c_leaves_a_checkpoint_and_no_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    stopping = experiment("run", "training.workers=2", "training.steps=1000", "training.epochs=1000")
    varied, asked = ImageColumn.varied, iter(range(10**9))

    def varied_and_interrupted(self: ImageColumn, value: str, generator: np.random.Generator) -> Any:
        if next(asked) == 30:
            os.kill(os.getpid(), signal.SIGINT)
        return varied(self, value, generator)

    monkeypatch.setattr(ImageColumn, "varied", varied_and_interrupted)
    with pytest.raises(Interrupted) as stopped:
        stopping.train()
    assert stopped.value.code == 128 + signal.SIGINT
    assert ahead_threads() == []
    resumed = Experiment.resume(Path("run"), overrides=["training.steps=20"], device="cpu", quiet=True)
    assert resumed.train().metrics["training"]["steps"] == 20


def test_a_picture_that_breaks_while_training_is_named_and_no_thread_is_left(here: Path) -> None:
    broken = experiment("run", "training.workers=2")
    broken.dataset("train"), broken.dataset("dev")
    (here / "pictures" / "blue" / "5.png").write_bytes(b"gone")
    with pytest.raises(RegardError, match=r"blue/5\.png: image names .*blue/5\.png.*changed since"):
        broken.train()
    assert ahead_threads() == []
