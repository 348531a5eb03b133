"""Every command of docs/machines.md, run as it is printed.

    python bench/machines.py
    python bench/machines.py --only "Serve a model" --json machines.json

A section is run in a folder of its own, which has

    words.tsv, dev.tsv   pairs: a word, and the same word backwards
    inputs.txt           20 words, one in a line
    my.yaml              the spec of a small model of these files
    runs/my              the trained model

A block of bash is given to bash line by line. A line that ends in `&` runs in the background until the section ends; if
it names a port (`--port 8000`), the next line waits until something answers there. Every port on the page is replaced
by a free one. A block of Python is a process of its own. What came of a section is checked. Exit status 1 if a command
fails or a check does.
"""

from __future__ import annotations

import argparse
import csv
import importlib.util
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from written import parse, write_json

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from tests.documents.sections import PAGE, SPEC, Block, sections

ROOT = Path(__file__).resolve().parents[1]
PORT = re.compile(r"(?:--port[ =]|http\.server |(?:127\.0\.0\.1|localhost):)(\d{4,5})\b")
PATIENCE = 300.0
PROGRAMS = {
    "regard": "-m regard",
    "python": "",
    "torchrun": "-m torch.distributed.run",
}
"""Programs of the page, as arguments of this Python."""
NEEDED = {
    "Search over settings": ("optuna",),
    "Answer many rows": ("ray",),
    "Serve a model": ("starlette", "uvicorn", "prometheus_client", "tritonclient"),
    "Export a model": ("onnx", "onnxscript", "onnxruntime"),
    "Keep track of runs": ("mlflow", "tensorboard"),
}
"""Packages without which a section is skipped, with a line that says so."""


class Failed(Exception):
    """A command that failed, with what it printed."""


