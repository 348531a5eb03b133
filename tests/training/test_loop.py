"""The training loop: evaluation, patience, averages, failures, log and progress."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from rich.console import Console
from safetensors.torch import load_file
from torch import nn

from regard.data.batch import Batch
from regard.errors import RegardError
from regard.nn.loss import Loss
from regard.training import make_accelerator, make_progress, seed_everything
from regard.training.checkpoint import STATE, read
from regard.training.log import UpdateReport
from regard.training.progress import Estimate, clock

from .tiny import TinyBatches, TinyNetwork, train


class Line(nn.Module):
    """One weight w; the loss of every batch is w, so that plain gradient descent lowers it by the rate each step."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(()))

    def forward(self, batch: Batch) -> dict[str, Loss]:
        return {"line": Loss(self.weight * len(batch), torch.tensor(len(batch)))}


LINE = {"optimizer": "sgd", "lr": 1.0, "clip": None}


def measured(values: list[float], name: str = "loss") -> Callable[[], dict[str, float]]:
    left = iter(values)
    return lambda: {name: next(left)}


def rows(run: Path) -> list[dict[str, str]]:
    with (run / "log.csv").open() as file:
        return list(csv.DictReader(file))


def final_weight(run: Path) -> float:
    return load_file(run / "model.safetensors")["weight"].item()


def test_it_learns(tmp_path: Path, learning_seed: int) -> None:
    result = train(tmp_path, epochs=6, seed=1 + learning_seed)
    losses = [float(row["loss.tags"]) for row in rows(tmp_path) if row["loss.tags"]]
    assert losses[0] > 1.5 and losses[-1] < 0.1
    assert result.stopped_because == "epochs" and result.steps == 72 and result.metrics["loss"] < 0.05


@pytest.mark.parametrize(("metric", "better"), [("loss", -1), ("bleu", 1)])
def test_patience_stops_and_the_best_weights_stay(tmp_path: Path, metric: str, better: int) -> None:
    values = [5.0, 5.0 + better, 5.0 + 2 * better, 5.0, 5.0 + 2 * better, 9.0 - 9 * better]
    network = Line()
    evaluate = measured(values, metric)
    options = {**LINE, "evaluate_every": 2, "patience": 2, "metric": metric}
    result = train(tmp_path, network=network, evaluate=evaluate, **options)
    assert (result.stopped_because, result.steps, result.kept) == ("patience", 10, "step 10")
    assert result.metrics == {metric: 5.0 + 2 * better}
    assert network.weight.item() == final_weight(tmp_path) == -10.0  # of two equal values, the later
    assert [row[f"dev.{metric}"] for row in rows(tmp_path) if row[f"dev.{metric}"]] == [
        f"{value:.8g}" for value in values[:5]
    ]


def test_steps_alone_are_not_cut_short_by_epochs(tmp_path: Path) -> None:
    """An epoch of this data is 12 updates."""
    usual = train(tmp_path / "usual", evaluate=None, epochs=None)
    assert (usual.stopped_because, usual.steps) == ("epochs", 120)
    longer = train(tmp_path / "longer", evaluate=None, epochs=None, steps=250)
    assert (longer.stopped_because, longer.steps) == ("steps", 250)


def test_steps_end_a_run_inside_an_epoch(tmp_path: Path) -> None:
    result = train(tmp_path, network=Line(), evaluate=None, steps=7, **LINE)
    assert (result.stopped_because, result.steps, result.metrics) == ("steps", 7, {})
    assert final_weight(tmp_path) == -7.0


def test_the_mean_of_the_best_weights_is_kept_when_it_is_no_worse(tmp_path: Path) -> None:
    # evaluations at steps 1 to 5; the three best are steps 2, 3 and 5, whose weights have the mean −10/3
    network = Line()
    evaluate = measured([9, 2, 1, 8, 3, 0.5])
    result = train(tmp_path, network=network, evaluate=evaluate, steps=5, evaluate_every=1, average=3, **LINE)
    assert result.kept == "mean of steps 2, 3, 5" and result.metrics == {"loss": 0.5}
    assert final_weight(tmp_path) == pytest.approx(-10 / 3)


