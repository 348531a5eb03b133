"""Text generation with a language model, and the surprisal of given texts."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import torch

from regard.data.batch import BEGIN, END, PAD, UNKNOWN
from regard.data.columns.stream import StreamColumn, span
from regard.errors import RegardError
from regard.nn.search.sample import Drawn
from regard.nn.search.stepper import not_finite
from regard.parts import MAX_SEED

if TYPE_CHECKING:
    from regard.nn.constraints.continuing import ContinuedConstraint

NEVER_WRITTEN = (PAD, UNKNOWN, BEGIN, END)
SPAN = 1024
"""Number of tokens of a given text that are read at a time."""
LINE = 64
"""Number of tokens of a growing line that are decoded together."""


@dataclass(frozen=True)
class Sampling:
    """The choice of the next token.

    temperature   divides the logits; 0: always the most probable token
    top_k         draw only among this many most probable tokens; 0: among all
    top_p         draw only among the most probable tokens that together have this probability
    """

    temperature: float = 1.0
    top_k: int = 0
    top_p: float = 1.0
    seed: int = 1

    def __post_init__(self) -> None:
        expect(
            "temperature", self.temperature, Real, lambda it: 0 <= it < float("inf"), "a number, 0 or more"
        )
        expect("top_k", self.top_k, Integral, lambda it: it >= 0, "a whole number, 0 or more")
        expect("top_p", self.top_p, Real, lambda it: 0 < it <= 1, "a number above 0 and at most 1")
        expect(
            "seed",
            self.seed,
            Integral,
            lambda it: 0 <= it <= MAX_SEED,
            f"a whole number from 0 to {MAX_SEED}",
        )


def expect(where: str, value: Any, kind: type, fine: Callable[[Any], bool], expected: str) -> None:
    """Refuse a value of another kind, or one that is not fine."""
    if isinstance(value, bool) or not isinstance(value, kind) or not fine(value):
        raise RegardError(f"received {value!r}, expected {expected}.", where=where)


@dataclass(frozen=True)
class Piece:
    """A token that was drawn, and its log-probability at temperature 1."""

    token: int
    score: float


@torch.inference_mode()
def continued(
    decoder: Any,
    column: StreamColumn,
    prompt: str,
    sampling: Sampling,
    device: torch.device,
    obeyed: ContinuedConstraint | None = None,
) -> Iterator[Piece]:
    """An endless sequence of tokens after a prompt; one that ends where a constraint lets nothing follow."""
    log_probabilities, state = _after(decoder, column, prompt, device)
    generator = np.random.default_rng([sampling.seed])
    drawn = Drawn(1, sampling.temperature or 1.0, sampling.top_k, sampling.top_p, [generator])
    while True:
        if bool(log_probabilities.isnan().any()):
            raise not_finite("generate")
        allowed = log_probabilities.clone()
        allowed[:, list(NEVER_WRITTEN)] = -torch.inf
        if obeyed is not None:
            possible = obeyed.allowed()
            if possible is None:
                return
            allowed[:, ~possible.to(device)] = -torch.inf
        if sampling.temperature == 0:
            token = allowed.argmax(-1)
        else:
            chance = torch.as_tensor(generator.random((1, 1)), device=device)
            token = drawn.choose(allowed[:, None].float(), chance)[:, 0]
        yield Piece(int(token), float(log_probabilities[0, int(token)]))
        if obeyed is not None:
            obeyed.follow(int(token))
        log_probabilities, state = decoder.following(token[None], state)


@torch.inference_mode()
def following(
    decoder: Any, column: StreamColumn, prompt: str, count: int, device: torch.device
) -> list[tuple[str, float]]:
    """The most probable tokens after a prompt, each with its probability."""
    log_probabilities, _ = _after(decoder, column, prompt, device)
    if bool(log_probabilities.isnan().any()):
        raise not_finite("following")
    log_probabilities[:, list(NEVER_WRITTEN)] = -torch.inf
    found = log_probabilities[0].topk(min(count, log_probabilities.shape[1] - len(NEVER_WRITTEN)))
    tokens = column.tokens(found.indices.tolist())
    return list(zip(tokens, found.values.double().exp().tolist(), strict=True))


def _after(decoder: Any, column: StreamColumn, prompt: str, device: torch.device) -> tuple[torch.Tensor, Any]:
    """log p (1, V) of every token after a prompt, and the state after it."""
    column.refuse_unknown(prompt, "prompt")
    given = torch.as_tensor(column.encode(prompt), dtype=torch.int64, device=device)
    before = torch.cat([given.new_tensor([BEGIN]), given])[None]  # (1, T)
    state = None
    for piece in before.split(SPAN, 1):
        log_probabilities, state = decoder.following(piece, state)
    return log_probabilities, state


class Surprise(NamedTuple):
    """A token of a text, its −log p in nats, and whether it is in the vocabulary.

    An unknown token has the −log p of the vocabulary's unknown token.
    """

    token: str
    nats: float
    known: bool


def surprises(
    decoder: Any, column: StreamColumn, texts: Iterable[str], device: torch.device
) -> Iterator[Surprise]:
    """The surprisal of every token of a text that is given in any number of pieces."""
    state, last = None, np.array([BEGIN])
    for text in texts:
        ids = column.encode(text).astype(np.int64)[None]
        nats: list[float] = []
        for low in range(0, ids.shape[1], SPAN):
            part = ids[:, low : low + SPAN]
            with torch.inference_mode():
                costs, state = decoder.costs(span(part, last).to(device), state)
            nats += costs[0].tolist()
            if any(map(math.isnan, nats[low:])):
                raise not_finite("surprise")
            last = part[:, -1]
        known = (ids[0] != UNKNOWN).tolist()
        yield from map(Surprise, column.tokens(text), nats, known)


class Growing:
    """A text that grows token by token, and its new characters as soon as they are final.

    A line is decoded again with each token, because the context of a token decides on spaces and case. For a
    long line only the last tokens are decoded, if this gives the same text.
    """

    def __init__(self, column: StreamColumn) -> None:
        self.column = column
        self._line: list[int] = []
        self._shown = ""
        self._longest = LINE

    def add(self, token: int) -> str:
        """Add a token and return the characters that can be shown now."""
        self._line.append(token)
        text = self.column.decode(self._line)
        # wait until the bytes of a character are complete
        if text.endswith("\ufffd") or not text.startswith(self._shown):
            return ""
        new = text[len(self._shown) :]
        self._shown = text
        if text.endswith("\n"):
            self._line, self._shown, self._longest = [], "", LINE
        elif len(self._line) >= self._longest:
            self._shorten()
        return new

    def _shorten(self) -> None:
        kept = self._line[-LINE // 2 :]
        text = self.column.decode(kept)
        if text and self._shown.endswith(text):
            self._line, self._shown, self._longest = kept, text, LINE
        else:  # its beginning depends on earlier tokens: try again later
            self._longest = 2 * len(self._line)
