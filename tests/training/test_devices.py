"""Processes of one training: started, ended and resumed together, with the losses of a single one."""

from __future__ import annotations

import csv
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch

from regard.errors import RegardError
from regard.training.launch import DESERTED, LaunchedProcesses
from regard.training.state import divided, joined

ROOT = Path(__file__).parents[2]
BROKEN = "import os, sys, time\nif os.environ['RANK'] == '1': sys.exit('it is full')\ntime.sleep(60)"
KILLED = "import os, time\nif os.environ['RANK'] == '1': os.kill(os.getpid(), 9)\ntime.sleep(60)"
PLAINLY = "import sys\nprint('wrong file', file=sys.stderr)\nsys.exit(2)"


def launched(program: str, processes: int = 2) -> int:
    return LaunchedProcesses([sys.executable, "-c", program], processes, gpus=False).run(remedy="Resume it.")


def figures(run: Path) -> dict[tuple[str, str], float]:
    with (run / "log.csv").open() as file:
        rows = list(csv.DictReader(file))
    return {
        (row["step"], name): float(row[name]) for row in rows for name in ("loss", "dev.loss") if row[name]
    }


@pytest.mark.thorough
def test_two_processes_make_the_losses_of_one_also_after_a_kill(tmp_path: Path) -> None:
    command = [sys.executable, str(ROOT / "bench" / "devices.py"), "--small", "--steps", "20"]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    table = tmp_path / "table.json"
    done = subprocess.run(
        [*command, "--folder", str(tmp_path), "--json", str(table)], env=environment, text=True,
        capture_output=True, timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert len(json.loads(table.read_text())) == 5
    for name, others in {"stream": ["two", "resumed-1"], "bucketed": ["two"]}.items():
        one = figures(tmp_path / "one" / name)
        assert len(one) == 4
        for other in others:
            assert figures(tmp_path / other / name) == pytest.approx(one, rel=1e-5, abs=1e-5)


def test_the_first_that_fails_is_named_with_its_last_words() -> None:
    began = time.monotonic()
    with pytest.raises(
        RegardError, match=r"process 1 of 2 ended with exit code 1.*:\n  it is full Resume it\."
    ):
        launched(BROKEN)
    with pytest.raises(
        RegardError, match=r"process 1 of 2 was killed by SIGKILL, perhaps because memory ran out"
    ):
        launched(KILLED)
    assert time.monotonic() - began < 30


def test_a_mistake_of_the_user_is_said_once(capfd: pytest.CaptureFixture[str]) -> None:
    assert launched(PLAINLY) == 2
    assert capfd.readouterr().err == "wrong file\n"
    assert launched("pass") == 0
    assert launched(f"import os, sys; sys.exit({DESERTED} if os.environ['RANK'] == '1' else 2)") == 2


def test_no_process_outlives_the_one_that_started_it(tmp_path: Path) -> None:
    child = (
        "import os, time, pathlib\n"
        "from regard.training.launch import end_with_parent\n"
        "end_with_parent()\n"
        f"pathlib.Path({str(tmp_path)!r}, os.environ['RANK']).write_text(str(os.getpid()))\n"
        "time.sleep(60)"
    )
    starter = (
        "import sys\nfrom regard.training.launch import LaunchedProcesses\n"
        f"LaunchedProcesses([sys.executable, '-c', {child!r}], 2, gpus=False).run(remedy='')"
    )
    parent = subprocess.Popen([sys.executable, "-c", starter], cwd=ROOT)
    end = time.monotonic() + 60
    while len(ids := [path.read_text() for path in tmp_path.iterdir()]) < 2 or not all(ids):
        assert time.monotonic() < end
        time.sleep(0.05)
    parent.send_signal(signal.SIGKILL)
    parent.wait()
    while any(alive(int(one)) for one in ids):
        assert time.monotonic() < end
        time.sleep(0.05)


def alive(process: int) -> bool:
    try:
        state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"


@pytest.mark.parametrize("rows", [1, 5, 6])
def test_carried_states_belong_to_rows_and_not_to_processes(rows: int) -> None:
    whole = {"text/0": torch.arange(rows * 3.0).view(rows, 3)}
    for processes in (1, 2, 4):
        parts = [divided(whole, rank, processes) for rank in range(processes)]
        assert all(len(part["text/0"]) for part in parts)
        assert torch.equal(joined(parts, rows)["text/0"], whole["text/0"])
