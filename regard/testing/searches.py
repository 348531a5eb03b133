"""Checks of searches and constraints, on a decoder whose probabilities are known: a chain of words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from regard.data.batch import END
from regard.data.columns.vocabulary import SPECIAL
from regard.data.columns.writing import of_characters
from regard.nn.constraints import Automaton, OutputSpelling
from regard.nn.constraints.table import tabulated
from regard.nn.memory import Memory
from regard.nn.search import Beam, Greedy, Hypotheses, Limits, Request, Stepper
from regard.nn.search.constrained import Constrained
from regard.nn.stepping import Step
from regard.testing.report import PartReport, Stop

LENGTHS = (2, 5, 3)
WORDS = 9
MINIMUM, MAXIMUM = 2, 6


@dataclass(frozen=True)
class Nothing:
    """A decoder without memory of its own."""

    def reorder(self, parents: Tensor) -> Nothing:
        return self

    def select(self, rows: Tensor) -> Nothing:
        return self


class Chain:
    """p(y_t | y_{t−1}, row): the logits are a table for each row."""

    def start(self, memories: Mapping[str, Memory], *, truth: Any = None) -> Nothing:
        return Nothing()

    def step(self, tokens: Tensor, state: Any, memories: Mapping[str, Memory]) -> Step:
        memory = memories["source"]
        index = tokens.unsqueeze(-1).expand(-1, -1, WORDS)
        looks = memory.mask.float().unsqueeze(1).expand(-1, tokens.shape[1], -1)
        return Step(memory.values.gather(1, index), state, {"source": looks / looks.sum(-1, keepdim=True)})


def stepper(rows: slice = slice(None)) -> Stepper:
    """Sources of several lengths; some of them with `rows`."""
    generator = torch.Generator().manual_seed(3)
    tables = torch.randn(len(LENGTHS), WORDS, WORDS, generator=generator)
    mask = torch.arange(max(LENGTHS)) < torch.tensor(LENGTHS)[:, None]
    summary = torch.zeros(len(LENGTHS), 1)
    return Stepper(Chain(), {"source": Memory(tables[rows], mask[rows], summary[rows])})


def check_search(report: PartReport, options: Any) -> None:
    limits = Limits(minimum=MINIMUM, maximum=MAXIMUM)

    def found(rows: slice = slice(None)) -> Hypotheses:
        keys = range(len(LENGTHS))[rows]
        with report.calling("make", "a search"):
            search = options.part.make(options, Request(limits=limits, seed=1, keys=keys))
        with report.calling("__call__", "hypotheses"), torch.no_grad():
            made: Hypotheses = search(stepper(rows))
        if not isinstance(made, Hypotheses):
            report.add("__call__", "Hypotheses", type(made).__name__)
            raise Stop
        return made

    whole, alone = found(), found(slice(1, 2))
    first = tuple(whole.tokens.shape[:2])
    if whole.tokens.ndim != 3 or first != (len(LENGTHS), 1):
        report.add("__call__", f"tokens (B, K, T) = ({len(LENGTHS)}, 1, …)", str(tuple(whole.tokens.shape)))
        raise Stop
    with report.apart():
        for row in range(len(LENGTHS)):
            _check_output(report, whole, row)
    same = whole.content(1) == alone.content(0)
    report.is_true("__call__", same, "the same output of a source in any batch", "another one")
    same = whole.content(0) == found().content(0)
    report.is_true("__call__", same, "the same output for the same seed", "another one")
    for method in ("named", "described"):
        with report.calling(method, "a text"):
            told = getattr(options.part, method)(options)
        report.is_true(method, isinstance(told, str) and bool(told), "a text", repr(told))


def _check_output(report: PartReport, found: Hypotheses, row: int) -> None:
    """The limits are kept, and the scores are the model's own."""
    ids = found.content(row)
    kept = MINIMUM <= len(ids) <= MAXIMUM
    report.is_true("__call__", kept, f"{MINIMUM} to {MAXIMUM} tokens, as the limits ask", f"{len(ids)}")
    source = stepper(slice(row, row + 1))
    logs = torch.log_softmax(source.memories["source"].values[0], -1)
    before, total = source.begin, 0.0
    for token in (*ids, END):
        total += float(logs[before, token])
        before = token
    scored = float(found.scores[row, 0])
    right = abs(scored - total) < 1e-3
    report.is_true("__call__", right, f"the log-probability {total:.4f} as the score", f"{scored:.4f}")


def check_constraint(report: PartReport, options: Any) -> None:
    """Outputs of a chain of characters obey the automata, whatever the search."""
    characters = "ab 1é"
    with report.calling("make", "a constraint"):
        constraint = options.part.make(options)
    with report.calling("automata", "automata"):
        automata = list(constraint.automata(OutputSpelling()))
    if not automata or not all(isinstance(one, Automaton) for one in automata):
        report.add("automata", "one Automaton or more", repr(automata))
        raise Stop
    size, last = WORDS, MAXIMUM
    with report.calling("automata", "automata that read characters"):
        table = tabulated(
            automata,
            [constraint.banked] * len(automata),
            of_characters(characters, marked=False),
            range(len(SPECIAL), size),
            size=size,
            end=END,
            steps=last,
        )
    again = [one.accepts_text("ab") for one in automata] == [one.accepts_text("ab") for one in automata]
    report.is_true("automata", again, "automata without a memory of their own", "another answer")
    if int(table.needed[0]) <= last:
        plain = stepper()
        bound = Constrained(plain, table, torch.full_like(plain.lengths, last))
        for search in (Greedy(Limits(maximum=last)), Beam(3, limits=Limits(maximum=last))):
            found = search(bound)
            for row in range(len(LENGTHS)):
                text = "".join(characters[one - len(SPECIAL)] for one in found.content(row))
                obeyed = all(one.accepts_text(text) for one in automata)
                report.is_true("automata", obeyed, "automata that accept what a search writes", repr(text))
    with report.calling("described", "a text"):
        told = options.part.described(options)
    report.is_true("described", isinstance(told, str) and bool(told), "a text", repr(told))
