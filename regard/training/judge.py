"""Evaluation: it decides which weights are best, whether to continue, and which weights the model gets."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

import torch
from accelerate.utils import broadcast_object_list

from regard.errors import RegardError
from regard.training.checkpoint import Snapshot
from regard.training.machine import wait_for_all
from regard.training.state import Generators, TrainingState

Evaluate = Callable[[], dict[str, float]]


class Judge:
    """Evaluates the network in the first process and sends the metrics to the others.

    shared   every process calls `evaluate`, which divides the rows among them

    Evaluation restores the random generators, so the weights do not depend on its frequency.
    """

    def __init__(
        self,
        state: TrainingState,
        evaluate: Evaluate | None,
        save_model: Callable[[Path], None],
        run: Path,
        metric: str,
        *,
        shared: bool = False,
    ) -> None:
        self.state, self.evaluate, self.save_model = state, evaluate, save_model
        self.run, self.metric, self.shared = run, metric, shared
        self.main = state.accelerator.is_main_process

    def judge(self) -> tuple[dict[str, float], bool]:
        """Evaluate, keep the best weights, inform patience and schedule; returns the metrics, and whether these weights
        are the best so far."""
        state, step = self.state, self.state.position.step
        with self._judged_weights():
            metrics = self._measure()
            value = metrics[self.metric] if metrics else None
            improved = value is None or state.snapshots.better(value)
            state.snapshots.offer(state.network, Snapshot(step, metrics, value), write_files=self.main)
            first = state.snapshots.best
            best = first is not None and first.step == step and value == value
            if best and self.main:
                self.save_model(self.run)
        if value is not None:  # an equal value with a lower loss is kept, but is no progress
            state.patience.observe(improved)
            state.schedule.observe(improved)
        state.position.evaluated = step
        return metrics, best

    def finish(self, *, average: bool) -> tuple[dict[str, float], str]:
        """Load the best weights, or the mean of the kept ones if it is not worse, and save the network."""
        snapshots = self.state.snapshots
        best = snapshots.best
        metrics, name = (best.metrics, f"step {best.step}") if best else ({}, "the first weights")
        if self.state.accelerator.num_processes > 1:
            wait_for_all()
        if average and len(snapshots.kept) > 1:
            snapshots.load_average(self.state.network)
            averaged = self._measure()
            if (
                not averaged
                or averaged[self.metric] == metrics[self.metric]
                or snapshots.better(averaged[self.metric])
            ):
                steps = ", ".join(str(step) for step in sorted(kept.step for kept in snapshots.kept))
                metrics, name, best = averaged, f"mean of steps {steps}", None
        if best is not None:
            snapshots.load_best(self.state.network)
        if self.main:
            self.save_model(self.run)
        return metrics, name

    def _judged_weights(self) -> AbstractContextManager[None]:
        return nullcontext() if self.state.average is None else self.state.average.applied()

    @torch.no_grad()
    def _measure(self) -> dict[str, float]:
        if self.evaluate is None:
            return {}
        metrics: dict[str, float] = {}
        if self.main or self.shared:
            generators = Generators.capture()
            self.state.network.eval()
            metrics = {name: float(value) for name, value in self.evaluate().items()}
            self.state.network.train()
            generators.restore()
        if self.state.accelerator.num_processes > 1:
            metrics = broadcast_object_list([metrics])[0]
        if self.metric not in metrics:
            raise RegardError(
                f"the evaluation does not compute {self.metric!r}, only {', '.join(sorted(metrics)) or 'nothing'}.",
                where="training.metric",
                fix="Name a metric that it computes.",
            )
        return metrics
