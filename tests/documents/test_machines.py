"""Every command of docs/machines.md runs as it is printed: one test for each section (see `sections.py`).

A test prepares what its section needs beyond the files of `place`, runs the section, and may check what came of it:

    @runs("Serve a model")
    def test_serve_a_model(place: Place) -> None:
        pytest.importorskip("starlette")
        printed = place.run("Serve a model")
"""

from __future__ import annotations

import csv
import json
import os
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from regard import Model
from regard.fitting.experiment import Experiment
from tests.documents.sections import FENCE, OWNERS, PAGE, SPEC, Place, runs, sections

SERVER = """
import sys
from http.server import HTTPServer, SimpleHTTPRequestHandler

HTTPServer(("127.0.0.1", int(sys.argv[2])), SimpleHTTPRequestHandler).serve_forever()
"""
RUN_ELSEWHERE: set[str] = set()
"""Headings whose blocks another test file runs as they are printed."""


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files and the model of every section, made once."""
    folder, before = tmp_path_factory.mktemp("machines"), Path.cwd()
    words = [f"{number:b}".replace("1", "a").replace("0", "b") for number in range(2, 62)]
    for name, chosen in (("words", words[:48]), ("dev", words[48:])):
        (folder / f"{name}.tsv").write_text("".join(f"{word}\t{word[::-1]}\n" for word in chosen))
    (folder / "inputs.txt").write_text("\n".join(words[:20]) + "\n")
    (folder / "my.yaml").write_text(SPEC.lstrip())
    os.chdir(folder)
    try:
        Experiment.start("my.yaml", run=Path("runs/my"), device="cpu", quiet=True).train()
    finally:
        os.chdir(before)
    return folder


@pytest.fixture
def place(
    made: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    regard: Callable[..., tuple[int, str, str]],
) -> Iterator[Place]:
    folder = tmp_path / "place"
    shutil.copytree(made, folder)
    for file in folder.rglob("*.yaml"):  # the spec of a run has absolute paths
        file.write_text(file.read_text().replace(str(made), str(folder)))
    monkeypatch.chdir(folder)
    opened = Place(folder, regard)
    try:
        yield opened
    finally:
        opened.close()


def test_every_block_of_the_page_is_run() -> None:
    found = sections()
    assert set(found) == set(OWNERS) | RUN_ELSEWHERE
    languages = [block[1] for block in FENCE.finditer(PAGE.read_text(encoding="utf-8"))]
    assert not {"sh", "shell", "console", ""} & set(languages), "a block that no test would run"
    assert sum(map(len, found.values())) == sum(language in ("bash", "python") for language in languages)


def test_a_command_in_a_sentence_is_in_a_block_too() -> None:
    text = PAGE.read_text(encoding="utf-8")
    typed = [command for blocks in sections().values() for block in blocks for command in block.commands]
    for mention in re.findall(r"`(regard [^`]+)`", FENCE.sub("", text)):
        assert any(line.startswith(mention) for line in typed), mention
    assert not re.search(r"^(?:    |\t)\$? ?regard ", FENCE.sub("", text), re.M), "an indented command"


def test_a_section_fails_with_its_command(place: Place) -> None:
    """The mechanism itself: lines in this process, in bash and in the background, and a line that fails."""
    assert set(place.run_line("regard predict runs/my aab").strip()) <= set("ab")
    place.run_line("WORD=aab; echo $WORD > said.txt")
    assert (place.folder / "said.txt").read_text() == "aab\n"
    (place.folder / "server.py").write_text(SERVER)
    place.run_line(place.with_free_ports("python server.py --port 8765 &"))
    assert "said.txt" in place.run_line(place.with_free_ports("curl -s http://127.0.0.1:8765/"))
    assert place.ports["8765"] != "8765" and place.background[0].poll() is None
    place.close()
    assert place.background[0].poll() is not None
    with pytest.raises(AssertionError, match=r"regard show runs/none aab\nended with 2"):
        place.run_line("regard show runs/none aab")
    page = "## A\n```bash\nregard \\\n  one\n# remark\ntwo\n```\n## B\n```text\nno\n```\n"
    assert [block.commands for block in sections(page)["A"]] == [["regard one", "two"]]
    assert set(sections(page)) == {"A"}


@runs("Train on several devices")
def test_train_on_several_devices(place: Place) -> None:
    place.run("Train on several devices")
    with (place.folder / "runs" / "two" / "log.csv").open() as file:
        assert [row["step"] for row in csv.DictReader(file)] == ["3", "6", "9"]
    assert (place.folder / "runs" / "torchrun" / "model.safetensors").is_file()


@runs("Keep track of runs")
def test_keep_track_of_runs(place: Place) -> None:
    """MLflow holds what log.csv holds, in one run that was resumed."""
    tracking = pytest.importorskip("mlflow.tracking")
    place.run("Keep track of runs")
    run = place.folder / "runs" / "flow"
    assert list((place.folder / "runs" / "board" / "tensorboard").glob("events.out.tfevents.*"))
    client = tracking.MlflowClient(tracking_uri=f"sqlite:///{run / 'mlflow.db'}")
    (found,) = client.search_runs([client.get_experiment_by_name("regard").experiment_id])
    assert found.info.status == "FINISHED" and found.info.run_name == "flow"
    assert found.data.tags["team"] == "words" and found.data.params["encoder.size"] == "8"
    with (run / "log.csv").open() as file:
        rows = list(csv.DictReader(file))
    for name in ("loss", "dev.loss"):
        history = client.get_metric_history(found.info.run_id, name)
        assert [one.step for one in history] == [int(row["step"]) for row in rows] == [3, 6, 9]
        assert [one.value for one in history] == pytest.approx([float(row[name]) for row in rows], rel=1e-6)


@runs("Answer many rows")
def test_answer_many_rows(place: Place) -> None:
    pytest.importorskip("ray")
    place.run("Answer many rows")
    whole = (place.folder / "answers.jsonl").read_text().splitlines()
    assert len(whole) == 20
    for folder in ("halves", "by-ray"):
        parts = sorted((place.folder / folder).glob("part-*.jsonl"))
        assert len(parts) == 5
        found = [json.loads(line)["text"] for part in parts for line in part.read_text().splitlines()]
        assert found == [json.loads(line)["text"] for line in whole]


@runs("Files from anywhere")
def test_files_from_anywhere(place: Place) -> None:
    printed = place.run("Files from anywhere")
    assert len(printed[-1].printed.splitlines()) == 20
    recorded = json.loads((place.folder / "runs" / "remote" / "metrics.json").read_text())["data"]["train"]
    assert next(iter(recorded)).startswith("http://127.0.0.1:")


@runs("Search over settings")
def test_search_over_settings(place: Place) -> None:
    pytest.importorskip("optuna")
    printed = place.run("Search over settings")
    assert all("best  trial" in one.printed for one in printed)
    for sweep, count in (("my", 4), ("grid", 2)):
        assert len(list((place.folder / "sweeps" / sweep / "trials").iterdir())) == count
        assert (place.folder / "sweeps" / sweep / "sweep.html").is_file()


@runs("Export a model")
def test_export_a_model(place: Place) -> None:
    for package in ("onnxruntime", "onnxscript"):
        pytest.importorskip(package)
    from tests.export import onnx_checks

    place.run("Export a model")
    exported = place.folder / "my-onnx"
    onnx_checks.folder_told(exported)
    onnx_checks.axes_named(exported)
    words = ["a", "b", "ab", "bab", "aabbab", "babababababababababab"]
    onnx_checks.answers_alike(Model.load("runs/my", device="cpu"), exported, words, beam=3)


@runs("Serve a model")
def test_serve_a_model(place: Place) -> None:
    for needed in ("starlette", "uvicorn", "prometheus_client", "tritonclient.http"):
        pytest.importorskip(needed)
    printed = {ran.command: ran.printed for ran in place.run("Serve a model")}
    answer = place.run_line("regard predict runs/my aab").strip()
    asked = [text for command, text in printed.items() if command.startswith("regard ask")]
    assert asked[0].strip() == asked[2].strip() == answer
    assert len(asked[1].splitlines()) > 3
    counted = next(text for command, text in printed.items() if "/metrics" in command)
    assert 'route="/predict",status="200"} 3.0' in counted
