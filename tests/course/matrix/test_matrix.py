"""The mechanism matrix: same budget, same table; rows kept, refused, resumed; attention against the truth."""

from __future__ import annotations

import csv
import io
import json
import os
import signal
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rich.console import Console

import regard
from regard.course.matrix import MECHANISMS, TASKS, Figure, MatrixRow, MatrixTable, MechanismMatrix, find_task
from regard.course.matrix import progress as progress_module
from regard.course.matrix.budget import FEWEST, Pace, pace_of, shared_updates
from regard.course.matrix.matrix import chosen_rows
from regard.course.matrix.plan import EVALUATIONS, row_spec
from regard.course.matrix.summary import summarize
from regard.course.matrix.writing import to_csv, to_html, to_json, to_markdown, write_matrix
from regard.data.sources import open_splits
from regard.errors import RegardError
from regard.evaluation import measure
from regard.metrics import RowMetric, metric
from regard.training import Interrupted

TINY = (
    "data.world.train=40", "data.world.dev=8", "data.world.test=12", "encoder.size=8", "encoder.embedding=8",
    "decoder.size=16", "decoder.embedding=8", "training.batch_tokens=200", "search.max_length=6",
)  # fmt: skip
ROWS = ("start", "uniform", "additive", "oracle")


def tiny(
    folder: Path, only: tuple[str, ...] = ROWS, console: Console | None = None, **options: Any
) -> MechanismMatrix:
    return MechanismMatrix(
        "translation",
        folder=folder,
        only=only,
        console=console or Console(file=io.StringIO()),
        **{"updates": 3, "settings": TINY, **options},
    )


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, MatrixTable]:
    """Four rows, trained without interruption."""
    folder = tmp_path_factory.mktemp("matrix") / "runs"
    return folder, tiny(folder).run()


def timeless(table: MatrixTable) -> MatrixTable:
    return replace(table, rows=tuple(replace(row, seconds=0.0, seconds_per_update=0.0) for row in table.rows))


class Interrupting(Console):
    """Raises KeyboardInterrupt when it prints a line with this text."""

    def __init__(self, line: str) -> None:
        super().__init__(file=io.StringIO())
        self.line = line

    def print(self, *objects: Any, **options: Any) -> None:
        if self.line in str(objects[0]):
            self.line = "\0"
            os.kill(os.getpid(), signal.SIGINT)


def test_an_interrupted_matrix_keeps_its_rows_and_ends_as_an_uninterrupted_one(
    tmp_path: Path, whole: tuple[Path, MatrixTable], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(progress_module, "EVERY", 0.0)
    stopped = tiny(tmp_path, console=Interrupting("uniform (2 of 4) · update 2/3"))
    with pytest.raises(Interrupted):
        stopped.run()
    assert [row.mechanism for row in stopped.table.rows] == ["start"]
    assert stopped.table.waiting == ("uniform", "additive", "oracle")
    began = (tmp_path / "start.json").stat().st_mtime_ns
    again = tiny(tmp_path, only=("uniform", "additive"))
    assert again.table.waiting == ("uniform", "additive")
    again.run()
    ended = tiny(tmp_path)
    assert ended.table.waiting == ("oracle",)
    assert timeless(ended.run()) == timeless(whole[1])
    assert (tmp_path / "start.json").stat().st_mtime_ns == began  # kept, not trained again


def test_the_oracle_looks_right_and_uniform_weights_are_one_by_n(whole: tuple[Path, MatrixTable]) -> None:
    folder, table = whole
    oracle, start = table.row("oracle"), table.row("start")
    assert oracle is not None and start is not None and start.looks is None
    assert oracle.looks == Figure(0.0, 0.0, 0.0, 12)
    looked = regard.load(folder / "uniform").predict("the dog sees the old cat").trace.attention["source"]
    assert np.allclose(looked, 1 / 6)


def test_the_figures_are_those_of_the_trained_models(whole: tuple[Path, MatrixTable]) -> None:
    folder, table = whole
    for name in ("start", "additive"):
        row, model = table.row(name), regard.load(folder / name)
        assert row is not None
        found = measure(model, splits=["test"])
        assert row.score.value == found.scores["bleu"].value
        assert row.score.low <= row.score.value <= row.score.high
        assert sum(one.n for one in row.lengths.values()) == row.score.n == 12
        assert row.updates == 3
        if row.looks is not None:
            lines = found.statistics("aer")
            assert lines is not None and lines.shape == (12, 2)
            assert metric("aer").value(lines.sum(0)) == pytest.approx(found.scores["aer"].value)
            assert row.looks.value == found.scores["aer"].value
    additive, uniform = table.row("additive"), table.row("uniform")
    assert additive is not None and uniform is not None
    # W, U and v of the additive score: memory, state and hidden size 16
    assert additive.parameters - uniform.parameters == 16 * 16 + 16 * 16 + 16


def test_rows_of_another_budget_do_not_come_into_the_same_folder(whole: tuple[Path, MatrixTable]) -> None:
    folder, _ = whole
    for wrong, word in (({"seed": 2}, "--seed"), ({"updates": 4}, "--updates"), ({"settings": ()}, "--set")):
        with pytest.raises(RegardError, match=word):
            tiny(folder, **wrong)
    with pytest.raises(RegardError, match="the task translation"):
        MechanismMatrix("captions", folder=folder)


def test_a_file_that_no_matrix_wrote_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "start.json").write_text("mine", encoding="utf-8")
    with pytest.raises(RegardError, match="does not belong to the matrix"):
        tiny(tmp_path, only=("start",)).run()
    assert [path.name for path in tmp_path.iterdir()] == ["start.json"]
    assert (tmp_path / "start.json").read_text(encoding="utf-8") == "mine"


