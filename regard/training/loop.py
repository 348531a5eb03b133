"""The training loop."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterator, Sequence, Sized
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import torch
from torch import nn

from regard.data.batch import Batch
from regard.data.batches import Batches
from regard.errors import RegardError, ShellCommand
from regard.spec.sections import TrainingSpec
from regard.storage.files import Folder, sweep
from regard.storage.manifest import folders, refuse_links
from regard.structures.kernels.cpu.parallel import without_onednn
from regard.training.judge import Evaluate, Judge
from regard.training.ledger import BatchPlace, explain_out_of_memory
from regard.training.log import LOG_EVERY, Log, UpdateReport, tell
from regard.training.loggers.logger import End
from regard.training.machine import (
    Interrupted,
    Signals,
    make_accelerator,
    precision_restored,
    sent_ahead,
    together,
)
from regard.training.objective import Updater
from regard.training.progress import Progress, make_progress
from regard.training.state import TrainingState, seed_everything
from regard.training.weights import set_weights, start_from


class BatchSource(Protocol):
    """A source of batches: always the same ones for an epoch, from any batch on, for one process."""

    def epoch(self, epoch: int, start: int = 0, *, rank: int = 0) -> Iterator[Batch]: ...


@dataclass(frozen=True)
class Result:
    """The result of a run.

    metrics           of the final weights; empty if nothing was evaluated
    kept              the origin of the final weights: "step 300" or "mean of steps 100, 200, 300"
    stopped_because   "epochs", "steps" or "patience"
    """

    metrics: dict[str, float]
    kept: str
    steps: int
    epochs: int
    seconds: float
    stopped_because: str


def fit(
    network: nn.Module,
    batches: BatchSource,
    *,
    options: TrainingSpec,
    run: Path | str,
    save_model: Callable[[Path], None],
    evaluate: Evaluate | None = None,
    shared: bool = False,
    resume: bool = False,
    progress: Progress | None = None,
    device: str | None = None,
    locate: Callable[[int], str] | None = None,
    checkpoint_minutes: float = 5.0,
    settle: Callable[[], Path] | None = None,
    callbacks: Sequence[Any] = (),
    load_start: Callable[[], str] | None = None,
) -> Result:
    """Train `network`, whose forward maps a Batch to {output: Loss}, and load its best weights at the end.

    batches      the source of the batches of each epoch
    run          the folder of the run: log.csv, state/, and the files of `save_model`
    save_model   saves the current network: called after each improvement, and at the end
    evaluate     evaluates the current network; `options.metric` names the metric that decides
    shared       with several processes: whether each calls `evaluate`, which divides its rows among them; else only the
                 first calls it
    resume       continue from the last checkpoint in `run`, or from the start if there is none yet
    locate       gives the origin of a row of the data, for messages
    settle       called once, in every process, after the first checkpoint: moves all files written so far,
                 and returns the folder in which the run continues
    callbacks    see `Callback`
    load_start   loads the weights of `options.start_from` into the network, and returns what was loaded;
                 default: by name and shape, for a network without vocabularies

    The caller sets the seeds, because it builds the network before the call (see `seed_everything`).
    """
    training = Training(network, batches, options, Path(run), locate, checkpoint_minutes * 60.0)
    training.settle, training.callbacks, training.load_start = settle, callbacks, load_start
    training.shared = shared
    with precision_restored(), together(training.deserted):
        training.start(evaluate, save_model, progress=progress, device=device, resume=resume)
        try:
            # only oneDNN has half-precision products on CPUs that support them
            with nullcontext() if options.precision in ("bf16", "fp16") else without_onednn():
                return training.run_to_end()
        finally:
            training.close()


class Training:
    """One run: updates until a limit is reached, with evaluations and checkpoints on the way."""

    def __init__(
        self,
        network: nn.Module,
        batches: BatchSource,
        options: TrainingSpec,
        run: Path,
        locate: Callable[[int], str] | None,
        checkpoint_seconds: float,
    ) -> None:
        self.network, self.batches, self.options, self.run = network, batches, options, run
        self.locate, self.checkpoint_seconds = locate, checkpoint_seconds
        self.settle: Callable[[], Path] | None = None
        self.callbacks: Sequence[Any] = ()
        self.load_start: Callable[[], str] | None = None
        self.shared = False
        self.ended: End = "failed"

    def start(
        self,
        evaluate: Evaluate | None,
        save_model: Callable[[Path], None],
        *,
        progress: Progress | None,
        device: str | None,
        resume: bool,
    ) -> None:
        options, network = self.options, self.network
        refuse_links(self.run)
        self.accelerator = make_accelerator(options.precision, device)
        main = self.accelerator.is_main_process
        self.progress = (progress or make_progress()) if main else Progress()
        network.to(self.accelerator.device)
        if options.start_from is not None and not resume:
            run = options.start_from.run
            loaded = start_from(network, run) if self.load_start is None else self.load_start()
            self.progress.note(f"Start from {run}: {loaded}")
        if options.weights is not None and not resume:
            self.progress.note(f"Weights set: {', '.join(set_weights(network, options.weights))}")
        total = total_steps(self.batches, options)
        self.state = TrainingState(network, options, self.run, self.accelerator, total=total)
        self.update = Updater(
            self.accelerator, network, self.state.optimizer, options.clip, self.state.average
        )
        if self.accelerator.num_processes > 1:  # with the same seed every process would drop the same units
            seed_everything(options.seed + self.accelerator.process_index)
        if not resume and self.state.path.exists():
            raise RegardError(
                "this folder already contains a run.",
                where=str(self.run),
                fix="Resume it, or choose another folder.",
            )
        if resume and self.state.load():
            self.progress.note(f"Resumed at step {self.state.position.step}")
        position = self.state.position
        if main:
            for name in ("", *folders()):
                sweep(self.run / name)
        self.log = Log(
            self.run if main else None,
            rows=position.log_rows,
            step=position.step,
            loggers=options.loggers,
        )
        self.folder = Folder(self.run) if main else None
        self.callbacks = self.callbacks if main else ()
        self.report = UpdateReport(self.state, self.log, self.progress, self.callbacks)
        self.judge = Judge(self.state, evaluate, save_model, self.run, options.metric, shared=self.shared)
        self.saved = time.monotonic()
        network.train()
        self.progress.start(position.step, total)

    def run_to_end(self) -> Result:
        position = self.state.position
        with Signals() as self.signals:
            while (reason := self._reason_to_stop()) is None:
                self._epoch()
            if position.evaluated != position.step:
                self._evaluate()
            metrics, kept = self.judge.finish(average=self.options.average > 1)
        self.ended = "finished"
        result = Result(metrics, kept, position.step, position.epoch, position.seconds, reason)
        tell(self.callbacks, "on_end", vars(result))
        return result

    def _epoch(self) -> None:
        position = self.state.position
        rank = self.accelerator.process_index
        batches = self.batches.epoch(position.epoch, start=position.batch, rank=rank)
        with ended(batches):
            if not self._updates(sent_ahead(batches, self.accelerator.device)):
                return
        if position.step == 0:
            raise RegardError("the training data contain no batch.", where="data.train")
        position.epoch, position.batch = position.epoch + 1, 0
        if self.options.evaluate_every is None:
            self._evaluate()

    def _updates(self, batches: Iterator[Batch]) -> bool:
        """Make an update from each batch; returns whether to continue after the last."""
        position, schedule = self.state.position, self.state.schedule
        while pieces := list(itertools.islice(batches, self.options.accumulate)):
            place = BatchPlace.of(position.epoch, position.batch, position.step + 1, pieces, self.locate)
            with explain_out_of_memory(place, self.options):
                step = position.step + 1
                figures = self.update(pieces, schedule.rate(step), step)
            position.step = step
            position.batch += len(pieces)
            objective = self.update.objective
            self.state.ledger.add(figures, place, objective.outputs, objective.parts)
            self._after_update()
            if self._reason_to_stop() is not None:
                return False
        return True

    def _after_update(self) -> None:
        step, options = self.state.position.step, self.options
        evaluation_due = options.evaluate_every is not None and step % options.evaluate_every == 0
        if not evaluation_due:
            self.report.updated()
        signal, overdue = self._requests()
        if evaluation_due:
            self._evaluate()
        elif signal or overdue or (options.checkpoint_every and step % options.checkpoint_every == 0):
            self._checkpoint()
        if signal:
            self.ended = "stopped"
            self.progress.note(f"Stopped at step {step}. To go on: {self._resumption()}")
            raise Interrupted(signal)

    def deserted(self) -> None:
        """Say that another process has ended."""
        step = self.state.position.step
        self.progress.note(
            f"Stopped after step {step}: another process of this training ended. To go on from the last checkpoint: "
            f"{self._resumption()}"
        )

    def _resumption(self) -> ShellCommand:
        return ShellCommand("train", options={"resume": self.run})

    def _requests(self) -> tuple[int, bool]:
        """The received signal, and whether a checkpoint is due. Several processes agree every few steps."""
        signal, overdue = self.signals.received, time.monotonic() - self.saved > self.checkpoint_seconds
        if self.accelerator.num_processes > 1:
            if self.state.position.step % LOG_EVERY:
                return 0, False
            wishes = torch.tensor([[signal, int(overdue)]], device=self.accelerator.device)
            signal, overdue = self.accelerator.gather(wishes).amax(0).tolist()
        return signal, bool(overdue)

    def _evaluate(self) -> None:
        self._check_folder()
        self.report.refresh()  # the time of an evaluation must not count as time of the updates before it
        self.state.check_finite()
        metrics, improved = self.judge.judge()
        self.report.lap()
        self.report.row(metrics)
        if metrics:
            position = self.state.position
            self.progress.evaluated(position.step, metrics, improved)
            place = {"step": position.step, "epoch": position.epochs_begun, "seconds": position.seconds}
            tell(self.callbacks, "on_evaluation", {**place, **metrics, "improved": improved})
        self._checkpoint()

    def _checkpoint(self) -> None:
        """Save a checkpoint after checking every figure, so that the last checkpoint is always good."""
        self._check_folder()
        self.report.catch_up()
        self.state.check_finite()
        self.report.lap()
        self.log.sync()
        self.state.save()
        self.saved = time.monotonic()
        if self.settle is not None:
            settle, self.settle = self.settle, None
            self._move(settle())

    def _move(self, run: Path) -> None:
        """Continue in another folder, to which all files have been moved."""
        self.run = self.judge.run = run
        self.state.move(run)
        self.log.move(run)
        self.folder = None if self.folder is None else Folder(run)

    def _check_folder(self) -> None:
        """Refuse to write into a new folder of the same name, which would hold one half of the run."""
        if self.folder is not None and not self.folder.stands():
            raise RegardError(
                "the folder of this run was moved, replaced or deleted during the training, which stops here.",
                where=str(self.run),
                fix="Put it back and resume the run, or train again.",
            )

    def _reason_to_stop(self) -> str | None:
        position, options = self.state.position, self.options
        if self.state.patience.exhausted:
            return "patience"
        if options.steps is not None and position.step >= options.steps:
            return "steps"
        passes = options.passes
        return "epochs" if passes is not None and position.epoch >= passes else None

    def close(self) -> None:
        self.progress.stop()
        self.log.close(self.ended)


@contextmanager
def ended(batches: Iterator[Batch]) -> Iterator[None]:
    """Close the batches in any case, so that no thread goes on making batches."""
    try:
        yield
    finally:
        close = getattr(batches, "close", None)
        if close is not None:
            close()


def total_steps(batches: BatchSource, options: TrainingSpec) -> int | None:
    """Number of updates of the whole run; None if it is not known in advance."""
    if options.passes is None or not isinstance(batches, Sized):
        return options.steps
    each = batches.counts(options.passes) if isinstance(batches, Batches) else [len(batches)] * options.passes
    total = sum(-(-count // options.accumulate) for count in each)
    return total if options.steps is None else min(total, options.steps)
