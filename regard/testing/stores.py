"""Checks of stores and of networks for images."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from regard.testing.layers import ROWS, SIZE, numbers
from regard.testing.lettering import check_lines
from regard.testing.modules import check_module
from regard.testing.report import PartReport, Stop


def check_store(report: PartReport, options: Any) -> None:
    with report.calling("build", "a store"):
        store = options.part.build(options, SIZE)
    controls = numbers(3, ROWS, SIZE)

    def call(module: Any, given: Sequence[Tensor]) -> Tensor:
        state, reads = module.start(len(given[0])), [module.first_reads(len(given[0]))]
        for one in given:
            done = module.step(one, state)
            state = done.state
            reads.append(done.reads)
        return torch.cat(reads, -1)

    with report.apart():
        _stepped(report, store, controls[0])
    make = lambda: options.part.build(options, SIZE)  # noqa: E731
    check_module(report, "step", make, call, list(controls), reaching=1)
    with report.calling("equations", "lines of the notation"):
        lines = options.part.equations(options, "j", "s_j", "S")
    check_lines(report, "equations", ["j = 1 … S", *lines])


def _stepped(report: PartReport, store: Any, control: Tensor) -> None:
    with report.calling("start", "the state before the first step"):
        state = store.start(ROWS)
    short = next((one for one in _tensors(state) if one.ndim and len(one) != ROWS), None)
    if short is not None:
        report.add("start", f"a state with {ROWS} rows, as asked", f"a tensor {tuple(short.shape)}")
        raise Stop
    with report.calling("first_reads", "what is read before the first step"):
        first = store.first_reads(ROWS)
    report.shape("first_reads", first, (ROWS, store.heads * store.width), "(B, heads · width)")
    with report.calling("step", "a StoreStep"):
        done = store.step(control, state)
        reads, looks = done.reads, done.looks
    report.shape("step", reads, (ROWS, store.heads * store.width), "reads (B, heads · width)")
    for name, look in looks.items():
        holds = isinstance(look, Tensor) and look.ndim == 3 and len(look) == ROWS
        report.is_true("step", holds, f"looks[{name!r}] (B, heads, slots)", tuple(getattr(look, "shape", ())))


def _tensors(state: Any) -> Iterator[Tensor]:
    """The tensors in a state, which is one, or holds some."""
    if isinstance(state, Tensor):
        yield state
    elif isinstance(state, tuple | list):
        for one in state:
            yield from _tensors(one)
    elif isinstance(state, Mapping):
        yield from _tensors(list(state.values()))
    elif hasattr(state, "__dict__"):
        yield from _tensors(list(vars(state).values()))


def check_network(report: PartReport, options: Any) -> None:
    canvas = (3, 32, 32)
    with report.calling("build", "a network"):
        network = options.part.build(options, canvas, read_files=False)
    pixels = numbers(ROWS, *canvas)
    with report.calling("forward", "features and a summary"):
        found = network.eval()(pixels)
    if not isinstance(found, tuple) or len(found) != 2:
        report.add("forward", "a tuple of features and a summary", type(found).__name__)
        raise Stop
    features, summary = found
    words = "features (B, channels, rows, columns)"
    with report.apart():
        report.shape("forward", features, (ROWS, network.channels, *network.grid), words)
    with report.apart():
        report.shape("forward", summary, (ROWS, network.summary_size), "summary (B, summary_size)")

    def call(module: Any, given: Sequence[Tensor]) -> Tensor:
        found, whole = module(given[0])
        return torch.cat([found.flatten(1), whole], -1)

    make = lambda: options.part.build(options, canvas, read_files=False)  # noqa: E731
    check_module(report, "forward", make, call, (pixels,))
    with report.calling("board", "lines of the notation"):
        lines = options.part.board(options, "x", "", "h")
    check_lines(report, "board", ["j = 1 … S", *lines])
