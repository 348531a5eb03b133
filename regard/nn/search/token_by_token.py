"""Write the tokens of each hypothesis one after the other, with any rule for choosing the next."""

from __future__ import annotations

from typing import Protocol

import torch
from torch import Tensor

from regard.data.batch import PAD
from regard.nn.path import faster
from regard.nn.search.hypotheses import Hypotheses, Unfinished, over_time
from regard.nn.search.lower_precision import in_precision
from regard.nn.search.stepper import Bounds, Stepper, all_finite, best_allowed, check_choices, check_scores
from regard.nn.stepping import in_a_line


class TokenChoice(Protocol):
    """How to choose the next tokens, from the logits and from inputs known in advance.

    most_probable   whether the choice is always the most probable token
    """

    @property
    def most_probable(self) -> bool: ...

    def given(self, unfinished: Unfinished, step: int, count: int) -> Tensor | None:
        """(count, B', K) the inputs of the next `count` steps: random numbers,
        or the tokens themselves; None: none."""

    def choose(self, logits: Tensor, given: Tensor | None) -> Tensor:
        """Logits (B', K, V), −inf for forbidden tokens, and the input of this step,
        (B', K) → tokens (B', K)."""


def written(
    stepper: Stepper, choice: TokenChoice, bounds: Bounds, hypotheses: int = 1, *, precision: str = "fp32"
) -> Hypotheses:
    """Write until every hypothesis has ended, as `token_by_token`, faster if there is a way."""
    device, given = stepper.lengths.device, (stepper, choice, bounds, hypotheses)
    found: Hypotheses | None
    if precision == "fp32":
        found = faster("search.tokens", device, *given)
    else:
        found = in_precision("search.tokens", precision, device, *given)
    if found is not None:
        return found
    return token_by_token(stepper, choice, steps=bounds.steps, bounds=bounds, hypotheses=hypotheses)


@torch.no_grad()
def token_by_token(
    stepper: Stepper, choice: TokenChoice, *, steps: int, bounds: Bounds | None = None, hypotheses: int = 1
) -> Hypotheses:
    """Write until every hypothesis has ended.

    steps    the maximal number of steps, which `bounds` or `choice` must respect
    bounds   the allowed tokens; without bounds, `choice` may write any token, even an impossible one
    """
    state, end = in_a_line(stepper.start()), stepper.end
    unfinished = Unfinished.all(len(stepper.lengths), stepper.lengths.device)
    words = torch.full((len(unfinished), hypotheses), stepper.begin, device=stepper.lengths.device)
    if hypotheses > 1:
        state = state.reorder(torch.zeros_like(words))
    done = torch.zeros_like(words, dtype=torch.bool)
    words_written: list[tuple[Unfinished, Tensor]] = []
    scores: list[tuple[Unfinished, Tensor]] = []
    looks: dict[str, list[tuple[Unfinished, Tensor]]] = {}
    for t in range(steps):
        step = stepper.step(words, state)
        state, logits = step.state, step.logits
        normalizer, _, best = best_allowed(logits, int(choice.most_probable), bounds, t, step.allowed)
        given = choice.given(unfinished, t, 1)
        if choice.most_probable:
            words = best.squeeze(-1)
        else:
            words = choice.choose(logits, None if given is None else given[0])
        score = logits.gather(-1, words.unsqueeze(-1)).squeeze(-1) - normalizer
        checked = normalizer if bounds is None else score
        if not all_finite(checked):
            check_scores(normalizer, ~done, t, unfinished)
            check_choices(checked, ~done, t, unfinished)
        done = done | (words == end)
        finished = done.all(1)
        ended = int(finished.sum())
        words_written.append((unfinished, words[None]))
        scores.append((unfinished, score[None]))
        for name, look in step.looks.items():
            looks.setdefault(name, []).append((unfinished, look[None]))
        if ended == len(unfinished):
            break
        if unfinished.worth_leaving(ended):
            kept = (~finished).nonzero().squeeze(1)
            unfinished, stepper, state = unfinished.select(kept), stepper.select(kept), state.select(kept)
            words, done = words.index_select(0, kept), done.index_select(0, kept)
            bounds = None if bounds is None else bounds.select(kept)
    return joined_steps(words_written, scores, looks, end)


def joined_steps(
    written: list[tuple[Unfinished, Tensor]],
    scored: list[tuple[Unfinished, Tensor]],
    looks: dict[str, list[tuple[Unfinished, Tensor]]],
    end: int,
) -> Hypotheses:
    """Every hypothesis up to its first END, from the results of consecutive steps, (n, B', …) for their unfinished
    sources."""
    tokens, scores = over_time(written), over_time(scored)
    lengths = (tokens == end).to(torch.uint8).argmax(-1) + 1
    beyond = torch.arange(tokens.shape[2], device=tokens.device) >= lengths.unsqueeze(-1)
    scores = scores.masked_fill(beyond, 0)
    attention = {name: over_time(parts).masked_fill(beyond.unsqueeze(-1), 0) for name, parts in looks.items()}
    return Hypotheses(tokens.masked_fill(beyond, PAD), lengths, scores.sum(-1), scores, attention, end)
