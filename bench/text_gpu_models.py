"""The models that `text_gpu.py` times: ours, the same model as a plain loop, and cuDNN without attention."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from regard.data.batch import Tokens
from regard.nn import Attention, Embedding, RecurrentDecoder, RecurrentEncoder
from regard.nn.search import Beam, Greedy

SIZE, VOCABULARY, LENGTH = 512, 8_000, 30


class Plain(nn.Module):
    """A straightforward loop over torch's cells: attend, step, collect."""

    def __init__(self, cell: str, layers: int, state: str) -> None:
        super().__init__()
        self.lstm, self.after = cell == "lstm", state == "current"
        self.source, self.target = nn.Embedding(VOCABULARY, SIZE), nn.Embedding(VOCABULARY, SIZE)
        encoder = nn.LSTM if self.lstm else nn.GRU
        self.encoder = encoder(SIZE, SIZE // 2, bidirectional=True, batch_first=True)
        make = nn.LSTMCell if self.lstm else nn.GRUCell
        self.cells = nn.ModuleList(make(SIZE if i else 2 * SIZE, SIZE) for i in range(layers))
        self.keys, self.query = (nn.Linear(SIZE, SIZE, bias=False) for _ in range(2))
        self.vector, self.first = nn.Linear(SIZE, 1, bias=False), nn.Linear(SIZE, SIZE)
        self.combine, self.output = nn.Linear(2 * SIZE, SIZE), nn.Linear(SIZE, VOCABULARY)

    def read(self, state: Tensor, keys: Tensor, memory: Tensor) -> Tensor:
        scores = self.vector(torch.tanh(keys + self.query(state).unsqueeze(1))).squeeze(-1)
        return torch.bmm(torch.softmax(scores, -1).unsqueeze(1), memory).squeeze(1)

    def loss(self, source: Tensor, previous: Tensor, following: Tensor) -> Tensor:
        memory, _ = self.encoder(self.source(source))
        keys, words = self.keys(memory), self.target(previous)
        start = torch.tanh(self.first(memory.mean(1)))
        states = [(start, torch.zeros_like(start))] * len(self.cells)
        said, feed = [], torch.zeros_like(start)
        for t in range(previous.shape[1]):
            read = feed if self.after else self.read(states[-1][0], keys, memory)
            below = torch.cat([words[:, t], read], -1)
            for layer, cell in enumerate(self.cells):
                state = states[layer]
                states[layer] = cell(below, state) if self.lstm else (cell(below, state[0]), state[1])
                below = states[layer][0]
            if self.after:
                feed = torch.tanh(self.combine(torch.cat([below, self.read(below, keys, memory)], -1)))
            said.append(feed if self.after else below)
        logits = self.output(torch.stack(said, 1))
        return F.cross_entropy(logits.flatten(0, 1), following.flatten())

    def greedy(self, source: Tensor) -> Tensor:
        """LENGTH tokens for each sentence, from one layer that attends before its step."""
        memory, _ = self.encoder(self.source(source))
        keys = self.keys(memory)
        state = torch.tanh(self.first(memory.mean(1)))
        carry, word, said = torch.zeros_like(state), source.new_full((len(source),), 2), []
        for _ in range(LENGTH):
            below = torch.cat([self.target(word), self.read(state, keys, memory)], -1)
            if self.lstm:
                state, carry = self.cells[0](below, (state, carry))
            else:
                state = self.cells[0](below, state)
            word = self.output(state).argmax(-1)
            said.append(word)
        return torch.stack(said, 1)


class Floor(nn.Module):
    """No attention: cuDNN runs encoder and decoder, one product gives the logits."""

    def __init__(self, cell: str, layers: int) -> None:
        super().__init__()
        make = nn.LSTM if cell == "lstm" else nn.GRU
        self.source, self.target = nn.Embedding(VOCABULARY, SIZE), nn.Embedding(VOCABULARY, SIZE)
        self.encoder = make(SIZE, SIZE // 2, bidirectional=True, batch_first=True)
        self.decoder = make(2 * SIZE, SIZE, layers, batch_first=True)
        self.output = nn.Linear(SIZE, VOCABULARY)

    def loss(self, source: Tensor, previous: Tensor, following: Tensor) -> Tensor:
        memory, _ = self.encoder(self.source(source))
        states, _ = self.decoder(torch.cat([self.target(previous), memory], -1))
        return F.cross_entropy(self.output(states).flatten(0, 1), following.flatten())


class Ours(nn.Module):
    """Our model, through the public names of `regard.nn`."""

    def __init__(
        self, cell: Any, layers: int, state: Any, select: str = "softmax", score: str = "additive"
    ) -> None:
        super().__init__()
        encoder = RecurrentEncoder(Embedding(VOCABULARY, SIZE), cell=cell, size=SIZE // 2)
        attention = Attention(SIZE, encoder.value_size, score=score, select=select)
        self.encoder = encoder
        self.decoder = RecurrentDecoder(
            Embedding(VOCABULARY, SIZE),
            {"source": encoder},
            cell=cell,
            size=SIZE,
            layers=layers,
            attention={"source": attention},
            state=state,
        )

    def loss(self, source: Tokens, target: Tokens) -> Tensor:
        return self.decoder.loss({"source": self.encoder(source)}, target).mean

    def write(self, source: Tokens, search: Greedy | Beam) -> Tensor:
        """LENGTH tokens for each sentence, the last of them END."""
        found = self.decoder.predict({"source": self.encoder(source)}, search)
        return found.tokens


class TwoInputs(nn.Module):
    """Attends to a lemma and its features, as in inflection."""

    def __init__(self) -> None:
        super().__init__()
        size, characters = 400, 60
        self.lemma, self.features = (
            RecurrentEncoder(Embedding(characters, size), cell="lstm", size=size // 2) for _ in range(2)
        )
        encoders = {"lemma": self.lemma, "features": self.features}
        attention = {
            name: Attention(size, one.value_size, score="additive") for name, one in encoders.items()
        }
        self.decoder = RecurrentDecoder(
            Embedding(characters, size), encoders, cell="lstm", size=size, attention=attention
        )

    def loss(self, lemma: Tokens, features: Tokens, target: Tokens) -> Tensor:
        memories = {"lemma": self.lemma(lemma), "features": self.features(features)}
        return self.decoder.loss(memories, target).mean
