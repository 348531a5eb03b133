"""Record the programs of a model with `torch.export`, from two made-up examples."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from regard.data.batch import BEGIN, END, PAD
from regard.errors import RegardError
from regard.export.graphs import ANSWER, ENCODER, LENGTH, STEP, Answering, Encoding, Graph, Graphs, Stepping
from regard.export.inputs import Example
from regard.export.leaves import leaves
from regard.nn.network import Network, answering
from regard.nn.path import without_fast_paths
from regard.nn.portable import portably
from regard.private import can_scan

ROWS, HYPOTHESES, STEPS = (3, 5), (4, 6), (2, 3)
"""Sizes of the two examples; axes whose sizes differ have any length."""
EXAMPLES = tuple(zip(ROWS, HYPOTHESES, strict=True))


@dataclass
class Trained:
    """What `answering` asks of a model."""

    network: Network


@dataclass
class _Axes:
    """The names of the axes of any length, by their sizes in the two examples."""

    known: dict[tuple[int, int], str] = field(
        default_factory=lambda: {ROWS: "rows", HYPOTHESES: "hypotheses"}
    )

    def of(self, one: Tensor, other: Tensor) -> dict[int, str]:
        found: dict[int, str] = {}
        for axis, sizes in enumerate(zip(one.shape, other.shape, strict=True)):
            if sizes[0] != sizes[1]:
                name = self.known.setdefault(sizes, f"length{len(self.known) - 1}")
                found[axis] = name
        return found

    def by_name(self, names: Sequence[str], given: Sequence[Sequence[Tensor]]) -> dict[str, dict[int, str]]:
        """{input: {axis: name}} of the inputs of a program, from the tensors of both examples."""
        return {name: self.of(one, other) for name, one, other in zip(names, *given, strict=True)}


def record(network: Network, output: str, examples: tuple[Example, Example]) -> Graphs:
    """The programs of one output of a network.

    examples   inputs of two sizes: ROWS rows, and other lengths
    """
    can_scan()  # tried here, because a trial while torch records would fail
    with ExitStack() as stack:
        stack.enter_context(torch.no_grad())
        stack.enter_context(answering(Trained(network)))
        stack.enter_context(warnings.catch_warnings())
        warnings.simplefilter("ignore")
        decoder: Any = network.decoders[output]
        if not decoder.stepwise:
            return _at_once(network, output, examples)
        return _stepwise(network, output, examples)


def _at_once(network: Network, output: str, examples: tuple[Example, Example]) -> Graphs:
    module, axes = Answering(network, output, examples[0]), _Axes()
    with without_fast_paths():
        outputs = tuple(module.found(*examples[0].tensors))
        begun = network.memories(output, network.encode(examples[0].collated(examples[0].tensors)))  # type: ignore[arg-type]
    given = [example.tensors for example in examples]
    graph = _exported(ANSWER, module, examples[0].names, outputs, given, axes)
    return Graphs((graph,), grids=_grids(begun))


def _stepwise(network: Network, output: str, examples: tuple[Example, Example]) -> Graphs:
    encoding, axes = Encoding(network, output, examples[0]), _Axes()
    decoder, before = encoding.decoder, []
    with without_fast_paths():
        for example, rows, hypotheses, steps in zip(examples, ROWS, HYPOTHESES, STEPS, strict=True):
            begun = encoding.begun(*example.tensors)
            tokens = torch.full((rows, hypotheses), _begin(decoder))
            state = begun["state"].reorder(torch.zeros_like(tokens))
            for _ in range(steps):
                state = decoder.step(tokens, state, begun["memory"]).state
            before.append({"memory": begun["memory"], "state": state})
        first, timed = encoding.begun(*examples[0].tensors), not decoder.timeless
        shared, state = _apart(first, before[0], decoder, tokens[: ROWS[0], : HYPOTHESES[0]])
        step = Stepping(decoder, before[0], shared, state, timed=timed)
        (given,) = _given(before[:1], step)
        with _Watching() as seen:
            step(*given)
        read = {name for name, tensor in zip(step.inputs, given, strict=True) if id(tensor) in seen.ids}
        step.shared = tuple(name for name in step.shared if name in read)
        stepping = _exported(STEP, step, step.inputs, step.outputs, _given(before, step), axes)
    encoding.kept = (*step.shared, *step.state)
    outputs = (*encoding.kept, *(LENGTH + name for name in first["memory"]))
    tensors = [example.tensors for example in examples]
    encoder = _exported(ENCODER, encoding, examples[0].names, outputs, tensors, axes)
    return Graphs(
        (encoder, stepping),
        step.shared,
        step.state,
        step.looks,
        timed,
        _grids(first["memory"]),
        **_limits(decoder),
    )


def _grids(memories: Mapping[str, Any]) -> dict[str, Sequence[int]]:
    return {name: list(one.shape) for name, one in memories.items() if one.layout == "grid" and one.shape}


def _begin(decoder: Any) -> int:
    return int(getattr(decoder, "begin", BEGIN))


def _limits(decoder: Any) -> dict[str, Any]:
    lengths = torch.tensor([1, 2])
    longest = getattr(decoder, "longest", None)
    limits = 2 * lengths + 20 if longest is None else longest(lengths)
    begin = _begin(decoder)
    return {
        "begin": begin,
        "end": int(getattr(decoder, "end", END)),
        "forbidden": tuple(getattr(decoder, "forbidden", (PAD, begin))),
        "longest": (int(limits[0]), int(limits[1])),
    }


def _apart(first: Any, later: Any, decoder: Any, tokens: Tensor) -> tuple[list[str], list[str]]:
    """The names of the tensors that steps share, and of those that they replace."""
    after = dict(leaves(decoder.step(tokens, later["state"], later["memory"]).state, "state"))
    shared: list[str] = []
    state: list[str] = []
    for name, leaf in leaves(later):
        if isinstance(leaf, Tensor):
            moves = name in after and after[name] is not leaf
            (state if moves else shared).append(name)
    known = dict(leaves(first))
    if missing := [name for name in (*shared, *state) if name not in known]:
        raise RegardError(f"its state has no {missing[0]} before the first step.")
    return shared, state


def _given(begun: Sequence[Any], step: Stepping) -> list[tuple[Tensor, ...]]:
    """The inputs of a step, of each example."""
    found = []
    for one, count, sizes in zip(begun, STEPS, EXAMPLES, strict=False):
        known = dict(leaves(one))
        tokens = torch.arange(sizes[0] * sizes[1]).view(*sizes) % 3 + 1
        position = (torch.tensor(count),) if step.timed else ()
        found.append((tokens, *position, *(known[name] for name in (*step.shared, *step.state))))
    return found


def _exported(
    name: str,
    module: nn.Module,
    inputs: Sequence[str],
    outputs: Sequence[str],
    given: Sequence[Sequence[Tensor]],
    axes: _Axes,
) -> Graph:
    named = axes.by_name(inputs, given)
    sizes = {name: torch.export.Dim(name) for one in named.values() for name in one.values()}
    shapes = tuple({axis: sizes[name] for axis, name in one.items()} for one in named.values())
    with portably():
        program = torch.export.export(module.eval(), tuple(given[0]), dynamic_shapes=(shapes,), strict=False)
    return Graph(name, module, program, tuple(inputs), tuple(outputs), named)


class _Watching(TorchFunctionMode):
    """Which tensors functions of torch read meanwhile, even if only their shapes; by identity."""

    def __init__(self) -> None:
        super().__init__()
        self.ids: set[int] = set()

    def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        for one in (*args, *(kwargs or {}).values()):
            for part in one if isinstance(one, list | tuple) else (one,):
                if isinstance(part, Tensor):
                    self.ids.add(id(part))
        return function(*args, **(kwargs or {}))
