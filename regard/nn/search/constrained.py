"""Steps that obey a constraint: the steps of a decoder, with the choices after which an output can still end well."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from regard.errors import RegardError
from regard.nn.constraints.table import ConstraintTable
from regard.nn.search.hypotheses import Hypotheses
from regard.nn.search.stepper import Stepper
from regard.nn.stepping import Step, StepState, in_a_line
from regard.parts.definition import remember


@dataclass(frozen=True)
class ConstrainedState:
    """The state of a decoder, and that of the constraint before the tokens of the next step.

    states   (B, K) int64
    step     number of tokens so far
    """

    inner: StepState
    states: Tensor
    step: int = 0

    def reorder(self, parents: Tensor) -> ConstrainedState:
        states = self.states.expand(-1, max(self.states.shape[1], 1)).gather(1, parents)
        return replace(self, inner=self.inner.reorder(parents), states=states)

    def in_a_line(self) -> ConstrainedState:
        return replace(self, inner=in_a_line(self.inner))

    def select(self, rows: Tensor) -> ConstrainedState:
        return replace(self, inner=self.inner.select(rows), states=self.states.index_select(0, rows))


@remember
class Constrained(Stepper):
    """The steps of another stepper. A choice is allowed if an output can still obey the constraint after it, within the
    tokens that are left.

    table     from each state of the constraint to the next
    last      (B) the step at which only END is allowed
    copies    (B, S) the column of the table for each choice beyond the vocabulary, for a decoder that copies
    needed    (B, Q) as in the table, by row, for a decoder that copies: the rows do not have the same words
    """

    def __init__(
        self,
        inner: Stepper,
        table: ConstraintTable,
        last: Tensor,
        copies: Tensor | None = None,
        needed: Tensor | None = None,
    ) -> None:
        self.inner, self.table, self.last, self.copies, self.needed = inner, table, last, copies, needed
        self.lengths, self.longest = inner.lengths, inner.longest
        self.begin, self.end, self.forbidden = inner.begin, inner.end, inner.forbidden

    def start(self) -> ConstrainedState:
        return ConstrainedState(self.inner.start(), torch.zeros_like(self.lengths)[:, None])

    def step(self, tokens: Tensor, state: ConstrainedState) -> Step:
        found = self.inner.step(tokens, state.inner)
        states = state.states if state.step == 0 else self.follow(state.states, tokens)
        if states.shape != tokens.shape:
            states = states.expand_as(tokens)
        after = self._rows(states)  # (B, K, V)
        allowed = self._needed(after) <= (self.last - state.step - 1)[:, None, None]
        if found.allowed is not None:
            allowed = allowed & found.allowed
        missing = None
        if self.table.missing is not None:
            missing = (self.table.missing[states], self.table.missing[after])
        return replace(
            found,
            state=ConstrainedState(found.state, states, state.step + 1),
            allowed=allowed,
            missing=missing,
        )

    def follow(self, states: Tensor, tokens: Tensor) -> Tensor:
        """The states (B, K) of the constraint after one token each."""
        return self.table.follow(states, self._column(tokens, self.copies))

    def _column(self, tokens: Tensor, copies: Tensor | None) -> Tensor:
        """The columns of the table for some tokens (B, K)."""
        if copies is None:
            return tokens
        place = tokens - self._known
        return torch.where(place >= 0, copies.gather(1, place.clamp(min=0)), tokens)

    @property
    def _known(self) -> int:
        """Number of tokens that are not copied."""
        return self.table.size - self.table.copied

    def _rows(self, states: Tensor) -> Tensor:
        after = self.table.rows(states)
        if self.copies is None:
            return after
        beyond = self.copies[:, None].expand(-1, states.shape[1], -1)
        return torch.cat([after[..., : self._known], after.gather(-1, beyond)], -1)

    def _needed(self, states: Tensor) -> Tensor:
        if self.needed is None:
            return self.table.needed[states]
        return self.needed.gather(1, states.reshape(len(states), -1).long()).view(states.shape)

    def targets(self, target: Any) -> Any:
        return self.inner.targets(target)

    def select(self, rows: Tensor) -> Constrained:
        copies = None if self.copies is None else self.copies.index_select(0, rows)
        needed = None if self.needed is None else self.needed.index_select(0, rows)
        return Constrained(
            self.inner.select(rows), self.table, self.last.index_select(0, rows), copies, needed
        )

    def check(self, found: Hypotheses, search: str) -> None:
        """Refuse outputs that do not obey: of a search that takes other tokens than its steps allow."""
        table, copies = self.table.on_host(), None if self.copies is None else self.copies.cpu()
        tokens, lengths = found.tokens.cpu(), found.lengths.cpu()
        real = torch.arange(tokens.shape[2]) < lengths.unsqueeze(-1)
        columns = self._column(tokens.where(real, self.end).flatten(1), copies).view(tokens.shape)
        states = torch.zeros_like(lengths)
        for step in range(tokens.shape[2]):  # after END, END again leads nowhere else
            states = table.follow(states, columns[..., step])
        over = len(self.table.needed) - 2
        if bool(((states != over) & (lengths > 0)).any()):
            raise RegardError(
                f"{search} wrote an output that does not obey the constraint.",
                where="search.constraint",
                fix="Choose another search, or let it choose among the tokens that `Step.allowed` allows.",
            )
