"""The training objective: Σ over outputs of weight · total / count, with the counts of the global batch.

A process sees only its part of a global batch, and with accumulation only one piece at a time. If each
divided by its own count, short and long parts would have the same weight, and two processes would train a
different model than one. So every total is divided by the count of the *global* batch:

    gradient = Σ_o w_o · ∇(Σ_parts total_o) / (Σ_parts count_o)

which does not depend on how the batch is split. The penalty of the network's parts (`Network.penalty`) is
added once per update, because it does not depend on rows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from typing import Any, Protocol

import torch
from accelerate import Accelerator
from torch import Tensor, nn
from torch.optim import Optimizer

from regard.data.batch import Batch
from regard.nn.path import faster
from regard.private import take_step
from regard.training.ema import MovingAverage


class QuickDescent(Protocol):
    """A faster way to do all of `Descent` in one step; the state stays in the optimizer."""

    def ready(self) -> bool:
        """Whether it can take the next step."""

    def __call__(self, clip: float, step: int) -> Tensor:
        """As `Descent`."""


class Descent:
    """Clips the gradients, takes the optimizer's step, and averages the weights."""

    def __init__(self, optimizer: Optimizer, clip: float, average: MovingAverage | None = None) -> None:
        self.optimizer, self.clip, self.average = optimizer, clip, average
        self.parameters = [parameter for group in optimizer.param_groups for parameter in group["params"]]
        self.quick: QuickDescent | None = faster(
            "optimizer.steps", self.parameters[0].device, optimizer, average
        )

    def __call__(self, step: int) -> Tensor:
        """Clip the gradients to the norm `clip` and make update `step` = 1, 2, …; returns the norm before."""
        if self.quick is not None and self.quick.ready():
            return self.quick(self.clip, step)
        norm = nn.utils.clip_grad_norm_(self.parameters, self.clip)
        take_step(self.optimizer)
        self.keep_average(step)
        return norm

    def keep_average(self, step: int) -> None:
        if self.average is not None:
            self.average.update(step)

    def forget(self) -> None:
        """Release the gradients."""
        for parameter in self.parameters:
            parameter.grad = None


class Objective(nn.Module):
    """Turns a network's {output: Loss} into totals and counts, vectors over the O outputs, and a penalty ().

    `outputs` holds each output's name and weight after the first batch. The penalty is None for networks
    without one. It is computed here, so that several processes also agree on its gradient. `parts` maps the
    name of each part of a total in the log to its output; it is empty if the likelihood is the only part.
    """

    def __init__(self, network: nn.Module) -> None:
        super().__init__()
        self.network = network
        self.outputs: dict[str, float] = {}
        self.parts: dict[str, str] = {}

    def forward(self, batch: Batch) -> tuple[Tensor, Tensor, Tensor, Tensor | None]:
        losses = self.network(batch)
        self.outputs = {name: float(getattr(loss, "weight", 1.0)) for name, loss in losses.items()}
        totals = torch.stack([loss.total.float() for loss in losses.values()])  # (O,)
        counts = torch.stack(
            [
                torch.as_tensor(loss.count, dtype=torch.float32, device=totals.device)
                for loss in losses.values()
            ]
        )
        penalty = getattr(self.network, "penalty", lambda: None)()
        parts = self._parts(losses, totals)
        if batch.idle:
            totals, counts, parts = totals * 0.0, counts * 0.0, parts * 0.0
        return totals, counts, parts, penalty  # (O,), (O,), (P,), ()

    def _parts(self, losses: Mapping[str, Any], totals: Tensor) -> Tensor:
        """(P,) in the order of `parts`."""
        self.parts, values = {}, []
        for name, loss in losses.items():
            named = getattr(loss, "parts", {})
            for part in named if set(named) - {"likelihood"} else ():
                self.parts[f"{part}.{name}" if len(losses) > 1 else part] = name
                values.append(named[part].detach().float())
        return torch.stack(values).to(totals.device) if values else totals.new_zeros(0)

    @torch.no_grad()
    def counts(self, batch: Batch, device: torch.device) -> Tensor:
        """(O,) the counts: from `network.counts(batch)` if it returns them, else from a forward pass."""
        known = getattr(self.network, "counts", lambda _: None)(batch)
        if known is not None:
            counts = [torch.as_tensor(count, dtype=torch.float32, device=device) for count in known.values()]
            return torch.stack(counts) * (0.0 if batch.idle else 1.0)
        self.network.eval()  # no dropout, so the random generators do not advance
        try:
            return self.forward(batch)[1]
        finally:
            self.network.train()