def test_every_task_has_every_mechanism_or_says_why_not() -> None:
    assert [task.name for task in TASKS] == [
        "translation", "transliteration", "entailment", "captions", "image-questions", "video", "speech", "summary",
        "dialog",
    ]  # fmt: skip
    assert not any(TASKS[0].reason(mechanism) for mechanism in MECHANISMS)
    for task in TASKS:
        assert isinstance(metric(task.metric.rpartition(".")[2]), RowMetric)
        assert bool(task.looks) != bool(task.unaligned)
        for mechanism in MECHANISMS:
            reason = task.reason(mechanism)
            possible = {one.name for one in chosen_rows(task, ())}
            if not reason:
                assert mechanism.name in possible
            else:
                assert reason.endswith(".") and len(reason) < 110
                with pytest.raises(RegardError, match=f"cannot have {mechanism.name}: "):
                    chosen_rows(task, [mechanism.name])


@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.name)
def test_rows_differ_in_what_is_between_encoder_and_decoder_alone(task: Any) -> None:
    specs = {one.name: row_spec(task, one, updates=100, seed=7, settings=()) for one in chosen_rows(task, ())}
    (first, *others) = specs.values()
    for spec in others:
        assert spec.inputs == first.inputs and spec.outputs == first.outputs and spec.data == first.data
        assert spec.training == first.training and spec.search == first.search
    assert first.training.steps == 100 and first.training.seed == 7 and first.training.epochs is None
    assert len({json.dumps(spec.written(), sort_keys=True) for spec in specs.values()}) == len(specs)


def test_a_row_that_cannot_be_trained_leaves_the_others(tmp_path: Path) -> None:
    wrong = (*TINY, "training.start_from=nowhere", "training.steps=1")
    table = tiny(tmp_path, only=("start",), settings=wrong).run()
    assert not table.rows and "nowhere" in table.failed["start"] and not table.waiting
    assert "nowhere" in to_markdown(table)


def test_names_that_are_nearly_right() -> None:
    with pytest.raises(RegardError, match="Did you mean captions"):
        find_task("caption")
    with pytest.raises(RegardError, match="Did you mean additive"):
        chosen_rows(TASKS[0], ["aditive"])


def test_all_rows_together_take_the_minutes_there_are() -> None:
    paces = {"start": Pace(0.1, 1.0), "segments": Pace(0.4, 2.0)}
    updates = shared_updates(paces, 600.0, shares=2.0)
    taken = [sum(pace.cost(count, shares=2.0) for pace in paces.values()) for count in (updates, updates + 1)]
    assert taken[0] <= 600.0 < taken[1]
    # Each row: its updates, its evaluations on dev, and one on test, which is twice as long.
    assert taken[0] >= updates * 0.5 + (EVALUATIONS + 2) * 3.0
    with pytest.raises(RegardError, match="too short"):
        shared_updates(
            paces, (FEWEST - 0.5) * 0.5 + sum(one.fixed(shares=2.0) for one in paces.values()), shares=2.0
        )


