"""Checks of optimizers, schedules, curricula and loggers."""

from __future__ import annotations

import json
import math
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import torch

from regard.testing.report import PartReport
from regard.training.checkpoint import pack_optimizer, unpack_optimizer
from regard.training.optimizers import make_optimizer
from regard.training.schedules import make_schedule

STEPS = 40


def check_optimizer(report: PartReport, options: Any) -> None:
    inputs = torch.linspace(-1, 1, 12).view(4, 3)

    def steps(network: torch.nn.Module, optimizer: Any, count: int) -> float:
        loss = torch.zeros(())
        for _ in range(count):
            for group in optimizer.param_groups:
                group["lr"] = 0.01
            optimizer.zero_grad()
            loss = (network(inputs) - inputs).square().sum()
            loss.backward()
            optimizer.step()
        return float(loss.detach())

    networks = [torch.nn.Linear(3, 3) for _ in range(2)]
    networks[1].load_state_dict(networks[0].state_dict())
    before = [weight.clone() for weight in networks[0].parameters()]
    with report.calling("make", "an optimizer of torch"):
        whole, resumed = (make_optimizer(network, options, 0.01) for network in networks)
    with report.calling("step", "an update"):
        first = steps(networks[0], whole, 1)
        last = steps(networks[0], whole, STEPS)
    same = [bool(torch.equal(*pair)) for pair in zip(before, networks[0].parameters(), strict=True)]
    report.is_true("step", not any(same), "an update of every weight", "a weight that stays")
    report.is_true(
        "step", math.isfinite(last) and last < first, "a falling loss", f"{first:g}, later {last:g}"
    )
    with report.calling("state", "tensors and plain numbers for each weight"):
        steps(networks[1], resumed, STEPS // 2)
        tensors, values = pack_optimizer(resumed)
        again = make_optimizer(networks[1], options, 0.01)
        kept = {name: tensor.clone() for name, tensor in tensors.items()}
        unpack_optimizer(again, kept, json.loads(json.dumps(values)))
        steps(networks[1], again, STEPS + 1 - STEPS // 2)
    pairs = zip(networks[0].parameters(), networks[1].parameters(), strict=True)
    equal = all(torch.allclose(one, other, atol=1e-6) for one, other in pairs)
    report.is_true("state", equal, "the same weights after a resumption", "other weights")
    with report.calling("described", "a text"):
        told = options.part.described(options)
    report.is_true("described", isinstance(told, str), "a text", type(told).__name__)


def check_schedule(report: PartReport, options: Any) -> None:
    def made() -> Any:
        with report.calling("__init__", "a schedule"):
            return make_schedule(options, 0.5, total=STEPS)

    whole = made()
    rates = []
    for step in range(1, STEPS + 1):
        with report.calling("after_warmup", "the rate of a step"):
            rates.append(whole.rate(step))
        with report.calling("observe", "nothing"):
            whole.observe(improved=step % 7 < 3)
    wrong = [rate for rate in rates if not math.isfinite(rate) or rate < 0]
    report.is_true("after_warmup", not wrong, "a rate of 0 or more", wrong[:1])
    first = made()
    for step in range(1, STEPS // 2 + 1):
        first.rate(step)
        first.observe(improved=step % 7 < 3)
    second = made()
    with report.calling("state", "the state as JSON"):
        second.restore(json.loads(json.dumps(first.state())))
    resumed = []
    for step in range(STEPS // 2 + 1, STEPS + 1):
        resumed.append(second.rate(step))
        second.observe(improved=step % 7 < 3)
    same = np.allclose(resumed, rates[STEPS // 2 :])
    report.is_true("state", same, "the same rates after a resumption", "other rates")
    with report.calling("described", "a text"):
        told = options.part.described(options)
    report.is_true("described", isinstance(told, str), "a text", type(told).__name__)


def check_curriculum(report: PartReport, options: Any) -> None:
    stages = np.repeat(np.arange(4), 5)
    for epochs in (8, 1):
        with report.calling("__init__", "a curriculum"):
            made, again = (options.part(options, stages, epochs) for _ in range(2))
        for epoch in range(epochs):
            with report.calling("shares", "the share of each stage"):
                shares = made.shares(epoch)
                drawn = made.draw(epoch, np.random.default_rng(epoch))
                same = again.draw(epoch, np.random.default_rng(epoch))
            holds = np.shape(shares) == (4,)
            report.is_true("shares", holds, "(stages,) = (4,)", np.shape(shares))
            report.is_true(
                "shares", bool(np.array_equal(drawn, same)), "the same rows for the same epoch", "others"
            )
            report.is_true("shares", len(drawn) == 20, "an epoch of 20 rows", len(drawn))
    with report.calling("described", "a text"):
        told = options.part.described(options)
    report.is_true("described", isinstance(told, str), "a text", type(told).__name__)


def check_logger(report: PartReport, options: Any) -> None:
    with tempfile.TemporaryDirectory() as folder:
        run, moved = Path(folder) / "run", Path(folder) / "moved"
        run.mkdir()
        with report.calling("__init__", "a logger"):
            logger = options.part(options, run, 0)
        with report.calling("write", "nothing"):
            logger.write({"step": 1, "epoch": 0, "loss": 1.5})
            logger.write({"step": 2, "epoch": 1, "loss": 0.5, "dev.loss": 1.0})
        _check_files(report, options, run)
        run.rename(moved)
        with report.calling("move", "nothing"):
            logger.move(moved)
        with report.calling("write", "nothing, after the folder was moved"):
            logger.write({"step": 3, "epoch": 1, "loss": 0.25})
        report.is_true("move", not run.exists(), "nothing written to the old folder", "a new file there")
        with report.calling("close", "nothing"):
            logger.close()
        with report.calling("__init__", "a logger of a resumed run"):
            resumed = options.part(options, moved, 2)
            resumed.write({"step": 3, "epoch": 1, "loss": 0.25})
            resumed.close()
        _check_files(report, options, moved)


def _check_files(report: PartReport, options: Any, run: Path) -> None:
    """Every file in the folder is declared, so that `--overwrite` can replace it."""
    from fnmatch import fnmatchcase

    declared = options.part.files
    found = [path.relative_to(run).as_posix() for path in run.rglob("*") if path.is_file()]
    other = [name for name in found if not any(fnmatchcase(name, one) for one in declared)]
    told = f"{', '.join(other)}, which it does not declare"
    report.is_true("files", not other, "every file that it writes to be declared in `files`", told)
