"""From edits to what is imposed on the attention of a batch, one list of edits for each row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import Any

import torch
from torch import Tensor

from regard.data.media import Places
from regard.errors import RegardError
from regard.model.edits.edit import (
    WHERE,
    Edit,
    PermuteEdit,
    PinEdit,
    RegionEdit,
    SegmentEdit,
    SpanEdit,
    StepEdit,
    TruthEdit,
    UniformEdit,
    WeightsEdit,
    ZeroEdit,
)
from regard.nn.imposed import Imposed
from regard.nn.memory import Memory
from regard.nn.selections.segment_rules import EVERY, NO_RULE

LOOKS = (
    WeightsEdit,
    PinEdit,
    ZeroEdit,
    UniformEdit,
    PermuteEdit,
    TruthEdit,
    RegionEdit,
    SpanEdit,
    SegmentEdit,
)
"""The edits of attention weights."""


def imposed(
    edits: Sequence[Sequence[Edit]],
    encoded: Mapping[str, Memory],
    decoder: Any,
    truth: Mapping[str, Any] | None = None,
) -> dict[str, Memory]:
    """The memories of a batch, with what the edits of each row impose on the attention of a decoder.

    truth   {input: (B, T, S)} the true attention, for `TruthEdit`
    """
    looks = [[one for one in row if isinstance(one, LOOKS)] for row in edits]
    named: dict[str, list[list[Edit]]] = {}
    for number, row in enumerate(looks):
        for one in row:
            name = input_of(one, decoder.attended)
            named.setdefault(name, [[] for _ in edits])[number].append(one)
    found = dict(encoded)
    for name, rows in named.items():
        if any(isinstance(one, SegmentEdit) for one in chain.from_iterable(rows)):
            _check_segments(name, decoder)
        memory = decoder.looked_at(name, encoded[name])
        rounds = getattr(decoder, "hops", None) if decoder.looks is None else decoder.looks
        table = ImposedTable(name, memory, rows, rounds, (truth or {}).get(name))
        found[name] = replace(encoded[name], override=table.build())
    return found


def input_of(edit: Edit, attended: Sequence[str]) -> str:
    """The attended input that an edit is about."""
    if not attended:
        raise RegardError("this output has no attention to override.", where=WHERE)
    if edit.input is None and len(attended) > 1:
        raise RegardError(
            f"the output attends to {', '.join(attended)}, and {WHERE} does not name one of them.",
            where=WHERE,
            fix=f"Name it: {{{attended[0]!r}: …}}, or input={attended[0]!r} of the edit.",
        )
    name = attended[0] if edit.input is None else edit.input
    if name not in attended:
        raise RegardError(
            f"the output does not attend to {name!r}.",
            where=WHERE,
            fix=f"It attends to {', '.join(attended)}.",
        )
    return name


def _check_segments(name: str, decoder: Any) -> None:
    if decoder.reading is None or not decoder.reading.attention(name).select.ruled:
        raise RegardError(
            f"the attention to {name!r} selects no segments.",
            where=WHERE,
            fix="Edit weights: pin, zero, weights. Segments can be edited with select: segments.",
        )


class ImposedTable:
    """What the edits of B rows impose on one memory.

    looks   the number of glimpses or hops; None: the output is a text
    truth   (B, T, S), if it is known
    """

    def __init__(
        self, name: str, memory: Memory, edits: Sequence[Sequence[Edit]], looks: int | None, truth: Any
    ) -> None:
        self.name, self.memory, self.edits, self.looks = name, memory, edits, looks
        self.truth = truth if isinstance(truth, Tensor) else None
        self.mask = memory.mask.cpu()
        self.lengths = self.mask.sum(1).tolist()
        B, S = self.mask.shape
        self.steps = self._steps()
        self.rows = torch.zeros(B, self.steps, S)
        self.kept = torch.ones(B, self.steps, S, dtype=torch.bool)
        self.shuffled = torch.arange(S).repeat(B, self.steps, 1)
        self.segments: list[list[tuple[int, int, int, int]]] = [[] for _ in edits]
        self.added: dict[tuple[int, int | None], type[Edit]] = {}

    def build(self) -> Imposed:
        for number, edits in enumerate(self.edits):
            for one in edits:
                self._apply(number, one)
        device, dtype = self.memory.values.device, self.memory.values.dtype
        kinds = {type(one) for edits in self.edits for one in edits}
        return Imposed(
            self.rows.to(device, dtype),
            self.kept.to(device) if ZeroEdit in kinds else None,
            self.shuffled.to(device) if PermuteEdit in kinds else None,
            self._rules().to(device) if SegmentEdit in kinds else None,
        )

    def _rules(self) -> Tensor:
        """(B, R, 4)"""
        most = max(map(len, self.segments))
        padded = [[*rules, *([(NO_RULE, 0, 0, 0)] * (most - len(rules)))] for rules in self.segments]
        return torch.tensor(padded)

    def _steps(self) -> int:
        """One row for each step that an edit names, and one for all later ones; for glimpses one each."""
        every = [one for edits in self.edits for one in edits]
        numbers = [one.step for one in every if isinstance(one, StepEdit) and one.step is not None]
        highest = max(numbers, default=-1)
        if self.looks is not None and highest >= self.looks:
            raise RegardError(
                f"there is no look {highest}; the glimpses or hops are 0 to {self.looks - 1}.", where=WHERE
            )
        if self.looks is not None:
            return self.looks + 1
        if any(isinstance(one, TruthEdit) for one in every) and self.truth is not None:
            highest = max(highest, self.truth.shape[1] - 1)
        if any(isinstance(one, PermuteEdit) and one.step is None for one in every):
            highest = max(highest, 2 * self.mask.shape[1] + 20)  # the longest output
        return highest + 2

    def _apply(self, number: int, edit: Edit) -> None:
        step = getattr(edit, "step", None)
        at: Any = slice(None) if step is None else step
        before = self.added.get((number, step))
        self.added[number, step] = type(edit)
        match edit:
            case ZeroEdit(positions=positions):
                self.kept[number, at, self._checked(number, positions)] = False
                if not bool((self.kept[number, at] & self.mask[number]).any(-1).all()):
                    raise RegardError(
                        f"no position of {self.name!r} would keep its weight.",
                        where=WHERE,
                        fix="Leave one position out of the edit.",
                    )
            case PermuteEdit(seed=seed):
                self._shuffle(number, range(self.steps) if step is None else [step], seed)
            case SegmentEdit(start=start, end=end, how=how):
                self._checked(number, [start, end - 1])
                at = EVERY if step is None else step
                self.segments[number].append((at, start, end, int(how == "force")))
            case TruthEdit():
                self._impose_truth(number)
            case _:
                row = self._row(number, edit)
                if before is type(edit) and isinstance(edit, RegionEdit | SpanEdit):
                    row = ((row > 0) | (self.rows[number, at] > 0)).to(row.dtype)
                self.rows[number, at] = row / row.sum(-1, keepdim=True)
                self.kept[number, at] = True

    def _row(self, number: int, edit: Edit) -> Tensor:
        """(S) the weights of a row."""
        row = torch.zeros(self.mask.shape[1])
        match edit:
            case PinEdit(position=position):
                row[self._checked(number, [position])] = 1.0
            case WeightsEdit(weights=weights):
                row[self._checked(number, list(weights))] = torch.tensor(list(weights.values()))
            case RegionEdit(box=box):
                return self._region(number, box)
            case SpanEdit(start=start, end=end):
                return self._region(number, (start, end))
            case _:
                row = self.mask[number].to(row.dtype)
        return row

    def _checked(self, number: int, positions: Sequence[int]) -> list[int]:
        places = self.mask[number].nonzero().flatten().tolist()
        first, last = (places[0], places[-1]) if places else (0, -1)
        for position in positions:
            if not first <= position <= last:
                raise RegardError(
                    f"there is no position {position}; the positions of {self.name!r} are {first} to {last}.",
                    where=WHERE,
                )
        return list(positions)

    def _region(self, number: int, box: Sequence[float]) -> Tensor:
        shape = self.memory.shape
        if (len(box) == 4) != (shape is not None):
            kind = "an image: a region has four numbers" if shape else "a sequence: a region has two numbers"
            raise RegardError(f"{self.name!r} is {kind}.", where=WHERE)
        place = Places(torch.zeros(1, 1, dtype=torch.int64), torch.tensor([[list(box)]]))
        return place.on(self.mask[number : number + 1], shape, 1)[0, 0]

    def _shuffle(self, number: int, steps: Sequence[int], seed: int) -> None:
        places = self.mask[number].nonzero().flatten()
        for step in steps:
            generator = torch.Generator().manual_seed((seed * 1_000_003 + step) % 2**63)
            order = torch.randperm(len(places), generator=generator)
            self.shuffled[number, step, places] = places[order]

    def _impose_truth(self, number: int) -> None:
        if self.truth is None or not bool((self.truth[number] > 0).any()):
            raise RegardError(
                f"the true attention to {self.name!r} is not known for this input.",
                where=WHERE,
                fix="Pass a row of the data with its truth, or leave the truth edit out.",
            )
        known = self.truth[number].cpu().to(self.rows.dtype)
        height, width = min(len(known), self.steps), min(known.shape[1], self.rows.shape[2])
        self.rows[number, :height, :width] = known[:height, :width]
        self.kept[number, :height] = True
