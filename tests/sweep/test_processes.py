"""Two processes on one study, one of them killed with -9: no trial is lost or done twice, and scores are repeated."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

from tests.sweep.postgres import missing, postgres

ROOT = Path(__file__).parents[2]
TRIALS = 4
pytestmark = pytest.mark.skipif(os.name == "nt", reason="processes are forked")


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Any]]:
    """What two processes left on SQLite, and on a PostgreSQL where there is one."""
    folder = tmp_path_factory.mktemp("processes")
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT)}
    with nullcontext("") if missing() else postgres() as url:
        done = subprocess.run(
            [sys.executable, "-m", "tests.sweep.forked", str(folder), *([url] if url else [])],
            cwd=ROOT,
            env=environment,
            capture_output=True,
            text=True,
            timeout=300,
        )
    assert done.returncode == 0, done.stderr
    yield {"folder": folder, **json.loads(done.stdout.splitlines()[-1])}


def check(found: dict[str, Any], sweep: Path) -> None:
    assert found["killed"] >= 0
    assert found["states"] == ["COMPLETE"] * TRIALS
    assert len(set(found["settings"])) == TRIALS
    for swept, alone in found["alone"].values():
        assert swept == alone
    assert found["command"] in found["printed"]
    assert sorted(path.name for path in (sweep / "trials").iterdir()) == [f"{n:04d}" for n in range(TRIALS)]
    for log in (sweep / "trials").glob("*/seed-1/log.csv"):
        steps = [int(row.split(",")[0]) for row in log.read_text().splitlines()[1:]]
        assert steps == sorted(steps)
        assert steps[-1] == 18  # 3 epochs of 120 rows in batches of 20


def test_a_killed_process_loses_nothing(found: dict[str, Any]) -> None:
    check(found["sqlite"], found["folder"] / "sqlite/sweeps/small")


@pytest.mark.skipif(bool(missing()), reason=missing())
def test_a_killed_process_loses_nothing_on_postgresql(found: dict[str, Any]) -> None:
    sweep = found["folder"] / "database/sweeps/small"
    check(found["database"], sweep)
    assert not (sweep / "study.db").exists()
