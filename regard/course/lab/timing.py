"""A recurrence takes t steps one after the other; a convolution and an attention take one.

    recurrence    h_t = tanh(W x_t + U h_{t−1}): step t waits for step t − 1
    convolution   y_t = Σ_k W_k x_{t−k}: all t at once
    attention     softmax(Q Kᵀ/√D) V: all t at once, but with t² products

Measured on this machine, on the CPU, forward and backward; the fastest of several repetitions. The steps are counted
while a layer runs, and its longest chain of operations is read from the graph that autograd recorded: forward and
backward both have to follow it, however many processors there are.
"""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter
from typing import Annotated, Any

import numpy as np
import torch
from numpy.typing import NDArray
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
        both = {name: np.array([_fastest(layers, name, t, options) for t in lengths]) for name in NAMES}
        times, backward = ({name: found[:, side] for name, found in both.items()} for side in (0, 1))
        at = np.array(lengths)
        slopes, slopes_back = (
            {name: _exponent(at, one) for name, one in of.items()} for of in (times, backward)
        )
        steps, chains = {}, {}
        for name in NAMES:
            chains[name] = [longest_chain(layers.run(name, _inputs(t, options.size))) for t in lengths]
            steps[name] = layers.steps
        products = {"recurrence": "t", "convolution": "t", "attention": "t²"}
        rows = [
            (
                name,
                steps[name],
                chains[name][-1],
                products[name],
                float(times[name][-1]),
                float(backward[name][-1]),
                slopes[name],
                slopes_back[name],
            )
            for name in NAMES
        ]
        last = lengths[-1]
        ratio = float(times["recurrence"][-1] / times["convolution"][-1])
        return LabResult(
            title="A recurrence is sequential",
            see=f"At length {last:,} the recurrence takes {written(float(times['recurrence'][-1]))} ms in "
            f"{last:,} sequential steps, "
            f"{ratio:.0f} times as long as the convolution, which computes all positions at once, and back through "
            f"them {written(float(backward['recurrence'][-1]))} ms. Its longest chain of operations has "
            f"{chains['recurrence'][-1]:,}, that of the convolution {chains['convolution'][-1]}.",
            blocks=[
                draw_plot(
                    {name: Curve(at, found) for name, found in times.items()}
                    | {"recurrence, backward": Curve(at, backward["recurrence"], "dashes")},
                    x_name="length t",
                    y_name="ms",
                    log_x=True,
                    log_y=True,
                    x_range=(lengths[0], lengths[-1]),
                ),
            ],
            table=(
                (
                    "",
                    f"steps, t = {last:,}",
                    "longest chain",
                    "work",
                    "ms",
                    "ms back",
                    "~ t^…",
                    "back ~ t^…",
                ),
                rows,
            ),
            numbers={
                "lengths": lengths,
                "milliseconds": times,
                "exponents": slopes,
                "backward_milliseconds": backward,
                "backward_exponents": slopes_back,
                "sequential_steps": steps,
                "longest_chain": chains,
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


def longest_chain(output: Tensor) -> int:
    """The number of operations on the longest way through the graph that autograd recorded, each of which waits for the
    one before; those that only move numbers count too."""
    depth: dict[Any, int] = {None: 0}
    stack = [(output.grad_fn, False)]
    while stack:
        node, followed = stack.pop()
        if node in depth:
            continue
        after = [one for one, _ in node.next_functions]  # type: ignore[union-attr]
        if followed:
            depth[node] = 1 + max((depth[one] for one in after), default=0)
        else:
            stack += [(node, True), *((one, False) for one in after)]
    return depth[output.grad_fn]


def _inputs(length: int, size: int) -> Tensor:
    return torch.randn(length, size, generator=torch.Generator().manual_seed(1)).requires_grad_()


def _exponent(at: NDArray[Any], found: NDArray[Any]) -> float:
    """The exponent of t in the times of the longer half of the sequences."""
    at, found = at[len(at) // 2 :], found[len(found) // 2 :]
    return float(np.polyfit(np.log(at), np.log(found), 1)[0]) if len(at) > 1 else float("nan")


def _fastest(layers: TimedLayers, name: str, length: int, options: Any) -> tuple[float, float]:
    """Milliseconds of the fastest forward and of the fastest backward pass, after one warm-up run."""
    x = _inputs(length, options.size)
    forward, backward = [], []
    layers.run(name, x).sum().backward()
    for _ in range(options.repetitions):
        begin = perf_counter()
        loss = layers.run(name, x).sum()
        between = perf_counter()
        loss.backward()
        forward.append(1000 * (between - begin))
        backward.append(1000 * (perf_counter() - between))
    return min(forward), min(backward)
