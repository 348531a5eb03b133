"""A recurrence takes t steps one after the other; a convolution and an attention take one.

    recurrence    h_t = tanh(W x_t + U h_{t−1}): step t waits for step t − 1
    convolution   y_t = Σ_k W_k x_{t−k}: all t at once
    attention     softmax(Q Kᵀ/√D) V: all t at once, but with t² products

Measured on this machine, on the CPU; the fastest of several repetitions.
"""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter
from typing import Annotated, Any

import numpy as np
import torch
from pydantic import Field
from torch import Tensor, nn

from regard.course.lab.lab import Lab, LabResult, written
from regard.inspect.plot import Curve, draw_plot
from regard.parts import register

NAMES = ("recurrence", "convolution", "attention")


@register("lab", "timing")
class TimingLab(Lab):
    """Measured milliseconds by sequence length."""

    class Options(Lab.Options):
        """Measured milliseconds by sequence length."""

        longest: Annotated[int, Field(ge=16, le=8192)] = 1024
        """The longest sequence; the lengths double from 16 on."""
        size: Annotated[int, Field(ge=1, le=512)] = 64
        """Features of each position."""
        repetitions: Annotated[int, Field(ge=1, le=50)] = 5
        """Repetitions of each measurement; the fastest counts."""

    summary = "a recurrence is O(t) and sequential: measured beside a convolution and an attention"

    @classmethod
    def run(cls, options: Any) -> LabResult:
        lengths = [2**k for k in range(4, int(np.log2(options.longest)) + 1)]
        layers = TimedLayers(options.size)
        times = {name: np.array([_fastest(layers, name, t, options) for t in lengths]) for name in NAMES}
        at = np.array(lengths)
        slopes = {
            name: float(np.polyfit(np.log(at[-3:]), np.log(found[-3:]), 1)[0])
            if len(at) > 2
            else float("nan")
            for name, found in times.items()
        }
        steps = {"recurrence": lengths[-1], "convolution": 1, "attention": 1}
        products = {"recurrence": "t", "convolution": "t", "attention": "t²"}
        rows = [
            (name, steps[name], products[name], float(found[0]), float(found[-1]), slopes[name])
            for name, found in times.items()
        ]
        last = lengths[-1]
        ratio = float(times["recurrence"][-1] / times["convolution"][-1])
        return LabResult(
            title="A recurrence is sequential",
            see=f"At length {last:,} the recurrence takes {written(float(times['recurrence'][-1]))} ms in "
            f"{last:,} sequential steps, "
            f"{ratio:.0f} times as long as the convolution, which computes all positions at once.",
            blocks=[
                draw_plot(
                    {name: Curve(at, found) for name, found in times.items()},
                    x_name="length t",
                    y_name="ms",
                    log_x=True,
                    log_y=True,
                    x_range=(lengths[0], lengths[-1]),
                ),
            ],
            table=(
                ("", "sequential steps", "work", f"ms at {lengths[0]}", f"ms at {last:,}", "exponent of t"),
                rows,
            ),
            numbers={
                "lengths": lengths,
                "milliseconds": times,
                "exponents": slopes,
                "sequential_steps": steps,
            },
        )


class TimedLayers:
    """The three layers, of the same width; `steps` counts the steps that had to wait for another."""

    def __init__(self, size: int) -> None:
        generator = torch.Generator().manual_seed(0)
        self.size, self.steps = size, 0
        self.input, self.state, self.query, self.key, self.value = (
            torch.randn(size, size, generator=generator) / size**0.5 for _ in range(5)
        )
        self.kernel = torch.randn(3 * size, size, generator=generator) / size

    def run(self, name: str, x: Tensor) -> Tensor:
        """(T, D) → (T, D)."""
        self.steps = 0
        layers: dict[str, Callable[[Tensor], Tensor]] = {
            "recurrence": self._recurrence,
            "convolution": self._convolution,
            "attention": self._attention,
        }
        return layers[name](x)

    def _recurrence(self, x: Tensor) -> Tensor:
        projected = x @ self.input.T  # products that need no state are computed at once
        state, states = torch.zeros(self.size), []
        for one in projected:
            state = torch.tanh(torch.addmv(one, self.state, state))
            states.append(state)
            self.steps += 1
        return torch.stack(states)

    def _convolution(self, x: Tensor) -> Tensor:
        self.steps = 1
        padded = nn.functional.pad(x, (0, 0, 2, 0))
        windows = torch.cat([padded[k : k + len(x)] for k in range(3)], 1)  # (T, 3 D)
        return torch.mm(windows, self.kernel)

    def _attention(self, x: Tensor) -> Tensor:
        self.steps = 1
        scores = (x @ self.query) @ (x @ self.key).T / self.size**0.5
        later = torch.ones(len(x), len(x), dtype=torch.bool).triu(1)
        return torch.mm(scores.masked_fill(later, float("-inf")).softmax(-1), x @ self.value)


def _fastest(layers: TimedLayers, name: str, length: int, options: Any) -> float:
    """Milliseconds of the fastest repetition, after one warm-up run."""
    x = torch.randn(length, options.size, generator=torch.Generator().manual_seed(1))
    found = []
    with torch.inference_mode():
        layers.run(name, x)
        for _ in range(options.repetitions):
            begin = perf_counter()
            layers.run(name, x)
            found.append(1000 * (perf_counter() - begin))
    return min(found)