def test_a_worse_mean_gives_way_to_the_best(tmp_path: Path) -> None:
    network = Line()
    evaluate = measured([9, 2, 1, 8, 3, 1.5])
    result = train(tmp_path, network=network, evaluate=evaluate, steps=5, evaluate_every=1, average=3, **LINE)
    assert result.kept == "step 3" and final_weight(tmp_path) == network.weight.item() == -3.0
    assert len(list((tmp_path / "state/kept").iterdir())) == 3


def test_without_evaluation_the_last_epochs_are_averaged(tmp_path: Path) -> None:
    result = train(tmp_path, network=Line(), evaluate=None, epochs=4, average=2, **LINE)
    assert result.kept == "mean of steps 36, 48" and final_weight(tmp_path) == -42.0


def test_the_moving_average_is_what_is_measured_and_kept(tmp_path: Path) -> None:
    network = Line()
    seen: list[float] = []

    def evaluate() -> dict[str, float]:
        seen.append(network.weight.item())
        return {"loss": -float(len(seen))}

    train(tmp_path, network=network, evaluate=evaluate, steps=3, evaluate_every=1, ema=0.5, **LINE)
    average, expected = 0.0, []
    for step in (1, 2, 3):
        decay = min(0.5, (1 + step) / (10 + step))
        average = decay * average + (1 - decay) * -step
        expected.append(average)
    assert seen == pytest.approx(expected)
    assert final_weight(tmp_path) == pytest.approx(expected[-1])


def test_measuring_more_often_does_not_change_the_weights(tmp_path: Path) -> None:
    train(tmp_path / "often", evaluate_every=1, epochs=1)
    train(tmp_path / "once", epochs=1)
    often, once = read(tmp_path / "often" / STATE)[0], read(tmp_path / "once" / STATE)[0]
    assert all(torch.equal(often[name], once[name]) for name in once if name.startswith("weights/"))


def test_a_metric_nobody_measures_is_named(tmp_path: Path) -> None:
    with pytest.raises(
        RegardError, match=r"training\.metric: the evaluation does not compute 'bleu', only loss"
    ):
        train(tmp_path, metric="bleu", epochs=1)


class Poisoned(TinyNetwork):
    """Its loss is NaN whenever a given row is in the batch."""

    def forward(self, batch: Batch) -> dict[str, Loss]:
        losses = super().forward(batch)
        if 13 in batch.rows:
            losses["tags"] = Loss(losses["tags"].total * float("nan"), losses["tags"].count)
        return losses


def test_a_loss_that_is_no_number_names_the_batch_and_spares_the_checkpoint(tmp_path: Path) -> None:
    seed_everything(1)
    epoch = [batch.rows for batch in TinyBatches().epoch(0)]
    number = next(index for index, batch in enumerate(epoch) if 13 in batch)
    with pytest.raises(RegardError) as stopped:
        train(tmp_path, network=Poisoned(), checkpoint_every=1, locate=lambda row: f"train.tsv:{row + 1}")
    message = str(stopped.value)
    assert (
        f"epoch 1, batch {number + 1} (step {number + 1}), rows train.tsv:{epoch[number][0] + 1}" in message
    )
    assert "the loss is not a finite number" in message and "lower training.lr" in message
    tensors, values = read(tmp_path / STATE)
    assert values["position"]["step"] == number
    assert all(tensor.isfinite().all() for name, tensor in tensors.items() if name.startswith("weights/"))


class Exploding(Line):
    """A finite loss with an infinite gradient: the square root at zero."""

    def forward(self, batch: Batch) -> dict[str, Loss]:
        return {"line": Loss(self.weight.sqrt(), torch.tensor(1))}


