"""Dynamic programs for a GPU: one operation computes all spans of a width, in all sentences of a batch.

The unit is `regard.structures`: potentials go in, marginals come out, and a gradient goes back through them. It is
measured on this machine, on the GPU if there is one, beside a program that fills the same table cell by cell. Its
plain torch code is counted: the operations on tensors, of which a GPU runs one after the other, are as many for a batch
as for one sentence, while the joins of cells that they compute grow with the batch and with the cube of the length.

    chain    forward-backward over N positions with C states, N C² joins; C² potentials for each pair of neighbors
    tree     Eisner's algorithm over N words, O(N³) joins
"""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter
from typing import Annotated, Any

import numpy as np
import torch
from pydantic import Field
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from regard.course.lab.eisner_chart import fill, rules
from regard.course.lab.lab import Lab, LabResult, written
from regard.inspect.plot import Curve, draw_plot
from regard.parts import register
from regard.structures import LinearChain, ProjectiveTree
from regard.structures.kernels import plainly
from regard.trace import Array


@register("lab", "structure-speed")
class StructureSpeedLab(Lab):
    """Operations and milliseconds of chains and trees, by length."""

    class Options(Lab.Options):
        """Operations and milliseconds of chains and trees, by length."""

        longest: Annotated[int, Field(ge=5, le=80)] = 40
        """The longest sentence; the lengths double from 5 on."""
        sentences: Annotated[int, Field(ge=2, le=256)] = 16
        """Sentences of a batch."""
        states: Annotated[int, Field(ge=2, le=32)] = 3
        """States of the chain."""
        repetitions: Annotated[int, Field(ge=1, le=50)] = 5
        """Repetitions of each measurement; the fastest counts."""

    summary = "a dynamic program of a whole batch in few steps: operations, and times beside cell by cell"

    @classmethod
    def run(cls, options: Any) -> LabResult:
        device = "cuda" if torch.cuda.is_available() else "cpu"
        lengths = [5 * 2**k for k in range(5) if 5 * 2**k <= options.longest]
        found = {kind: [_measured(kind, n, options, device) for n in lengths] for kind in ("chain", "tree")}
        tree, chain = found["tree"][-1], found["chain"][-1]
        many = options.sentences
        head = (
            "",
            "joins",
            "steps of 1",
            f"steps of {many}",
            f"ms of {many}",
            "ms of 1, by cell",
            "faster",
            "apart",
        )
        rows = [
            (f"{kind} of {n}", *(one[name] for name in COLUMNS))
            for kind in found
            for n, one in zip(lengths, found[kind], strict=True)
        ]
        curves = {}
        for kind, of in found.items():
            cells, unit = (np.array([one[name] for one in of]) for name in ("cells_ms", "unit_ms"))
            curves[f"{kind}, 1 by cell"] = Curve(np.array(lengths), cells, "dashes")
            curves[f"{kind}, {many} at once"] = Curve(np.array(lengths), unit)
        return LabResult(
            title="Many sentences in the steps of one",
            see=f"log Z of a tree of {lengths[-1]} words takes {tree['operations']:,} operations on tensors; {many} "
            f"such trees together take {tree['batch_operations']:,}, for {tree['joins']:,} joins of cells. Here "
            f"({device}) their marginals and a gradient take {written(tree['unit_ms'])} ms; cell by cell the marginals "
            f"of a single tree take {written(tree['cells_ms'])} ms. Of the chain it is "
            f"{written(chain['unit_ms'])} and {written(chain['cells_ms'])} ms.",
            blocks=[
                draw_plot(
                    curves,
                    x_name="words",
                    y_name="ms",
                    log_x=True,
                    log_y=True,
                    x_range=(lengths[0], lengths[-1]),
                )
            ],
            table=(head, rows),
            numbers={"device": device, "lengths": lengths, **found},
        )


COLUMNS = ("joins", "operations", "batch_operations", "unit_ms", "cells_ms", "times", "apart")


def _measured(kind: str, n: int, options: Any, device: str) -> dict[str, Any]:
    """The counts, times and the difference of one structure at one length.

    joins              products of two cells that the tables of all sentences need
    operations         operations on tensors that log Z of one sentence takes; batch_operations: of all
    unit_ms, cells_ms  the unit, marginals and gradient of all sentences; cell by cell, marginals of one
    times              how many times as many sentences the unit does in the same time
    apart              the largest difference between the marginals of both
    """
    torch.manual_seed(n)
    shape = (n + 1, n + 1) if kind == "tree" else (n - 1, options.states, options.states)
    given = torch.randn(options.sentences, *shape, dtype=torch.float64)
    onward = torch.randn_like(given).to(device)
    leaf = given.clone().to(device).requires_grad_()

    def unit() -> Tensor:
        leaf.grad = None
        marginals: Tensor = _structure(kind, leaf).marginals
        (marginals * onward).sum().backward()
        if device == "cuda":
            torch.cuda.synchronize()
        return marginals.detach().cpu()

    unit()  # compiles the kernels
    found, unit_ms = _fastest_of(unit, options.repetitions)
    by_cells, cells_ms = _fastest_of(lambda: _by_cells(kind, given[0].numpy()), 1)
    each = len(list(rules(n, single_root=True))) if kind == "tree" else 2 * (n - 1) * options.states**2
    return {
        "joins": options.sentences * each,
        "operations": _operations(kind, given[:1]),
        "batch_operations": _operations(kind, given),
        "unit_ms": unit_ms,
        "cells_ms": cells_ms,
        "times": options.sentences * cells_ms / unit_ms,
        "apart": float(np.abs(found[0].numpy() - by_cells).max()),
    }


def _structure(kind: str, potentials: Tensor) -> Any:
    return ProjectiveTree(potentials, single_root=True) if kind == "tree" else LinearChain(potentials)


def _by_cells(kind: str, potentials: Array) -> Array:
    """The marginals of one sentence, with one cell of the table after the other."""
    if kind == "tree":
        return fill(potentials, single_root=True).marginals
    length, states, _ = potentials.shape
    raised = np.exp(potentials)
    α, β = np.ones((length + 1, states)), np.ones((length + 1, states))
    for i in range(length):
        for b in range(states):
            α[i + 1, b] = sum(α[i, a] * raised[i, a, b] for a in range(states))
    for i in reversed(range(length)):
        for a in range(states):
            β[i, a] = sum(raised[i, a, b] * β[i + 1, b] for b in range(states))
    return np.asarray(α[:-1, :, None] * raised * β[1:, None, :] / α[-1].sum())


class _Operations(TorchDispatchMode):
    """Counts operations on tensors; a view computes nothing."""

    count: int = 0

    def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.count += not function.is_view
        return function(*args, **(kwargs or {}))


def _operations(kind: str, potentials: Tensor) -> int:
    """Of the plain torch code of log Z, with no kernel of regard."""
    counted = _Operations()
    with plainly(), counted:
        _structure(kind, potentials).log_partition  # noqa: B018 — computed when it is read
    return counted.count


def _fastest_of(call: Callable[[], Any], repetitions: int) -> tuple[Any, float]:
    """What a call gives, and the milliseconds of the fastest of several."""
    times, found = [], None
    for _ in range(repetitions):
        begin = perf_counter()
        found = call()
        times.append(1000 * (perf_counter() - begin))
    return found, min(times)
