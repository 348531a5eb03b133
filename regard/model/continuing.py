"""Texts that a language model continues, and how surprising it finds given ones."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from regard.data.batch import BEGIN, END, PAD, UNKNOWN
from regard.data.columns.stream import StreamColumn, span
from regard.errors import RegardError
from regard.nn.search.sample import Drawn

NEVER_WRITTEN = (PAD, UNKNOWN, BEGIN, END)
SPAN = 1024
"""Tokens of a given text that are read at a time."""


@dataclass(frozen=True)
class Sampling:
    """How the next token is chosen.

    temperature   the logits are divided by it; 0: the most probable token
    top_k         only among so many most probable tokens; 0: among all
    top_p         only among the most probable tokens that together have this probability
    """

    temperature: float = 1.0
    top_k: int = 0
    top_p: float = 1.0
    seed: int = 1

    def __post_init__(self) -> None:
        for name, fine, expected in (
            ("temperature", 0 <= self.temperature < float("inf"), "0 or more"),
            ("top_k", self.top_k >= 0, "0 or more"),
            ("top_p", 0 < self.top_p <= 1, "more than 0 and at most 1"),
            ("seed", self.seed >= 0, "0 or more"),
        ):
            if not fine:
                raise RegardError(f"received {getattr(self, name)}, expected {expected}.", where=name)


@dataclass(frozen=True)
class Piece:
    """A token that was drawn, and its log-probability at temperature 1."""

    token: int
    score: float


@torch.inference_mode()
def continued(
    decoder: Any, column: StreamColumn, prompt: str, sampling: Sampling, device: torch.device
) -> Iterator[Piece]:
    """Tokens after a prompt, without an end."""
    column.refuse_unknown(prompt, "prompt")
    given = torch.as_tensor(column.encode(prompt), dtype=torch.int64, device=device)
    before = torch.cat([given.new_tensor([BEGIN]), given])[None]  # (1, T)
    state = None
    for piece in before.split(SPAN, 1):
        log_probabilities, state = decoder.following(piece, state)
    generator = np.random.default_rng([sampling.seed])
    drawn = Drawn(1, sampling.temperature or 1.0, sampling.top_k, sampling.top_p, [generator])
    while True:
        allowed = log_probabilities.clone()
        allowed[:, list(NEVER_WRITTEN)] = -torch.inf
        if sampling.temperature == 0:
            token = allowed.argmax(-1)
        else:
            chance = torch.as_tensor(generator.random((1, 1)), device=device)
            token = drawn.choose(allowed[:, None].float(), chance)[:, 0]
        yield Piece(int(token), float(log_probabilities[0, int(token)]))
        log_probabilities, state = decoder.following(token[None], state)


@torch.inference_mode()
def surprises(decoder: Any, column: StreamColumn, text: str, device: torch.device) -> list[float]:
    """−log p of every token of a text that begins with it."""
    ids = column.encode(text).astype(np.int64)[None]
    if not ids.size:
        raise RegardError("the text is empty.", where="text", fix="Give a text.")
    found: list[float] = []
    state, last = None, np.array([BEGIN])
    for low in range(0, ids.shape[1], SPAN):
        part = ids[:, low : low + SPAN]
        costs, state = decoder.costs(span(part, last).to(device), state)
        found += costs[0].tolist()
        last = part[:, -1]
    return found


class Growing:
    """A text that grows token by token: what each adds to it, as soon as that is certain."""

    def __init__(self, column: StreamColumn) -> None:
        self.column = column
        self._line: list[int] = []
        self._shown = ""

    def add(self, token: int) -> str:
        """What can be shown once the token is there."""
        self._line.append(token)
        text = self.column.decode(self._line)
        # half of a character, of bytes, is shown when it is whole
        if text.endswith("\ufffd") or not text.startswith(self._shown):
            return ""
        new = text[len(self._shown) :]
        self._shown = text
        if text.endswith("\n"):
            self._line, self._shown = [], ""
        return new