def test_a_gradient_that_is_no_number_stops_the_run(tmp_path: Path) -> None:
    with pytest.raises(RegardError, match=r"batch 1 \(step 1\).*the gradient is not a finite number"):
        train(tmp_path, network=Exploding(), evaluate=None)


class Greedy(Line):
    def __init__(self, error: Exception) -> None:
        super().__init__()
        self.error = error

    def forward(self, batch: Batch) -> dict[str, Loss]:
        raise self.error


@pytest.mark.parametrize(
    "error",
    [
        torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2 GiB"),
        RuntimeError(
            "[enforce fail] DefaultCPUAllocator: can't allocate memory: you tried to allocate 8 bytes"
        ),
        MemoryError(),
    ],
)
@pytest.mark.parametrize(
    ("limit", "advice"), [({"batch_tokens": 50}, "batch_tokens: 25"), ({"batch_rows": 8}, "batch_rows: 4")]
)
def test_out_of_memory_says_which_cost_to_try(
    tmp_path: Path, error: Exception, limit: dict[str, int], advice: str
) -> None:
    with pytest.raises(
        RegardError, match=rf"out of memory with a batch of 8 rows.*Try training\.{advice};.*accumulate: 2"
    ):
        train(tmp_path, network=Greedy(error), **limit)


def test_other_errors_are_left_alone(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match="shapes do not agree"):
        train(tmp_path, network=Greedy(RuntimeError("shapes do not agree")))


def test_no_batches_is_said(tmp_path: Path) -> None:
    with pytest.raises(RegardError, match="contain no batch"):
        train(tmp_path, batches=TinyBatches(rows=0))


def test_the_log_has_rate_loss_and_gradient_norm(tmp_path: Path) -> None:
    schedule = {"type": "constant", "warmup": 20}
    train(tmp_path, network=Line(), evaluate=None, epochs=2, schedule=schedule, **LINE)
    table = rows(tmp_path)
    assert [row["step"] for row in table] == ["10", "12", "20", "24"]
    assert [row["epoch"] for row in table] == ["1", "1", "2", "2"]
    assert [float(row["rate"]) for row in table] == pytest.approx([0.5, 0.6, 1.0, 1.0])
    assert [float(row["gradient_norm"]) for row in table] == [1.0] * 4
    # Before step t the weight is −(0 + 1 + … + (t − 1))/20; a log row is the mean over its steps.
    expected = [-sum(sum(range(1, t)) / 20 for t in steps) / len(steps) for steps in (range(1, 11), (11, 12))]
    assert [float(row["loss"]) for row in table[:2]] == pytest.approx(expected, abs=1e-6)


def test_clipping_limits_the_step(tmp_path: Path) -> None:
    train(tmp_path, network=Line(), evaluate=None, steps=4, optimizer="sgd", lr=1.0, clip=0.25)
    assert final_weight(tmp_path) == pytest.approx(-1.0, abs=1e-4)


