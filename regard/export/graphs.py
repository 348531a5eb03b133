"""A model as two programs: its encoder, up to the first state of the decoder, and one step; or one that answers.

    encoder   inputs → what all hypotheses about a source share (memories, keys) and the first state
    step      previous tokens (B, K), position, shared tensors, state → logits (B, K, V), attention (B, K, S), state

`torch.export` records them from these plain modules, with any number of rows, positions and hypotheses.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import torch
from torch import Tensor, nn

from regard.export.inputs import ExampleInputs
from regard.export.leaves import leaves, with_leaves
from regard.nn.network import Network, answering
from regard.nn.portable import portably
from regard.private import can_scan

ENCODER, STEP, ANSWER = "encoder", "step", "model"
TOKENS, POSITION, LOGITS, ALLOWED = "tokens", "position", "logits", "allowed"
LOOKS, NEXT, LENGTH = "attention.", "next.", "length."
LOGS = "log_probabilities"


@dataclass(frozen=True)
class ExportedGraph:
    """One program, with the names of its inputs and outputs in their order.

    module    what it computes, as a torch module
    example   inputs from which it is recorded
    axes      {input: {axis: name}}, the axes of any length
    """

    name: str
    module: nn.Module
    example: tuple[Tensor, ...]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    axes: Mapping[str, Mapping[int, str]]

    @cached_property
    def program(self) -> Any:
        """The program, recorded by `torch.export` when it is first asked for."""
        can_scan()  # tried before torch records, because a trial would fail then
        sizes = {name: torch.export.Dim(name) for one in self.axes.values() for name in one.values()}
        shapes = tuple({axis: sizes[name] for axis, name in one.items()} for one in self.axes.values())
        with torch.no_grad(), answering(self), warnings.catch_warnings(), portably():
            warnings.simplefilter("ignore")
            program = torch.export.export(self.module, self.example, dynamic_shapes=(shapes,), strict=False)
        for part in program.graph_module.modules():
            for node in part.graph.nodes if isinstance(part, torch.fx.GraphModule) else ():
                node.meta.pop("stack_trace", None)  # paths of this machine
        return program

    @property
    def network(self) -> nn.Module:
        return self.module


@dataclass(frozen=True)
class ExportedGraphs:
    """All programs of a model.

    shared   outputs of the encoder that every step reads as they are
    state    outputs of the encoder that every step replaces: (B, 1, …) before the first step, then (B, K, …)
    looks    the memories that a step attends to
    timed    whether a step also reads its position
    recipes  how the inputs are read, as their columns give it (`Column.exported`)
    grids    rows and columns of the memories that are grids
    begin, end, forbidden, longest   see `Stepwise`; longest: the limits of the lengths 1 and 2, which are linear
    """

    graphs: tuple[ExportedGraph, ...]
    recipes: Mapping[str, Mapping[str, Any]]
    shared: tuple[str, ...] = ()
    state: tuple[str, ...] = ()
    looks: tuple[str, ...] = ()
    timed: bool = False
    grids: Mapping[str, Sequence[int]] = field(default_factory=dict)
    begin: int = 0
    end: int = 0
    forbidden: tuple[int, ...] = ()
    longest: tuple[int, int] = (0, 0)

    def named(self, name: str) -> ExportedGraph:
        return next(graph for graph in self.graphs if graph.name == name)


class EncoderModule(nn.Module):
    """The encoders and the first state of the decoder."""

    def __init__(self, network: Network, output: str, example: ExampleInputs) -> None:
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


class StepModule(nn.Module):
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


class AnswerModule(nn.Module):
    """The encoders and a decoder that answers at once."""

    def __init__(self, network: Network, output: str, example: ExampleInputs) -> None:
        super().__init__()
        self.network, self.output, self.example = network, output, example

    def found(self, *given: Tensor) -> dict[str, Tensor]:
        batch: Any = self.example.collated(given)
        memories = self.network.memories(self.output, self.network.encode(batch))
        decoder: Any = self.network.decoders[self.output]
        return {name: leaf for name, leaf in leaves(decoder.predict(memories)) if isinstance(leaf, Tensor)}

    def forward(self, *given: Tensor) -> tuple[Tensor, ...]:
        return tuple(self.found(*given).values())
