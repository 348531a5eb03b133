"""Trackers, through their real packages: a run that was resumed is one run there, with every figure once. MLflow's
database takes seconds to be made: `bench/machines.py` checks it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from regard.parts import find

ROWS = [{"step": step, "loss": 1.0 / step, "dev.loss": 2.0 / step} for step in (3, 6, 9)]


def test_trackio_has_the_figures_of_a_resumed_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"TRACKIO_DIR": str(tmp_path / "trackio"), "HF_HUB_OFFLINE": "1"}.items():
        monkeypatch.setenv(name, value)
    pytest.importorskip("trackio", reason="trackio is not installed")
    from trackio.sqlite_storage import SQLiteStorage

    monkeypatch.setattr("trackio.utils.TRACKIO_DIR", tmp_path / "trackio", raising=False)
    run = tmp_path / "words"
    run.mkdir()
    (run / "spec.yaml").write_text("encoder: {size: 8}\ntraining: {lr: 0.1}\n")
    part: Any = find("logger", "trackio")
    for step, rows in ((0, ROWS[:2]), (6, ROWS[2:])):
        logger = part(part.Options(project="regard"), run, step)
        for row in rows:
            logger.write(row)
        logger.state = "finished" if step else "stopped"
        logger.close()
    assert SQLiteStorage.get_runs("regard") == ["words"]
    logs = SQLiteStorage.get_logs("regard", "words")
    figures = [(one["step"], one["loss"], one["dev/loss"]) for one in logs if "loss" in one]
    assert figures == [(row["step"], row["loss"], row["dev.loss"]) for row in ROWS]
    assert [one["state"] for one in logs if "state" in one] == ["stopped", "finished"]
    assert SQLiteStorage.get_run_config("regard", "words")["encoder.size"] == 8