def test_rows_that_are_written_late_say_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As on an accelerator, where training does not wait for the figures of every tenth update."""
    train(tmp_path / "at once", epochs=6, evaluate_every=25)
    begin = UpdateReport.__init__

    def late(self: UpdateReport, *given: object, **named: object) -> None:
        begin(self, *given, **named)  # type: ignore[arg-type]
        self.late = True

    monkeypatch.setattr(UpdateReport, "__init__", late)
    train(tmp_path / "late", epochs=6, evaluate_every=25)
    timed = ("seconds", "tokens_per_second")
    found = [
        [{key: value for key, value in row.items() if key not in timed} for row in rows(tmp_path / name)]
        for name in ("at once", "late")
    ]
    assert found[0] == found[1] and [row["step"] for row in found[0]][:4] == ["10", "20", "25", "30"]


def test_tensorboard_gets_what_the_log_gets(tmp_path: Path) -> None:
    pytest.importorskip("tensorboard")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    train(tmp_path, network=Line(), evaluate=measured([3.0]), epochs=1, loggers=["tensorboard"], **LINE)
    events = EventAccumulator(str(tmp_path / "tensorboard")).Reload()
    assert [(event.step, event.value) for event in events.Scalars("dev/loss")] == [(12, 3.0)]


@pytest.mark.parametrize("kind", ["bar", "lines"])
def test_progress_shows_loss_speed_and_metric(tmp_path: Path, kind: str) -> None:
    text = io.StringIO()
    progress = make_progress(kind, Console(file=text, force_terminal=kind == "bar", width=140))
    if kind == "lines":
        progress.every = 0.0
    train(tmp_path, progress=progress, epochs=2)
    shown = text.getvalue()
    assert "tokens/s" in shown and "loss" in shown and "left" in shown and "elapsed" in shown
    assert re.search(r"step \d+/24 · epoch \d · loss ", shown)
    if kind == "bar":
        assert "\x1b[2K" in shown[shown.rindex("tokens/s") :]  # the bar is erased at the end
    assert "step 12  dev loss " in shown and "(best so far)" in shown


def test_the_time_left_does_not_count_what_happens_once() -> None:
    """Kernels are compiled in the first updates; their time must not be extrapolated to the others."""
    estimate = Estimate()
    estimate.start(0, 300)
    estimate.update(1, 60.0)  # the first update took a minute, all others a tenth of a second
    assert estimate.left(60.0) is None
    for step in range(2, 21):
        estimate.update(step, 60.0 + 0.1 * (step - 1))
    assert estimate.left(61.9) == pytest.approx(28.0)
    assert estimate.left(63.9) == pytest.approx(26.0)  # the estimate counts down between two reports
    late = Estimate()
    late.start(0, 1148)
    now = 0.0
    for step in range(1, 401):  # in the first updates, new shapes are compiled in five seconds each
        now += 5.0 if step <= 12 else 0.1
        late.update(step, now)
    assert late.left(now) == pytest.approx(74.8)
    assert [clock(seconds) for seconds in (3, 41.2, 725, 10807)] == ["0:03", "0:41", "12:05", "3:00:07"]


def test_progress_is_lines_where_there_is_no_terminal() -> None:
    kinds = [
        type(make_progress("auto", Console(file=io.StringIO(), force_terminal=here)))
        for here in (True, False)
    ]
    assert [kind.__name__ for kind in kinds] == ["BarProgress", "LineProgress"]


def test_bf16_trains_in_reduced_precision(tmp_path: Path) -> None:
    kinds: set[torch.dtype] = set()

    class Watched(TinyNetwork):
        def __init__(self) -> None:
            super().__init__()
            self.tags.register_forward_hook(lambda module, inputs, output: kinds.add(output.dtype))

    train(tmp_path, network=Watched(), evaluate=None, epochs=1, precision="bf16")
    assert kinds == {torch.bfloat16}
    assert all(tensor.dtype == torch.float32 for tensor in load_file(tmp_path / "model.safetensors").values())


@pytest.mark.parametrize("precision, inside", [("fp32", "highest"), ("tf32", "high"), ("bf16", "high")])
def test_the_precision_of_products_is_the_callers_again_afterwards(
    tmp_path: Path, precision: str, inside: str
) -> None:
    seen: set[str] = set()

    class Watched(Line):
        def forward(self, batch: Batch) -> dict[str, Loss]:
            seen.add(torch.get_float32_matmul_precision())
            return super().forward(batch)

    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("medium")
    try:
        train(tmp_path, network=Watched(), evaluate=None, epochs=1, precision=precision)
        assert (seen, torch.get_float32_matmul_precision()) == ({inside}, "medium")
    finally:
        torch.set_float32_matmul_precision(before)


def test_fp16_on_a_cpu_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RegardError, match=r"training\.precision: fp16 needs a GPU\. Use bf16"):
        train(tmp_path, precision="fp16")


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is one")
def test_a_device_that_is_not_there_is_refused() -> None:
    with pytest.raises(RegardError, match="'cuda' cannot be used"):
        make_accelerator("fp32", "cuda")
