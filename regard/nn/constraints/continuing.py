"""A constraint on a text that a language model continues: which tokens may follow, until a number of tokens."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from regard.errors import RegardError
from regard.nn.constraints.obeying import ROUND, WHERE, made


class ContinuedConstraint:
    """What may follow a prompt, so that the whole text obeys some constraints, given as their options. The text ends
    after `length` tokens, or earlier where nothing may follow."""

    def __init__(self, constraints: Sequence[Any], column: Any, prompt: Sequence[int], length: int) -> None:
        steps = -(-(len(prompt) + length) // ROUND) * ROUND
        self.table = made(constraints, column, steps, unknown=False)
        self.state, self.left = torch.zeros(1, dtype=torch.int64), length
        for token in prompt:
            self.state = self.table.follow(self.state, torch.tensor([token]))
        if int(self.table.needed[self.state]) > length:
            told = " and ".join(one.part.described(one) for one in constraints)
            after = " after the prompt" if prompt else ""
            raise RegardError(
                f"the model cannot write a text of at most {length} tokens{after} that {told}.",
                where=WHERE,
                fix="Allow a greater length, change the prompt, or choose a weaker constraint.",
            )

    def allowed(self) -> Tensor | None:
        """(V) whether each token may follow; None if the text ends here."""
        needed = self.table.needed[self.table.rows(self.state)[0]]
        found = (needed >= 0) & (needed < self.left)  # −1: after END, which a text does not have
        return found if bool(found.any()) else None

    def follow(self, token: int) -> None:
        self.state, self.left = self.table.follow(self.state, torch.tensor([token])), self.left - 1
