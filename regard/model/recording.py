"""Recording more of a prediction than its attention: gates and states, the tree of the search, times.

    model.predict(text, record="states")                       all gates and states
    model.predict(text, record=("states:decoder", "beam"))     those of the decoder, and the tree of the search
    model.predict(text, record="states:encoder.forward@3")     at position 3 alone, counted from 0
    model.predict(text, record="heads:decoder layer 2")        the heads of these layers alone

    model.predict(text, record="potentials")                   the scores behind its structures

The answer is computed as always. Then the chosen cells compute it once more with their own methods, step by step, and
everything else with its fast paths. The tree of a search is recorded by the plain search.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from regard.errors import RegardError
from regard.model.inference import BatchInference
from regard.nn.decoders.stepwise import END_PIECE
from regard.nn.network import Network
from regard.nn.recurrence import named_cells
from regard.nn.search import SearchTree, token_by_token
from regard.nn.search.score import Forced
from regard.nn.watching import CellRecord, only_heads, watching
from regard.spec import Spec
from regard.trace import Array, BeamTree, Potentials, Trace
from regard.trace.prediction import Prediction

HOW = 'Choose from "states", "states:NAME", "states:NAME@STEP", "heads:LAYER", "beam", "potentials" and "times".'


@dataclass(frozen=True)
class RecordWish:
    """The states whose names begin with a name, at one step or at all."""

    name: str = ""
    step: int | None = None

    def reaches(self, cell: str) -> bool:
        """Whether some states of a cell are wanted."""
        return cell.startswith(self.name) or self.name.startswith(f"{cell}.")


@dataclass(frozen=True)
class TraceRecording:
    """What to record.

    states   which gates and states
    heads    names of layers, of which the heads are kept; None: all
    """

    states: tuple[RecordWish, ...] = ()
    heads: tuple[str, ...] | None = None
    beam: bool = False
    potentials: bool = False
    times: bool = False


def read_recording(record: str | Sequence[str]) -> TraceRecording:
    """What is asked for by words."""
    states, heads, plain = [], [], set()
    for one in [record] if isinstance(record, str) else record:
        kind, _, name = str(one).partition(":")
        kind, name = kind.strip(), name.strip()
        if kind == "states":
            name, _, step = name.partition("@")
            if step and not (step.isascii() and step.isdecimal()):
                raise RegardError(f"{step!r} is not the number of a step.", where=f"record {one!r}", fix=HOW)
            states.append(RecordWish(name, int(step) if step else None))
        elif kind == "heads" and name:
            heads.append(name)
        elif kind in ("beam", "potentials", "times") and not name:
            plain.add(kind)
        else:
            raise RegardError(f"there is nothing to record with the name {one!r}.", where="record", fix=HOW)
    found = dict.fromkeys(plain, True)
    return TraceRecording(tuple(states), tuple(heads) or None, **found)


class Clock:
    """Milliseconds by part."""

    def __init__(self, device: torch.device) -> None:
        self.device = device
        self.times: dict[str, float] = {}

    @contextmanager
    def part(self, name: str) -> Iterator[None]:
        start = self._now()
        yield
        self.times[name] = self.times.get(name, 0.0) + 1000 * (self._now() - start)

    def _now(self) -> float:
        if self.device.type == "cuda":
            torch.cuda.synchronize(self.device)
        return time.perf_counter()


class TraceRecorder:
    """Records the answer of a batch of one row."""

    def __init__(self, inference: BatchInference, recording: TraceRecording) -> None:
        self.inference, self.recording = inference, recording
        self.clock = Clock(inference.network.device)
        self.trees: list[SearchTree] = []

    def find(self, prefix: str | None, others: Sequence[BatchInference], keys: Sequence[int] | None) -> Any:
        """As `BatchInference.find`, with the tree of the search and the times."""
        traced = self.recording.beam and self.inference.decoder.stepwise
        with self.clock.part("encoder"):
            self.inference.encoded  # noqa: B018  (computed here, kept for later)
        with self.clock.part("decoder"):
            return self.inference.find(prefix, others, keys, self.trees if traced else None)

    def structured(self, answers: Sequence[Prediction], found: Any, samples: int) -> list[Prediction]:
        """The answer with all that was recorded in its trace.

        found   the result of the decoder
        """
        with self.clock.part("trace"), only_heads(self.recording.heads):
            (answer,) = self.inference.structured(answers, found, samples)
        if answer.trace is None:
            return [answer]
        more: dict[str, Any] = {}
        if self.recording.states:
            with self.clock.part("states"):
                more["states"] = _states(self.inference, found, self.recording.states)
        if self.trees:
            more["beam"] = _beam(self.inference, self.trees[0], answer.trace.input)
        if self.recording.potentials:
            with self.clock.part("potentials"):
                more["potentials"] = _potentials(self.inference, found, answer.trace)
        if self.recording.times:
            more["times"] = self.clock.times
        return [replace(answer, trace=replace(answer.trace, **more))]


def _states(inference: BatchInference, found: Any, wanted: Sequence[RecordWish]) -> dict[str, Array]:
    """(N, D) by name: the encoders of all inputs, then the decoder."""
    network, shown = inference.network, {}
    several = len(inference.spec.encoder) > 1
    for name in inference.spec.encoder:
        prefix = f"encoder.{name}" if several else "encoder"
        with _watched(prefix, network.reader(name), wanted) as seen:
            if seen:
                network.encode_one(name, inference.read)
        shown.update(_named(seen, wanted))
        values, mask = inference.encoded[name].values, inference.encoded[name].mask
        if not seen and values.ndim == 3 and any(f"{prefix}.values".startswith(one.name) for one in wanted):
            shown.update(_kept({f"{prefix}.values": values[0, mask[0]]}, wanted))
    with _watched("decoder", inference.decoder, wanted) as seen:
        if seen:
            _repeat(inference, found)
    steps = int(found.lengths[0, 0]) if inference.decoder.stepwise else None
    shown.update(_named(seen, wanted, steps))
    if not shown and any(one.name for one in wanted):
        names = recordable(inference.spec, network, inference.output)
        known = ", ".join(one.removeprefix("states: ") for one in names if one != "beam") or "none"
        raise RegardError(
            "this model has no such gates and states.", where="record", fix=f"The cells are {known}."
        )
    return {name: rows.float().cpu().numpy() for name, rows in shown.items()}


def _potentials(inference: BatchInference, found: Any, trace: Trace) -> dict[str, Potentials]:
    """The scores behind the structures of the encoders and of the decoder, by input."""
    memories, shown = inference.memories, {}
    for name, memory in memories.items():
        if memory.heads is not None and len(trace.input[name]) == int(memory.heads.lengths[0]):
            count = int(memory.heads.lengths[0])
            scores = memory.heads.scores[0, :count, : count + 1].float().cpu().numpy().T  # heads by words
            table = np.zeros((count + 1, count + 1))
            table[:, 1:] = scores
            shown[name] = Potentials("trees", table)
    if not any(memory.override is not None for memory in memories.values()):
        shown.update(inference.decoder.potentials(found, memories))
    return {name: _labeled(one, inference, trace, name) for name, one in shown.items()}


def _labeled(found: Potentials, inference: BatchInference, trace: Trace, name: str) -> Potentials:
    """With the names of labels and steps: a chain over the positions of an input labels them by its output."""
    if found.form != "chain" or found.steps:
        return found
    classes = getattr(inference.column, "classes", None) or ()
    labels = tuple(classes) if len(classes) == found.nodes.shape[1] else ()
    return replace(found, labels=labels, steps=tuple(trace.input[name]))


def _repeat(inference: BatchInference, found: Any) -> None:
    """The decoder once more: a search result is written again, token by token."""
    if not inference.decoder.stepwise:
        inference.decoder.predict(inference.memories, truth=inference.truth)
        return
    tokens = found.tokens[:, 0, : int(found.lengths[0, 0])]
    token_by_token(inference.stepper(), Forced(tokens), steps=tokens.shape[1])


@contextmanager
def _watched(prefix: str, module: Any, wanted: Sequence[RecordWish]) -> Iterator[dict[str, CellRecord]]:
    """The records of the wanted cells of a module, by name."""
    cells = {".".join(filter(None, (prefix, name))): cell for name, cell in named_cells(module).items()}
    chosen = {name: cell for name, cell in cells.items() if any(one.reaches(name) for one in wanted)}
    with watching(chosen.values()) as seen:
        yield {name: seen[cell] for name, cell in chosen.items()}


def _named(
    records: Mapping[str, CellRecord], wanted: Sequence[RecordWish], steps: int | None = None
) -> dict[str, Tensor]:
    """The wanted states; of a decoder, those of its last `steps` steps: what it read before writing is left out."""
    rows = {
        f"{cell}.{gate}": rows for cell, record in records.items() for gate, rows in record.rows().items()
    }
    return _kept(
        {name: one if steps is None else one[len(one) - steps :] for name, one in rows.items()}, wanted
    )


def _kept(states: Mapping[str, Tensor], wanted: Sequence[RecordWish]) -> dict[str, Tensor]:
    """Of some states, those that are wanted, at all steps or at some."""
    found = {}
    for name, rows in states.items():
        asked = [one for one in wanted if name.startswith(one.name)]
        if any(one.step is None for one in asked):
            found[name] = rows
        elif asked:
            kept = sorted({one.step for one in asked if one.step is not None and one.step < len(rows)})
            found.update({f"{name}@{step}": rows[step : step + 1] for step in kept})
    return found


def recordable(spec: Spec, network: Network, output: str) -> dict[str, str]:
    """The panels that show what can be recorded of an output, with their titles."""
    several = len(spec.encoder) > 1
    parts = {f"encoder.{name}" if several else "encoder": network.reader(name) for name in spec.encoder}
    decoder: Any = network.decoders[output]
    cells = [
        ".".join(filter(None, (prefix, name)))
        for prefix, part in {**parts, "decoder": decoder}.items()
        for name in named_cells(part)
    ]
    searched = {"beam": "The search as a tree"} if decoder.stepwise else {}
    return searched | {f"states: {name}": f"Gates and states: {name.replace('.', ', ')}" for name in cells}


def _beam(inference: BatchInference, tree: SearchTree, inputs: Mapping[str, Sequence[str]]) -> BeamTree:
    """The tree with readable pieces."""
    decoder, view = inference.decoder, inference.view()
    pieces = [""]
    for token in tree.tokens[1:]:
        if token == inference.stepper().end:
            pieces.append(END_PIECE)
        else:
            pieces.append(" ".join(decoder.readable([token], inference.column, view, 0)))
    attention = {
        name: rows[:, : len(inputs[name])].float().cpu().numpy()
        for name, rows in tree.attention().items()
        if name in inputs
    }
    method = inference.spec.search.method.type
    parents, scores, ranks = (np.array(one) for one in (tree.parents, tree.scores, tree.ranks))
    return BeamTree(pieces, parents, scores, tree.ended, ranks, attention, method)
