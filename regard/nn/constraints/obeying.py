"""From the constraints of a spec to steps that obey them: their table for a vocabulary, made once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
import torch
from torch import Tensor

from regard.data.batch import PAD, UNKNOWN
from regard.data.columns.vocabulary import SPECIAL
from regard.errors import RegardError
from regard.nn.constraints.constraint import Constraint, OutputSpelling
from regard.nn.constraints.table import FAR, ConstraintTable, tabulated
from regard.nn.search.constrained import Constrained
from regard.nn.search.stepper import Bounds, Limits, Stepper

ROUND = 16
"""A table is made for a multiple of this number of units, so that it serves inputs of similar lengths."""
KEPT = 16
"""Tables that are kept for a vocabulary."""
WHERE = "search.constraint"
_tables: WeakKeyDictionary[Any, dict[Any, ConstraintTable]] = WeakKeyDictionary()


def obeying(
    stepper: Stepper,
    constraints: Sequence[Any],
    column: Any,
    limits: Limits,
    *,
    unknown: bool = True,
    copied: Sequence[Sequence[str]] | None = None,
) -> Constrained:
    """The stepper, with steps that obey constraints, given as their options.

    column    the column of the output
    limits    those of the search
    unknown   whether the unknown unit may be written
    copied    for a decoder that copies: the words at the positions of each source
    """
    bounds = limits.of(stepper)
    steps = -(-bounds.extent[1] // ROUND) * ROUND
    device = stepper.lengths.device
    if copied is None:
        table, copies = _kept(constraints, column, steps, limits.minimum, unknown, device), None
    else:
        words = _beyond(column, copied)
        table = made(constraints, column, steps, limits.minimum, unknown, words, copied).to(device)
        copies = _columns(column, copied, words, device)
    found = Constrained(stepper, table, bounds.last, copies, table.by_row)
    _check_possible(found, bounds, constraints, column, unknown)
    return found


def _kept(
    constraints: Sequence[Any], column: Any, steps: int, minimum: int, unknown: bool, device: torch.device
) -> ConstraintTable:
    tables = _tables.setdefault(column, {})
    key = (tuple(constraints), steps, minimum, unknown, device)
    if key not in tables:
        while len(tables) >= KEPT:
            del tables[next(iter(tables))]
        tables[key] = made(constraints, column, steps, minimum, unknown).to(device)
    return tables[key]


def made(
    constraints: Sequence[Any],
    column: Any,
    steps: int,
    minimum: int = 0,
    unknown: bool = True,
    words: Sequence[str] = (),
    copied: Sequence[Sequence[str]] | None = None,
) -> ConstraintTable:
    """The table of constraints for the vocabulary of a column, and words beyond it."""
    known = column.vocabulary.pieces
    pieces = [*([column.cutter.unknown] if unknown else []), *known, *words]
    writing = column.cutter.writing(pieces)
    if writing is None:
        raise RegardError(
            "a constraint needs units that are written as characters, and the units are bytes.",
            where=WHERE,
            fix="Leave the constraint out, or train with unit: char or subword.",
        )
    spelling = OutputSpelling(column.normalize, column.unit in ("word", "subword"))
    parts: list[Constraint] = [one.part.make(one) for one in constraints]
    automata = [(one, part.banked) for part in parts for one in part.automata(spelling)]
    ids = [*([UNKNOWN] if unknown else []), *range(len(SPECIAL), len(SPECIAL) + len(known) + len(words))]
    available = None
    if copied is not None:
        numbers = {word: len(pieces) - len(words) + number for number, word in enumerate(words)}
        available = np.ones((len(copied), len(pieces)), dtype=bool)
        available[:, len(pieces) - len(words) :] = False
        for row, here in enumerate(copied):
            available[row, [numbers[one] for one in here if one in numbers]] = True
    return tabulated(
        [one for one, _ in automata],
        [bank for _, bank in automata],
        writing,
        ids,
        size=len(SPECIAL) + len(known) + len(words),
        end=SPECIAL.index("</s>"),
        steps=steps,
        minimum=minimum,
        available=available,
        copied=len(words),
    )


def _beyond(column: Any, copied: Sequence[Sequence[str]]) -> list[str]:
    """The words of some sources that are not in the vocabulary, each once."""
    return list(dict.fromkeys(word for row in copied for word in row if word not in column.vocabulary))


def _columns(
    column: Any, copied: Sequence[Sequence[str]], words: Sequence[str], device: torch.device
) -> Tensor:
    """(B, S) the column of the table for the word at each position; that of PAD for words of the vocabulary."""
    numbers = {word: column.size + number for number, word in enumerate(words)}
    found = torch.full((len(copied), max(map(len, copied), default=0)), PAD)
    for row, here in enumerate(copied):
        found[row, : len(here)] = torch.tensor([numbers.get(one, PAD) for one in here], dtype=torch.int64)
    return found.to(device)


def _check_possible(
    stepper: Constrained, bounds: Bounds, constraints: Sequence[Any], column: Any, unknown: bool
) -> None:
    """Refuse constraints that no output of a row can obey, within its length and after its prefix."""
    least = int(stepper.table.on_host().needed[0])
    if bounds.prefix is None and stepper.needed is None and least <= bounds.extent[0]:
        return  # known without asking the device
    states, left = torch.zeros_like(bounds.last), bounds.last
    if bounds.prefix is not None:
        for step in range(bounds.prefix.ids.shape[1]):
            after = stepper.follow(states[:, None], bounds.prefix.ids[:, step, None].long())[:, 0]
            states = torch.where(step < bounds.prefix.lengths, after, states)
        left = left - bounds.prefix.lengths
    table = stepper.table
    needed = table.needed[states] if table.by_row is None else table.by_row.gather(1, states[:, None])[:, 0]
    lacking = needed > left
    if not bool(lacking.any()):
        return
    row = int(lacking.nonzero()[0])
    told = " and ".join(one.part.described(one) for one in constraints)
    place = "" if bounds.prefix is None else " after the prefix"
    if int(needed[row]) < FAR:
        raise RegardError(
            f"an output that {told} has at least {int(needed[row])} units{place}, and at most {int(left[row])} are "
            "allowed.",
            where=WHERE,
            fix="Raise max_length.",
        )
    raise RegardError(
        f"the model cannot write an output of at most {int(left[row])} units that {told}{place}"
        f"{_culprit(stepper, constraints, column, unknown)}.",
        where=WHERE,
        fix="Choose words of its vocabulary, or a weaker constraint.",
    )


def _culprit(stepper: Constrained, constraints: Sequence[Any], column: Any, unknown: bool) -> str:
    """Which of several constraints cannot be obeyed by itself."""
    if len(constraints) == 1:
        return ""
    for one in constraints:
        steps = -(-int(stepper.last.max()) // ROUND) * ROUND
        if int(made([one], column, steps, 0, unknown).needed[0]) >= FAR:
            return f": none {one.part.described(one)}"
    return ": no output obeys them all"
