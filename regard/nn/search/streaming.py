"""One output that grows: the hypothesis after each of its tokens."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor

from regard.nn.search.hypotheses import Hypotheses, Unfinished
from regard.nn.search.stepper import Bounds, Stepper, all_finite, best_allowed, check_choices, check_scores
from regard.nn.search.token_by_token import TokenChoice
from regard.nn.stepping import in_a_line


@torch.no_grad()
def growing(stepper: Stepper, choice: TokenChoice, bounds: Bounds) -> Iterator[Hypotheses]:
    """The output of one source so far, after each token; the last one ends with END. `token_by_token` writes the same.

    Each is the whole output so far: tokens (1, 1, T), T = 1, 2, …
    """
    unfinished = Unfinished.all(1, stepper.lengths.device)
    words = torch.full((1, 1), stepper.begin, device=stepper.lengths.device)
    state, alive = in_a_line(stepper.start()), torch.ones_like(words, dtype=torch.bool)
    written: list[Tensor] = []
    scores: list[Tensor] = []
    looks: dict[str, list[Tensor]] = {}
    for t in range(bounds.steps):
        step = stepper.step(words, state)
        normalizer, _, best = best_allowed(step.logits, int(choice.most_probable), bounds, t, step.allowed)
        given = choice.given(unfinished, t, 1)
        if choice.most_probable:
            words = best.squeeze(-1)
        else:
            words = choice.choose(step.logits, None if given is None else given[0])
        score = step.logits.gather(-1, words.unsqueeze(-1)).squeeze(-1) - normalizer
        if not all_finite(score):
            check_scores(normalizer, alive, t, unfinished)
            check_choices(score, alive, t, unfinished)
        written.append(words)
        scores.append(score)
        for name, look in step.looks.items():
            looks.setdefault(name, []).append(look)
        token_scores = torch.stack(scores, -1)
        yield Hypotheses(
            torch.stack(written, -1),
            torch.full_like(words, t + 1),
            token_scores.sum(-1),
            token_scores,
            {name: torch.stack(rows, 2) for name, rows in looks.items()},
            stepper.end,
        )
        if int(words) == stepper.end:
            return
        state = step.state