def made(name: str, score: float, short: float, long: float, looks: float | None = None) -> MatrixRow:
    def figure(value: float) -> Figure:
        return Figure(value, value - 1.0, value + 1.0, 100)

    lengths = {"17–20": figure(long), "3–6": figure(short)}
    seen = None if looks is None else Figure(looks, looks, looks, 100)
    return MatrixRow(name, figure(score), lengths, seen, 1000, 10, "step 8", 0.05, 1.0, ("decoder.size=8",))


def table_of(*rows: MatrixRow, task: str = "translation") -> MatrixTable:
    return MatrixTable(find_task(task), 1, 10, rows, waiting=("gate",), refused={"local": "<why & not>."})


def test_the_sentence_follows_the_numbers() -> None:
    start, both = made("start", 40.0, 80.0, 9.0), made("both", 45.0, 60.0, 61.0)
    additive, oracle = made("additive", 90.0, 95.0, 70.0, 0.08), made("oracle", 99.0, 99.0, 99.0, 0.0)
    told = summarize(table_of(start, both, additive, oracle))
    assert "with attention has 90.0 [89.0–91.0] (additive), the best without 45.0 [44.0–46.0] (both)" in told
    assert "do not overlap" in told and "both stays within its intervals (60.0 and 61.0)" in told
    assert (
        "additive falls from 95.0 to 70.0" in told
        and "the attention of additive is the best (alignment errors: 8.0 %)" in told
    )
    assert "oracle) the score is 99.0, better than additive" in told
    near = summarize(
        table_of(start, made("additive", 41.0, 20.0, 30.0, 0.5), made("oracle", 41.5, 1.0, 1.0, 0.0))
    )
    assert "their intervals overlap" in near and "additive rises from 20.0 to 30.0" in near
    assert (
        "start falls from 80.0 to 9.0" in near and "oracle) the score is 41.5; the intervals overlap" in near
    )
    assert summarize(table_of(start)) == "BLEU: the only row so far, 40.0 [39.0–41.0] (start)."
    # For word errors, the lowest value is the best.
    errors = summarize(
        table_of(made("start", 0.2, 1, 1), made("both", 0.1, 1, 1), made("dot", 3, 1, 1), task="speech")
    )
    assert "without 10.0" in errors and "(both)" in errors


def test_the_same_numbers_in_every_form(tmp_path: Path) -> None:
    table = table_of(made("start", 40.0, 80.0, 9.0), made("additive", 90.0, 95.0, 70.0, 0.08))
    html, text = to_html(table), to_markdown(table)
    for form in (html, text):
        assert form.rindex("3–6 words") < form.rindex("17–20 words")
        assert "79.0–81.0" in form and "not finished." in form and summarize(table) in form
        assert "Every row has 10 updates" in form and "encoder.size=64" in form
    assert "&lt;why &amp; not&gt;." in html and "<why" not in html
    assert 'style="--w:1.00"' in html and 'style="--w:0.00"' in html  # 95 is the best, 9 the worst
    assert "http" not in html and "prefers-color-scheme:dark" in html
    content = json.loads(to_json(table))
    assert content["rows"][1]["lengths"]["17–20"]["value"] == 70.0 and content["waiting"] == ["gate"]
    lines = list(csv.DictReader(io.StringIO(to_csv(table))))
    assert [(line["mechanism"], line["length"]) for line in lines].count(("additive", "3–6")) == 1
    assert next(line["value"] for line in lines if line["metric"] == "aer") == "0.08"
    write_matrix(table, tmp_path / "matrix.md")
    assert (tmp_path / "matrix.md").read_text(encoding="utf-8") == text
    with pytest.raises(RegardError, match=r"supported are \.html, \.md, \.json, \.csv"):
        write_matrix(table, tmp_path / "matrix.xls")


def test_the_pace_of_a_row_is_measured_and_leaves_nothing(tmp_path: Path) -> None:
    spec = row_spec(TASKS[0], MECHANISMS[0], updates=100, seed=1, settings=TINY)
    pace = pace_of(spec, open_splits(spec), tmp_path, None)
    assert 0.0 < pace.update < 5.0 and 0.0 < pace.evaluation < 60.0
    assert not list(tmp_path.iterdir())
