"""Walk: following one path for each hypothesis, whatever chooses the next word."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from regard.data.batch import BEGIN, END, PAD
from regard.nn.search.candidates import normalisers
from regard.nn.search.hypotheses import Hypotheses
from regard.nn.search.limits import Limits
from regard.nn.search.stepper import Stepper

Choose = Callable[[Tensor, int], Tensor]
"""Logits (B, K, V), −inf where forbidden, and the step → the next words (B, K)."""


@torch.no_grad()
def walk(
    stepper: Stepper, choose: Choose, *, limits: Limits | None = None, hypotheses: int = 1
) -> Hypotheses:
    """Writes until every hypothesis has its END; without limits, `choose` decides when that is."""
    state = stepper.start()
    rows, device = len(stepper.lengths), stepper.lengths.device
    words = torch.full((rows, hypotheses), BEGIN, device=device)
    if hypotheses > 1:
        state = state.reorder(torch.zeros_like(words))
    done = torch.zeros_like(words, dtype=torch.bool)
    last = None if limits is None else limits.last_step(stepper.lengths)
    written: list[Tensor] = []
    scores: list[Tensor] = []
    looks: list[dict[str, Tensor]] = []
    while not bool(done.all()):
        step = stepper.step(words, state)
        state = step.state
        normaliser = normalisers(step.logits)
        logits = step.logits
        if limits is not None and last is not None:
            logits = limits.apply(logits, len(written), last)
        words = choose(logits, len(written)).masked_fill(done, PAD)
        score = logits.gather(-1, words.unsqueeze(-1)).squeeze(-1) - normaliser
        written.append(words)
        scores.append(score.masked_fill(done, 0))
        alive = ~done.unsqueeze(-1)
        looks.append({name: look * alive for name, look in step.looks.items()})
        done = done | (words == END)
    tokens, token_scores = torch.stack(written, 2), torch.stack(scores, 2)
    attention = {name: torch.stack([look[name] for look in looks], 2) for name in looks[0]}
    return Hypotheses(tokens, (tokens != PAD).sum(-1), token_scores.sum(-1), token_scores, attention)