class Place:
    """A folder in which the commands of a section are run."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.ports: dict[str, str] = {}
        self.background: list[subprocess.Popen[str]] = []
        programs = folder / ".programs"
        programs.mkdir()
        for name, arguments in PROGRAMS.items():
            (programs / name).write_text(f'#!/bin/sh\nexec "{sys.executable}" {arguments} "$@"\n')
            (programs / name).chmod(0o755)
        self.environment = os.environ | {
            "OMP_NUM_THREADS": "1",
            "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}",
            "PYTHONPATH": str(ROOT),
            "REGARD_CACHE": str(folder / ".cache"),
            "TORCH_CPP_LOG_LEVEL": "ERROR",
        }

    def run(self, blocks: list[Block]) -> dict[str, str]:
        """Run blocks in order: {command: what it printed}."""
        printed = {}
        for block in blocks:
            if block.language == "python":
                self._run(
                    [sys.executable, "-c", self.with_free_ports(block.text)], f"{PAGE.name}:{block.line}"
                )
                continue
            for command in block.commands:
                printed[command] = self.run_line(self.with_free_ports(command))
        return printed

    def run_line(self, line: str) -> str:
        """Run one line; its standard output."""
        if line.endswith("&"):
            self._start(line.removesuffix("&").strip())
            return ""
        return self._run(["bash", "-c", line], line)

    def _run(self, words: list[str], told: str) -> str:
        process = subprocess.Popen(
            words, cwd=self.folder, env=self.environment, text=True, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, start_new_session=True,
        )  # fmt: skip
        try:
            printed, said = process.communicate(timeout=PATIENCE)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            raise
        if process.returncode:
            raise Failed(f"{told}\nended with {process.returncode}\n{printed}\n{said}")
        return printed

    def with_free_ports(self, text: str) -> str:
        return PORT.sub(lambda found: found[0].replace(found[1], self._free(found[1])), text)

    def _free(self, port: str) -> str:
        if port not in self.ports:
            with socket.socket() as probe:
                probe.bind(("127.0.0.1", 0))
                self.ports[port] = str(probe.getsockname()[1])
        return self.ports[port]

    def _start(self, line: str) -> None:
        with (self.folder / f".background-{len(self.background)}").open("w") as said:
            process = subprocess.Popen(
                ["bash", "-c", line], cwd=self.folder, env=self.environment, text=True, stdout=said,
                stderr=subprocess.STDOUT, start_new_session=True,
            )  # fmt: skip
        self.background.append(process)
        if named := PORT.search(line):
            _await_answer(int(named[1]), process, line, Path(said.name))

    def close(self) -> None:
        """End what runs in the background."""
        for process in self.background:
            for number in (signal.SIGTERM, signal.SIGKILL):
                try:
                    os.killpg(process.pid, number)
                    process.wait(timeout=10)
                except (ProcessLookupError, PermissionError, subprocess.TimeoutExpired):
                    continue


def _await_answer(port: int, process: subprocess.Popen[str], line: str, said: Path) -> None:
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end and process.poll() is None:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
            return
        except OSError:
            time.sleep(0.05)
    raise Failed(f"{line}\nnothing answers at port {port}\n{said.read_text()}")


Check = Callable[[Place, dict[str, str]], None]
CHECKS: dict[str, Check] = {}
"""Heading → what its section must have left."""


def checks(heading: str) -> Callable[[Check], Check]:
    def named(check: Check) -> Check:
        CHECKS[heading] = check
        return check

    return named


def rows_of(path: Path) -> list[dict[str, str]]:
    with path.open() as file:
        return list(csv.DictReader(file))


@checks("Train on several devices")
def check_devices(place: Place, printed: dict[str, str]) -> None:
    assert [row["step"] for row in rows_of(place.folder / "runs/two/log.csv")] == ["3", "6", "9"]
    assert (place.folder / "runs/torchrun/model.safetensors").is_file()


@checks("Search over settings")
def check_sweep(place: Place, printed: dict[str, str]) -> None:
    assert all("best  trial" in text for text in printed.values())
    for sweep, count in (("my", 4), ("grid", 2)):
        assert len(list((place.folder / "sweeps" / sweep / "trials").iterdir())) == count
        assert (place.folder / "sweeps" / sweep / "sweep.html").is_file()


@checks("Answer many rows")
def check_shards(place: Place, printed: dict[str, str]) -> None:
    whole = [json.loads(line)["text"] for line in (place.folder / "answers.jsonl").read_text().splitlines()]
    assert len(whole) == 20
    for folder in ("halves", "by-ray"):
        parts = sorted((place.folder / folder).glob("part-*.jsonl"))
        assert len(parts) == 5
        assert [json.loads(line)["text"] for part in parts for line in part.read_text().splitlines()] == whole


@checks("Files from anywhere")
def check_files(place: Place, printed: dict[str, str]) -> None:
    assert len(list(printed.values())[-1].splitlines()) == 20
    recorded = json.loads((place.folder / "runs/remote/metrics.json").read_text())["data"]["train"]
    assert next(iter(recorded)).startswith("http://127.0.0.1:")


@checks("Serve a model")
def check_serve(place: Place, printed: dict[str, str]) -> None:
    answer = place.run_line("regard predict runs/my aab").strip()
    asked = [text for command, text in printed.items() if command.startswith("regard ask")]
    assert asked[0].strip() == asked[2].strip() == answer
    assert len(asked[1].splitlines()) > 3
    counted = next(text for command, text in printed.items() if "/metrics" in command)
    assert 'route="/predict",status="200"} 3.0' in counted


@checks("Export a model")
def check_export(place: Place, printed: dict[str, str]) -> None:
    from regard import Model
    from tests.export import onnx_checks

    exported = place.folder / "my-onnx"
    onnx_checks.folder_told(exported)
    onnx_checks.axes_named(exported)
    words = ["a", "b", "ab", "bab", "aabbab", "babababababababababab"]
    onnx_checks.answers_alike(Model.load(place.folder / "runs/my", device="cpu"), exported, words, beam=3)


@checks("Keep track of runs")
def check_trackers(place: Place, printed: dict[str, str]) -> None:
    """MLflow holds what log.csv holds, in one run that was resumed."""
    from mlflow.tracking import MlflowClient

    run = place.folder / "runs/flow"
    assert list((place.folder / "runs/board/tensorboard").glob("events.out.tfevents.*"))
    client = MlflowClient(tracking_uri=f"sqlite:///{run / 'mlflow.db'}")
    (found,) = client.search_runs([client.get_experiment_by_name("regard").experiment_id])
    assert found.info.status == "FINISHED" and found.info.run_name == "flow"
    assert found.data.tags["team"] == "words" and found.data.params["encoder.size"] == "8"
    rows = rows_of(run / "log.csv")
    for name in ("loss", "dev.loss"):
        history = client.get_metric_history(found.info.run_id, name)
        assert [one.step for one in history] == [int(row["step"]) for row in rows] == [3, 6, 9]
        assert all(abs(one.value - float(row[name])) < 1e-6 for one, row in zip(history, rows, strict=True))


def made(folder: Path) -> None:
    """The files and the model of every section."""
    folder.mkdir()
    words = [f"{number:b}".replace("1", "a").replace("0", "b") for number in range(2, 62)]
    for name, chosen in (("words", words[:48]), ("dev", words[48:])):
        (folder / f"{name}.tsv").write_text("".join(f"{word}\t{word[::-1]}\n" for word in chosen))
    (folder / "inputs.txt").write_text("\n".join(words[:20]) + "\n")
    (folder / "my.yaml").write_text(SPEC.lstrip())


def measured(heading: str, blocks: list[Block], folder: Path, run: Path) -> dict[str, Any]:
    """Run a section and check what came of it."""
    commands = sum(len(block.commands) if block.language == "bash" else 1 for block in blocks)
    row: dict[str, Any] = {"section": heading, "commands": commands, "seconds": 0.0, "told": ""}
    absent = [name for name in NEEDED.get(heading, ()) if importlib.util.find_spec(name) is None]
    if absent:
        return row | {"verdict": "skipped", "told": f"not installed: {', '.join(absent)}"}
    made(folder)
    shutil.copytree(run, folder / "runs/my")
    for file in (folder / "runs").rglob("*.yaml"):  # the spec of a run has absolute paths
        file.write_text(file.read_text().replace(str(run.parents[1]), str(folder)))
    place, began = Place(folder), time.monotonic()
    try:
        CHECKS[heading](place, place.run(blocks))
        row["verdict"] = "ok"
    except (Failed, AssertionError, subprocess.TimeoutExpired) as error:
        row |= {"verdict": "FAILED", "told": f"{type(error).__name__}: {error}"}
    finally:
        place.close()
    return row | {"seconds": round(time.monotonic() - began, 1)}


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", action="append", choices=list(sections()), help="only this section")
    given = parse(parser)
    found = []
    with tempfile.TemporaryDirectory(prefix="regard-machines-") as temporary:
        base = Path(temporary) / "base"
        made(base)
        Place(base).run_line("regard train my.yaml -o runs/my --quiet --no-report --device cpu")
        for number, (heading, blocks) in enumerate(sections().items()):
            if given.only is None or heading in given.only:
                found.append(measured(heading, blocks, Path(temporary) / str(number), base / "runs/my"))
                one = found[-1]
                told = f"{heading:28}{one['commands']:3} commands {one['seconds']:7.1f} s"
                print(f"{told}  {one['verdict']:8}{one['told']}", flush=True)
    write_json(given.json, found)
    return 0 if all(one["verdict"] != "FAILED" for one in found) else 1


if __name__ == "__main__":
    sys.exit(main())
