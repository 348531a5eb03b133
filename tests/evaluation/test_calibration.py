"""Calibration: the temperature of a known world, figures by hand, and what a calibrated run answers."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
import torch
from scipy.optimize import minimize_scalar

import regard
from regard.errors import RegardError
from regard.evaluation import calibrate, fit_temperature, reliability
from regard.fitting.experiment import uncalibrated

TINY = {"encoder": {"size": 8}, "training": {"steps": 12, "batch_rows": 16, "lr": 0.02}}


def test_the_temperature_of_a_known_world_is_found() -> None:
    rng = np.random.default_rng(3)
    logits = rng.normal(size=(4000, 3)) * 4
    likely = np.exp(logits / 2.5) / np.exp(logits / 2.5).sum(1, keepdims=True)
    true = (rng.random(4000)[:, None] > likely.cumsum(1)).sum(1)

    def cost(temperature: float) -> float:
        scaled = logits / temperature
        return float(-(scaled[np.arange(4000), true] - np.log(np.exp(scaled).sum(1))).mean())

    found = fit_temperature(torch.from_numpy(logits), torch.from_numpy(true))
    assert found == pytest.approx(2.5, rel=0.1)
    assert found == pytest.approx(minimize_scalar(cost, bounds=(0.1, 10), method="bounded").x, rel=1e-4)
    assert reliability(torch.from_numpy(logits), torch.from_numpy(true)).ece > 0.1
    assert reliability(torch.from_numpy(logits / found), torch.from_numpy(true)).ece < 0.03


def test_figures_by_hand() -> None:
    # confidences 0.9 (right), 0.9 (wrong), 0.6 (right); the last row has a class that training never saw
    likely = torch.tensor([[0.9, 0.1], [0.1, 0.9], [0.6, 0.4], [0.6, 0.4]])
    found = reliability(likely.log(), torch.tensor([0, 0, 0, -1]))
    assert found.accuracy == 0.5
    # 0.9 is in the bin from 13/15, 0.6 in that from 9/15: |1/2 − 0.9| · 2/4 + |1/2 − 0.6| · 2/4
    assert found.ece == pytest.approx(0.25, abs=1e-6)
    assert found.brier == pytest.approx((0.02 + 1.62 + 0.32 + (0.52 + 1)) / 4, abs=1e-6)
    assert found.loss == pytest.approx(-(math.log(0.9) + math.log(0.1) + math.log(0.6)) / 3, abs=1e-6)
    assert [one.count for one in found.bins] == [2, 2]


def test_a_calibrated_run_answers_the_same_with_other_probabilities(tmp_path: Path) -> None:
    words = ["good", "bad", "fine", "poor", "film"]
    rows = [(f"{words[n % 5]} {words[n // 5 % 5]} x{n}", "ab"[(n % 5 + n // 7) % 2]) for n in range(80)]
    model = regard.fit(rows, dev=rows[40:], run=tmp_path / "run", quiet=True, **TINY)
    inputs = [source for source, _ in rows[:20]]
    before, loss = model.predict(inputs), model.evaluate(metrics=["loss"]).scores["loss"].value
    found = calibrate(model)
    model.save(tmp_path / "run")
    loaded = regard.load(tmp_path / "run")
    after = loaded.predict(inputs)
    assert [one.text for one in after] == [one.text for one in before]
    for one, other in zip(before, after, strict=True):
        logs = torch.tensor(list(one.probabilities.values())).double().log() / found.temperature
        assert list(other.probabilities.values()) == pytest.approx(torch.softmax(logs, -1).tolist(), abs=1e-5)
    now = loaded.evaluate(metrics=["loss"]).scores["loss"].value
    assert (loss, now) == pytest.approx(
        (found.before["dev"].loss, found.after["dev"].loss), rel=1e-5, abs=1e-7
    )
    assert now <= loss
    again = calibrate(loaded)
    assert again.temperature == pytest.approx(found.temperature, rel=1e-4)
    assert again.before["dev"].ece == pytest.approx(found.before["dev"].ece, abs=1e-6)
    assert uncalibrated(loaded.spec) == uncalibrated(uncalibrated(model.spec)) != loaded.spec


def test_tags_are_calibrated_by_position_and_a_text_is_refused(tmp_path: Path) -> None:
    rows = [{"words": f"a b x{n % 3} a", "tags": "A B C A" if n % 3 else "A B A A"} for n in range(40)]
    spec = {
        "inputs": {"words": {"type": "text"}},
        "outputs": {"tags": {"type": "tags", "of": "words"}},
        "encoder": {"type": "recurrent", "size": 8},
        "decoder": {"type": "tags"},
        "training": {"steps": 4, "batch_rows": 20},
    }
    model = regard.fit(rows, spec=spec, dev=rows[:10], run=tmp_path / "tags", quiet=True)
    found = calibrate(model)
    assert found.before["dev"].count == 40 and found.after["dev"].loss <= found.before["dev"].loss
    assert model.network.decoders["tags"].calibration == found.temperature
    text = {**spec, "outputs": {"tags": {"type": "text"}}, "decoder": {"type": "recurrent", "size": 8}}
    text = {**text, "attention": {"score": "additive", "select": "softmax"}, "training": {"steps": 0}}
    with pytest.raises(RegardError, match="decoders that choose among classes"):
        calibrate(regard.fit(rows, spec=text, dev=rows[:10], run=tmp_path / "text", quiet=True))
