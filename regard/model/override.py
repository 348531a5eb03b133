"""Overriding the attention, to see how the answer changes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from torch import Tensor

from regard.data.columns import AlignmentColumn, PlacesColumn
from regard.errors import RegardError
from regard.nn.decoders.glimpsing import wanted
from regard.nn.memory import Memory
from regard.trace.prediction import Prediction

Override = str | Mapping[str, str]
"""An override of the attention, in the formats of the data; a mapping from names if several inputs are
attended to: "3-0 4-0" is positions 3 and 4 of the input for piece 0 of the output; "0:0.1,0.2,0.3,0.5" is a
region of an image for piece 0 (left, top, right, bottom); two numbers are a span of time."""


def check_look(look: Override, *, inputs: int, models: int = 1) -> None:
    """Check that there is one input and one model, because positions depend on both."""
    if inputs != 1 or models != 1:
        raise RegardError(
            f"look works with one input and no ensemble; received {inputs} inputs and {models} models.",
            where="look",
        )


def check_reached(look: Override, answer: Prediction) -> None:
    """Refuse an override for a piece that the output does not have, since it has no effect."""
    if answer.trace is None or answer.trace.single:
        return
    count = len(answer.trace.output)
    for one in (look,) if isinstance(look, str) else look.values():
        for link in one.split():
            piece = link.partition(":")[0] if ":" in link else link.rpartition("-")[2]
            if piece.isdigit() and int(piece) >= count:
                raise RegardError(
                    f"the output has no piece {piece}; its pieces are 0 to {count - 1}.",
                    where=f"look {look!r}",
                )


def check_sampled(answer: Prediction) -> None:
    """Refuse to draw samples if the model has no joint selection."""
    found = {} if answer.trace is None else answer.trace.structures
    if all(getattr(one, "samples", None) is None for one in found.values()):
        raise RegardError(
            "this model has no structured selection to sample from.",
            where="samples",
            fix="Leave samples out.",
        )


def with_override(look: Override, encoded: Mapping[str, Memory], decoder: Any) -> dict[str, Memory]:
    """The memories of one row, with the override in those that are attended to."""
    attended = decoder.attended
    if not attended:
        raise RegardError("this output has no attention to override.", where="look")
    by_name = {attended[0]: look} if isinstance(look, str) else dict(look)
    if isinstance(look, str) and len(attended) > 1:
        raise RegardError(
            f"the output attends to {', '.join(attended)}, and look does not name one of them.",
            where="look",
            fix=f"Name it: {{{attended[0]!r}: {look!r}}}.",
        )
    for name in by_name:
        if name not in attended:
            raise RegardError(
                f"the output does not attend to {name!r}.",
                where="look",
                fix=f"It attends to {', '.join(attended)}.",
            )
        if not isinstance(by_name[name], str):
            raise RegardError(f"expected a text such as 3-0, received {by_name[name]!r}.", where="look")
    glimpses = decoder.looks
    return {
        name: replace(memory, override=_table(by_name[name], name, decoder.looked_at(name, memory), glimpses))
        if name in by_name
        else memory
        for name, memory in encoded.items()
    }


def _table(look: str, name: str, memory: Memory, glimpses: int | None) -> Tensor:
    """(1, T, S); for a label one row for each glimpse."""
    if ":" in look:
        column = PlacesColumn("look", of=(name, "output"))
        places = column.collate([column.encode(look)]).to(memory.mask.device)
        if (places.boxes.shape[-1] == 4) != (memory.shape is not None):
            kind = (
                "an image: a region has four numbers"
                if memory.shape
                else "a sequence: a region has two numbers"
            )
            raise RegardError(f"{name!r} is {kind}.", where=f"look {look!r}")
        steps = _refuse_beyond(look, places.steps[0].tolist(), glimpses)
        table = places.on(memory.mask, memory.shape, steps)
    else:
        links = AlignmentColumn("look", of=(name, "output")).encode(look).reshape(-1, 2)  # position, output
        steps, length = _refuse_beyond(look, links[:, 1].tolist(), glimpses), int(memory.mask.sum())
        if len(links) and int(links[:, 0].max()) >= length:
            raise RegardError(
                f"there is no position {int(links[:, 0].max())}; the positions of {name!r} are 0 to {length - 1}.",
                where=f"look {look!r}",
            )
        table = memory.values.new_zeros(1, steps, memory.mask.shape[1])
        table[0, links[:, 1], links[:, 0]] = 1.0
        table = table / table.sum(-1, keepdim=True).clamp(min=1.0)
    return table if glimpses is None else wanted(table, glimpses)


def _refuse_beyond(look: str, numbers: list[int], glimpses: int | None) -> int:
    """The number of rows: for a label one for each glimpse, for a text up to the largest number given."""
    if glimpses is None:
        return max(numbers, default=-1) + 1
    if max(numbers, default=0) >= glimpses:
        raise RegardError(
            f"there is no glimpse {max(numbers)}; the glimpses are 0 to {glimpses - 1}.",
            where=f"look {look!r}",
        )
    return glimpses
