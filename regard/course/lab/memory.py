"""How many characters a character model has to remember: the ends of lines by the length of its memory.

Each line of the text has four words, so that whether a word is the last one depends on the whole line. An LSTM learns
to predict the next character. Then it predicts each character of a new text from the last k characters alone:

    h_{t−k} = 0,   h_j = lstm(h_{j−1}, x_j) for j = t − k + 1 … t,   p(x_{t+1}) = softmax(V h_t + b)

It was trained on pieces that begin anywhere in a line, so that short memories are nothing new to it. For the letters
inside a word a few characters are enough.
"""

from __future__ import annotations

import math
import random
from typing import Annotated, Any

import numpy as np
import torch
from pydantic import Field
from torch import Tensor, nn

from regard.course.lab.cells import WORDS, adam
from regard.course.lab.lab import Lab, LabResult, written
from regard.inspect.plot import Curve, draw_plot
from regard.parts import Seed, register
from regard.trace import Array

BATCH, SPAN, EMBEDDING, KEEP = 16, 48, 16, 3.0
"""Pieces per update, their length, the size of a character's vector, and the first bias of the forget gates."""
KNOWN, NEW = 20_000, 3000
"""Characters of the text that is learned, and of the new one."""


@register("lab", "memory")
class MemoryLab(Lab):
    """A character model that remembers only the last k characters."""

    class Options(Lab.Options):
        """A character model that remembers only the last k characters."""

        words: Annotated[int, Field(ge=1, le=8)] = 4
        """Words in each line."""
        remembered: Annotated[
            tuple[Annotated[int, Field(ge=1, le=SPAN)], ...], Field(min_length=1, max_length=12)
        ] = (1, 2, 4, 8, 12, 16, 24, 32)
        """Numbers of characters to remember."""
        size: Annotated[int, Field(ge=1, le=256)] = 32
        """Units of the LSTM."""
        updates: Annotated[int, Field(ge=1, le=5000)] = 300
        """Number of training updates."""
        seed: Seed = 0
        """Seed of the initial weights and of the text."""

    summary = "a character model with a memory of 1 … 32 characters: what it needs them for"

    @classmethod
    def run(cls, options: Any) -> LabResult:
        known, new = (
            lines(options.seed + one, count, options.words) for one, count in ((0, KNOWN), (1, NEW))
        )
        network = CharacterModel(sorted(set(known)), options)
        network.learn(known)
        remembered = np.array(sorted(set(options.remembered)))
        found = [network.read(new, k, int(remembered[-1])) for k in remembered.tolist()]
        bits, ends, inside = (np.array(one) for one in zip(*found, strict=True))
        length, guess = len(new) / new.count("\n"), 1 - 1 / options.words
        short = min(len(remembered) - 1, int(np.searchsorted(remembered, 4)))
        longest = "four words" if options.words == 4 else f"{options.words} words"
        return LabResult(
            title="How much a character model has to remember",
            see=f"A line has {longest}, which are {written(round(length, 1))} characters. With the last "
            f"{remembered[short]} characters the network tells the last word of a line from the others in "
            f"{_percent(ends[short])} of the cases ({_percent(guess)} by always saying no), with the last "
            f"{remembered[-1]} in {_percent(ends[-1])}; letters inside words cost {inside[short]:.2f} and "
            f"{inside[-1]:.2f} bits. A memory of some words is a long memory in characters.",
            blocks=[
                draw_plot(
                    {
                        "network": Curve(remembered, ends),
                        "always no": Curve(remembered, np.full(len(remembered), guess)),
                    },
                    title="Is the line at its end? Share right",
                    x_name="characters that are remembered",
                    y_range=(0, 1),
                ),
                draw_plot(
                    {"all characters": Curve(remembered, bits), "inside words": Curve(remembered, inside)},
                    title="Bits for each character of a new text",
                    x_name="characters that are remembered",
                    height=110,
                    y_range=(0, math.ceil(float(max(bits.max(), inside.max())))),
                ),
            ],
            table=(
                ("remembered", "ends of lines right", "bits per character", "bits inside words"),
                [tuple(map(float, row)) for row in zip(remembered, ends, bits, inside, strict=True)],
            ),
            numbers={
                "remembered": remembered,
                "ends": ends,
                "bits": bits,
                "inside": inside,
                "always_no": guess,
                "characters_per_line": length,
            },
        )


class CharacterModel:
    """An LSTM over characters."""

    def __init__(self, letters: list[str], options: Any) -> None:
        self.options = options
        self.places = {letter: place for place, letter in enumerate(letters)}
        with torch.random.fork_rng():
            torch.manual_seed(options.seed)
            self.embedding = nn.Embedding(len(letters), EMBEDDING)
            self.lstm = nn.LSTM(EMBEDDING, options.size, batch_first=True)
            self.output = nn.Linear(options.size, len(letters))
        with torch.no_grad():
            dict(self.lstm.named_parameters())["bias_ih_l0"][options.size : 2 * options.size] = KEEP

    def scores(self, ids: Tensor) -> Tensor:
        """(B, T) characters → (B, T, V) scores of the next."""
        found: Tensor = self.output(self.lstm(self.embedding(ids))[0])
        return found

    def learn(self, text: str) -> None:
        """Train on pieces of the text that begin anywhere."""
        ids = self._ids(text)
        parameters = [*self.embedding.parameters(), *self.lstm.parameters(), *self.output.parameters()]
        moments = [(torch.zeros_like(one), torch.zeros_like(one)) for one in parameters]
        generator = torch.Generator().manual_seed(self.options.seed)
        for update in range(1, self.options.updates + 1):
            starts = torch.randint(0, len(ids) - SPAN - 1, (BATCH,), generator=generator)
            rows = ids[starts[:, None] + torch.arange(SPAN + 1)]  # (B, T + 1)
            scores = self.scores(rows[:, :-1])
            loss = nn.functional.cross_entropy(scores.flatten(0, 1), rows[:, 1:].flatten())
            adam(parameters, torch.autograd.grad(loss, parameters), moments, update)

    def read(self, text: str, k: int, first: int) -> tuple[float, float, float]:
        """From character `first` on, each read from the k characters before it alone: bits per character, the share
        of word ends whose sign (space or end of line) is right, and bits inside words."""
        ids = self._ids(text)
        with torch.no_grad():
            logs = self.scores(ids[first - k : -1].unfold(0, k, 1))[:, -1].log_softmax(-1)  # (N − first, V)
        true = ids[first:]
        bits: Array = -logs.gather(1, true[:, None])[:, 0].double().numpy() / math.log(2)
        signs = torch.tensor([self.places[" "], self.places["\n"]])
        ends = (true[:, None] == signs).any(1)
        chosen = signs[logs[:, signs].argmax(1)]
        right = (chosen == true)[ends].double().mean()
        return float(bits.mean()), float(right), float(bits[~ends.numpy()].mean())

    def _ids(self, text: str) -> Tensor:
        return torch.tensor([self.places[letter] for letter in text])


def lines(seed: int, characters: int, words: int) -> str:
    """Lines of some random words each."""
    draw = random.Random(seed)
    found, length = [], 0
    while length < characters:
        found.append(" ".join(draw.choices(WORDS, k=words)) + "\n")
        length += len(found[-1])
    return "".join(found)


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"