class Updater:
    """One update of the weights from one global batch: forward, backward, clip, step, average.

    Returns the figures of the update as one tensor (2·O + P + 2,) on the device: the totals, counts and parts
    of the outputs over all processes, the penalty (0 if there is none), and the norm of the gradient before
    clipping. It does not wait for the device.
    """

    def __init__(
        self,
        accelerator: Accelerator,
        network: nn.Module,
        optimizer: Optimizer,
        clip: float | None,
        average: MovingAverage | None = None,
    ) -> None:
        self.accelerator = accelerator
        self.optimizer = optimizer
        self.clip = float("inf") if clip is None else clip
        self.objective = Objective(network)
        self.several = accelerator.num_processes > 1
        # alone, the network is in its place; to look for where it must go, Accelerate loads torch's sharded tensors
        placed = None if self.several else [False]
        self.model: Any = accelerator.prepare(self.objective, device_placement=placed)
        self.descent = Descent(optimizer, self.clip, average)

    def __call__(self, pieces: Sequence[Batch], rate: float, step: int) -> Tensor:
        """step: the number of the update, from 1"""
        device = self.accelerator.device
        batches = [piece if device.type == "cpu" else piece.to(device) for piece in pieces]
        for group in self.optimizer.param_groups:
            group["lr"] = rate
        if len(batches) == 1:
            figures, penalty = self._whole(batches[0])
        else:
            figures, penalty = self._accumulate(batches)
        penalized = figures.new_zeros(1) if penalty is None else penalty.detach().float().reshape(1)
        norm = self._step(step)
        return torch.cat([figures, penalized, norm.float().reshape(1)])

    def _whole(self, batch: Batch) -> tuple[Tensor, Tensor | None]:
        """Totals, counts and parts (2·O + P,) over all processes, and the penalty."""
        totals, counts, parts, penalty = self.model(batch)
        figures = self._over_processes(torch.cat([totals.detach(), counts, parts]))
        self._backward(totals, figures[len(totals) : 2 * len(totals)], penalty)
        return figures, penalty

    def _accumulate(self, batches: Sequence[Batch]) -> tuple[Tensor, Tensor | None]:
        """As `_whole`, for several batches that make one update."""
        device = self.accelerator.device
        counts = torch.stack([self.objective.counts(batch, device) for batch in batches]).sum(0)
        counts = self._over_processes(counts)
        done = []
        for batch in batches:
            last = batch is batches[-1]
            with nullcontext() if last else self.accelerator.no_sync(self.model):
                totals, _, parts, penalty = self.model(batch)
                self._backward(totals, counts, None if penalty is None else penalty / len(batches))
            done.append(torch.cat([totals.detach(), parts]))
        figures = self._over_processes(torch.stack(done).sum(0))  # (O + P,)
        return torch.cat([figures[: len(counts)], counts, figures[len(counts) :]]), penalty

    def _backward(self, totals: Tensor, counts: Tensor, penalty: Tensor | None) -> None:
        """Backward pass. Accelerate averages gradients over processes, but a sum is needed, hence the factor.

        The penalty is the same in every process, so its average is correct.
        """
        weights = list(self.objective.outputs.values())
        scale = self.accelerator.num_processes / counts.clamp(min=1.0)
        if any(weight != 1.0 for weight in weights):
            scale = scale * torch.tensor(weights, device=scale.device)
        loss = torch.dot(totals, scale)
        if penalty is not None:
            loss = loss + penalty
        self.accelerator.backward(loss)

    def _step(self, step: int) -> Tensor:
        scaler = self.accelerator.scaler  # only fp16 has one
        if scaler is None:
            norm = self.descent(step)
        else:
            scaler.unscale_(self.optimizer)
            norm = nn.utils.clip_grad_norm_(self.descent.parameters, self.clip)
            scaler.step(self.optimizer)
            scaler.update()
            self.descent.keep_average(step)
        self.descent.forget()
        return norm

    def _over_processes(self, values: Tensor) -> Tensor:
        return self.accelerator.reduce(values, reduction="sum") if self.several else values
