"""A model as two programs: its encoder, up to the first state of the decoder, and one step; or one that answers.

    encoder   inputs → what all hypotheses about a source share (memories, keys) and the first state
    step      previous tokens (B, K), position, shared tensors, state → logits (B, K, V), attention (B, K, S), state

Both are recorded by `torch.export` from plain modules, with any number of rows, positions and hypotheses.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from regard.errors import RegardError
from regard.export.inputs import Example
from regard.export.leaves import leaves, with_leaves
from regard.nn.network import Network, answering
from regard.nn.path import without_fast_paths
from regard.nn.portable import portably
from regard.private import can_scan

ENCODER, STEP, ANSWER = "encoder", "step", "model"
TOKENS, POSITION, LOGITS, ALLOWED = "tokens", "position", "logits", "allowed"
LOOKS, NEXT, LENGTH = "attention.", "next.", "length."
ROWS, HYPOTHESES = (3, 5), (4, 6)
"""Sizes of the two examples from which the axes of any length are found."""
STEPS = (2, 3)
EXAMPLES = tuple(zip(ROWS, HYPOTHESES, strict=True))


@dataclass(frozen=True)
class Graph:
    """One program, with the names of its inputs and outputs in their order.

    module   the same as a torch module
    """

    name: str
    module: nn.Module
    program: Any
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]


@dataclass(frozen=True)
class Graphs:
    """All programs of a model.

    shared   outputs of the encoder that every step reads as they are
    state    outputs of the encoder that every step replaces: (B, 1, …) before the first step, then (B, K, …)
    looks    the memories that a step attends to
    timed    whether a step also reads its position
    grids    rows and columns of the memories that are grids
    begin, end, forbidden, longest   see `Stepwise`; longest: the limits of the lengths 1 and 2, which are linear
    """

    graphs: tuple[Graph, ...]
    shared: tuple[str, ...] = ()
    state: tuple[str, ...] = ()
    looks: tuple[str, ...] = ()
    timed: bool = False
    grids: Mapping[str, Sequence[int]] = field(default_factory=dict)
    begin: int = 0
    end: int = 0
    forbidden: tuple[int, ...] = ()
    longest: tuple[int, int] = (0, 0)

    def named(self, name: str) -> Graph:
        return next(graph for graph in self.graphs if graph.name == name)


class Encoding(nn.Module):
    """The encoders and the first state of the decoder."""

    def __init__(self, network: Network, output: str, example: Example) -> None:
        super().__init__()
        self.network, self.output, self.example = network, output, example
        self.kept: tuple[str, ...] = ()

    @property
    def decoder(self) -> Any:
        return self.network.decoders[self.output]

    def begun(self, *given: Tensor) -> dict[str, Any]:
        batch: Any = self.example.collated(given)
        memories = self.network.memories(self.output, self.network.encode(batch))
        return {"memory": memories, "state": self.decoder.start(memories)}

    def forward(self, *given: Tensor) -> tuple[Tensor, ...]:
        begun = self.begun(*given)
        found = dict(leaves(begun))
        lengths = (memory.mask.sum(1) for memory in begun["memory"].values())
        return (*(found[name] for name in self.kept), *lengths)


class Stepping(nn.Module):
    """One step of the decoder.

    begun    memories and a state, whose tensors are replaced by the inputs
    shared   names of the tensors that every step reads as they are; `state`: of those that it replaces
    timed    whether the step also depends on its number
    """

    def __init__(
        self, decoder: Any, begun: Any, shared: Sequence[str], state: Sequence[str], *, timed: bool
    ) -> None:
        super().__init__()
        self.decoder, self.begun, self.timed = decoder, begun, timed
        self.shared, self.state = tuple(shared), tuple(state)
        self.looks: tuple[str, ...] = ()
        self.allows = False

    @property
    def inputs(self) -> tuple[str, ...]:
        return (TOKENS, *((POSITION,) if self.timed else ()), *self.shared, *self.state)

    @property
    def outputs(self) -> tuple[str, ...]:
        allowed = (ALLOWED,) if self.allows else ()
        after = (NEXT + name for name in self.state)
        return (LOGITS, *allowed, *(LOOKS + name for name in self.looks), *after)

    def forward(self, *given: Tensor) -> tuple[Tensor, ...]:
        known = dict(zip(self.inputs, given, strict=True))
        position = known[POSITION].item() if self.timed else 0

        def put(name: str, leaf: Any) -> Any:
            return known.get(name, leaf) if isinstance(leaf, Tensor) else position

        begun = {
            "memory": with_leaves(self.begun["memory"], lambda name, leaf: known.get(name, leaf), "memory"),
            "state": with_leaves(self.begun["state"], put, "state"),
        }
        step = self.decoder.step(known[TOKENS], begun["state"], begun["memory"])
        after = dict(leaves(step.state, "state"))
        self.looks, self.allows = tuple(step.looks), step.allowed is not None
        allowed = () if step.allowed is None else (step.allowed,)
        return (step.logits, *allowed, *step.looks.values(), *(after[name] for name in self.state))


class Answering(nn.Module):
    """The encoders and a decoder that answers at once."""

    def __init__(self, network: Network, output: str, example: Example) -> None:
        super().__init__()
        self.network, self.output, self.example = network, output, example

    def found(self, *given: Tensor) -> dict[str, Tensor]:
        batch: Any = self.example.collated(given)
        memories = self.network.memories(self.output, self.network.encode(batch))
        decoder: Any = self.network.decoders[self.output]
        return {name: leaf for name, leaf in leaves(decoder.predict(memories)) if isinstance(leaf, Tensor)}

    def forward(self, *given: Tensor) -> tuple[Tensor, ...]:
        return tuple(self.found(*given).values())


@dataclass
class _Axes:
    """The names of the axes of any length, by their sizes in the two examples."""

    known: dict[tuple[int, int], str] = field(
        default_factory=lambda: {ROWS: "rows", HYPOTHESES: "hypotheses"}
    )

    def of(self, one: Tensor, other: Tensor) -> dict[int, Any]:
        found = {}
        for axis, sizes in enumerate(zip(one.shape, other.shape, strict=True)):
            if sizes[0] != sizes[1]:
                name = self.known.setdefault(sizes, f"length{len(self.known) - 1}")
                found[axis] = torch.export.Dim(name)
        return found


def record(network: Network, output: str, examples: tuple[Example, Example]) -> Graphs:
    """The programs of one output of a network.

    examples   inputs of two sizes: ROWS rows, and other lengths
    """
    can_scan()  # tried here, because a trial while torch records would fail
    with ExitStack() as stack:
        stack.enter_context(torch.no_grad())
        stack.enter_context(answering(_Holder(network)))
        stack.enter_context(warnings.catch_warnings())
        warnings.simplefilter("ignore")
        decoder: Any = network.decoders[output]
        if not decoder.stepwise:
            return _at_once(network, output, examples)
        return _stepwise(network, output, examples)


@dataclass
class _Holder:
    network: Network


def _at_once(network: Network, output: str, examples: tuple[Example, Example]) -> Graphs:
    module, axes = Answering(network, output, examples[0]), _Axes()
    with without_fast_paths():
        outputs = tuple(module.found(*examples[0].tensors))
        begun = network.memories(output, network.encode(examples[0].collated(examples[0].tensors)))  # type: ignore[arg-type]
    program = _exported(module, [example.tensors for example in examples], axes)
    return Graphs((Graph(ANSWER, module, program, examples[0].names, outputs),), grids=_grids(begun))


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
        given = [
            _given(one, step, count, sizes) for one, count, sizes in zip(before, STEPS, EXAMPLES, strict=True)
        ]
        with _Watching() as seen:
            step(*given[0])
        read = {name for name, tensor in zip(step.inputs, given[0], strict=True) if id(tensor) in seen.ids}
        step.shared = tuple(name for name in step.shared if name in read)
        given = [
            _given(one, step, count, sizes) for one, count, sizes in zip(before, STEPS, EXAMPLES, strict=True)
        ]
        program = _exported(step, given, axes)
    encoding.kept = (*step.shared, *step.state)
    lengths = tuple(LENGTH + name for name in first["memory"])
    encoder = _exported(encoding, [example.tensors for example in examples], axes)
    return Graphs(
        (
            Graph(ENCODER, encoding, encoder, examples[0].names, (*encoding.kept, *lengths)),
            Graph(STEP, step, program, step.inputs, step.outputs),
        ),
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
    from regard.data.batch import BEGIN

    return int(getattr(decoder, "begin", BEGIN))


def _limits(decoder: Any) -> dict[str, Any]:
    from regard.data.batch import END, PAD

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


def _given(begun: Any, step: Stepping, count: int, sizes: tuple[int, int]) -> tuple[Tensor, ...]:
    """The inputs of a step."""
    known = dict(leaves(begun))
    tokens = torch.arange(sizes[0] * sizes[1]).view(*sizes) % 3 + 1
    position = (torch.tensor(count),) if step.timed else ()
    return (tokens, *position, *(known[name] for name in (*step.shared, *step.state)))


def _exported(module: nn.Module, given: Sequence[Sequence[Tensor]], axes: _Axes) -> Any:
    shapes = tuple(axes.of(one, other) for one, other in zip(*given, strict=True))
    with portably():
        return torch.export.export(module.eval(), tuple(given[0]), dynamic_shapes=(shapes,), strict=False)


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
