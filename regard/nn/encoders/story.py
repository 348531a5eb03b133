"""Story encoder: one memory position for each sentence, with a key to be found by and a value to be read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import torch
from torch import Tensor, nn

from regard.data.batch import Sentences, Tokens
from regard.errors import RegardError
from regard.nn.encoders.bag import BagEncoder
from regard.nn.encoders.base import Encoder
from regard.nn.encoders.mean import masked_mean
from regard.nn.memory import Memory

WORD_GAIN = 3.0
"""A word in common then scores about 9 · l², enough for a softmax over some tens of sentences to choose by it."""

TIME_GAIN = 5.0
"""Of the ages that begin with the next: its vectors then score about 8 with themselves, at 32 features."""


@torch.no_grad()
def begin_with_words(tables: Sequence[Tensor]) -> None:
    """All tables (V, D) begin as the first one, enlarged: a sentence is found by the words it shares, and what is read
    of it finds, at the next hop, what shares words with that."""
    first = tables[0] * WORD_GAIN
    for table in tables:
        table.copy_(first)


class StoryEncoder(nn.Module):
    """The memory of End-to-End Memory Networks (Sukhbaatar, Szlam, Weston, Fergus 2015).

        m_i = a(x_i) + T_A[age of i]        keys: what is compared with the question
        c_i = c(x_i) + T_C[age of i]        values: what is read

    a and c are encoders of one sentence (their summaries), T_A and T_C learned vectors for the age of a sentence, 0
    for the last one of the story; older than `ages` counts as the oldest.

    tables       the sentence encoders [a, c]: every hop reads the same keys and values ("layer-wise" tying); or K + 1
                 of them, of which hop k finds by the k-th and reads the k+1-st ("adjacent" tying): then keys and values
                 hold those of all hops side by side, (B, S, K · D)
    times        how T begins: "random", or "next": T_C of a sentence as T_A of the one after it, and large, so that a
                 hop that has read a sentence goes on to what happened next
    time_noise   probability, in training, that a sentence is followed by nothing that happened: those before it
                 become one older. It keeps the ages from being learned by heart
    """

    def __init__(
        self,
        tables: Sequence[Encoder],
        *,
        ages: int = 50,
        times: Literal["random", "next"] = "random",
        time_noise: float = 0.0,
    ) -> None:
        super().__init__()
        if len(tables) < 2:
            raise RegardError(f"A story needs encoders for keys and for values; received {len(tables)}.")
        self.tables = nn.ModuleList(tables)
        self.hops = len(tables) - 1
        self.value_size = self.key_size = tables[0].summary_size
        self.summary_size = self.value_size
        self.time_noise = time_noise
        self.ages = nn.Parameter(torch.randn(len(tables), ages, self.value_size) * 0.1)
        if times == "next":
            self._begin_with_the_next()

    def forward(self, story: Sentences) -> Memory:
        mask = story.mask
        sentences = story.ids[mask]  # (N, L): what is padding is never computed
        tokens = Tokens(sentences, (sentences != 0).sum(-1))
        ages = self._ages(story, mask)  # (N)
        found = []
        for table, times in zip(self.tables, self.ages, strict=True):
            sentence = table.sums(tokens) if isinstance(table, BagEncoder) else table(tokens).summary
            vectors = sentence + times[ages]  # (N, D)
            spread = vectors.new_zeros(*mask.shape, vectors.shape[-1])
            found.append(spread.masked_scatter(mask.unsqueeze(-1), vectors))  # (B, S, D)
        keys, values = torch.cat(found[:-1], -1), torch.cat(found[1:], -1)
        summary = masked_mean(found[-1], mask)
        return Memory(values, mask, summary, keys=keys, layout="sentences")

    @torch.no_grad()
    def _begin_with_the_next(self) -> None:
        self.ages[0] *= TIME_GAIN
        for before, after in zip(self.ages[:-1], self.ages[1:], strict=True):
            after.copy_(torch.cat([before[:1], before[:-1]]))  # the sentence after one of age a has age a − 1

    def _ages(self, story: Sentences, mask: Tensor) -> Tensor:
        places = torch.arange(mask.shape[1], device=mask.device)
        ages = story.lengths[:, None] - 1 - places  # (B, S)
        if self.training and self.time_noise:
            pauses = torch.rand(mask.shape, device=mask.device) < self.time_noise
            ages = ages + pauses.flip(1).cumsum(1).flip(1)
        return ages.clamp(max=self.ages.shape[1] - 1)[mask]
