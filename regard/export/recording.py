"""What the programs of a model read and write, found from two made-up examples."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from regard.data.batch import BEGIN, END, PAD
from regard.errors import RegardError
from regard.export.graphs import (
    ANSWER,
    ENCODER,
    LENGTH,
    LOGS,
    STEP,
    AnswerModule,
    EncoderModule,
    ExportedGraph,
    ExportedGraphs,
    StepModule,
)
from regard.export.inputs import ExampleInputs
from regard.export.leaves import leaves
from regard.nn.network import Network, answering
from regard.nn.path import without_fast_paths

ROWS, HYPOTHESES, STEPS = (3, 5), (4, 6), (2, 3)
"""Sizes of the two examples; axes whose sizes differ have any length."""
EXAMPLES = tuple(zip(ROWS, HYPOTHESES, strict=True))


@dataclass
class _Trained:
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

    def graph(
        self,
        name: str,
        module: nn.Module,
        inputs: Sequence[str],
        outputs: Sequence[str],
        given: Sequence[Sequence[Tensor]],
    ) -> ExportedGraph:
        """A graph, whose inputs are given for both examples."""
        axes = {one: self.of(*tensors) for one, *tensors in zip(inputs, *given, strict=True)}
        return ExportedGraph(name, module, tuple(given[0]), tuple(inputs), tuple(outputs), axes)


def record(network: Network, output: str, examples: tuple[ExampleInputs, ExampleInputs]) -> ExportedGraphs:
    """The programs of one output of a network, each recorded when it is first asked for.

    examples   inputs of two sizes: ROWS rows, and other lengths
    """
    with torch.no_grad(), answering(_Trained(network)), without_fast_paths():
        decoder: Any = network.decoders[output]
        return (_stepwise if decoder.stepwise else _at_once)(network, output, examples)


def _at_once(network: Network, output: str, examples: tuple[ExampleInputs, ExampleInputs]) -> ExportedGraphs:
    module, axes = AnswerModule(network, output, examples[0]), _Axes()
    outputs = tuple(module.found(*examples[0].tensors))
    if LOGS not in outputs:
        raise RegardError(
            f"this model cannot be exported: its decoder of {output} answers by a structure, without a probability for "
            "each class.",
            where="export",
        )
    begun = network.memories(output, network.encode(examples[0].collated(examples[0].tensors)))  # type: ignore[arg-type]
    given = [example.tensors for example in examples]
    graph = axes.graph(ANSWER, module, examples[0].names, outputs, given)
    return ExportedGraphs((graph,), examples[0].recipes, grids=_grids(begun))


def _stepwise(network: Network, output: str, examples: tuple[ExampleInputs, ExampleInputs]) -> ExportedGraphs:
    encoding, axes = EncoderModule(network, output, examples[0]), _Axes()
    decoder, before = encoding.decoder, []
    for example, rows, hypotheses, steps in zip(examples, ROWS, HYPOTHESES, STEPS, strict=True):
        begun = encoding.begun(*example.tensors)
        tokens = torch.full((rows, hypotheses), _begin(decoder))
        state = begun["state"].reorder(torch.zeros_like(tokens))
        for _ in range(steps):
            state = decoder.step(tokens, state, begun["memory"]).state
        before.append({"memory": begun["memory"], "state": state})
    first, timed = encoding.begun(*examples[0].tensors), not decoder.timeless
    shared, state = _apart(first, before[0], decoder, tokens[: ROWS[0], : HYPOTHESES[0]])
    step = StepModule(decoder, before[0], shared, state, timed=timed)
    (given,) = _given(before[:1], step)
    with _Watching() as seen:
        step(*given)
    read = {name for name, tensor in zip(step.inputs, given, strict=True) if id(tensor) in seen.ids}
    step.shared = tuple(name for name in step.shared if name in read)
    stepping = axes.graph(STEP, step, step.inputs, step.outputs, _given(before, step))
    encoding.kept = (*step.shared, *step.state)
    outputs = (*encoding.kept, *(LENGTH + name for name in first["memory"]))
    tensors = [example.tensors for example in examples]
    encoder = axes.graph(ENCODER, encoding, examples[0].names, outputs, tensors)
    return ExportedGraphs(
        (encoder, stepping),
        examples[0].recipes,
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


def _given(begun: Sequence[Any], step: StepModule) -> list[tuple[Tensor, ...]]:
    """The inputs of a step, of each example."""
    found = []
    for one, count, sizes in zip(begun, STEPS, EXAMPLES, strict=False):
        known = dict(leaves(one))
        tokens = torch.arange(sizes[0] * sizes[1]).view(*sizes) % 3 + 1
        position = (torch.tensor(count),) if step.timed else ()
        found.append((tokens, *position, *(known[name] for name in (*step.shared, *step.state))))
    return found


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
