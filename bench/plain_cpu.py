"""The plainest PyTorch of an attention encoder-decoder: a loop over torch's cells, beside which ours is timed.

The model of `text_cpu.py`: a bidirectional encoder of 256 per direction, embeddings of 256, a decoder of 256 with
additive attention from the current state and input feeding, `layers` of `cell` in each, 4,000 types. The projections of
the memory are computed once. Every row has the same length, so nothing is masked.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

TYPES, SIZE = 4_000, 256
State = tuple[list[Tensor], list[Tensor], Tensor]
"""The states and memory cells of all layers, and the vector that is fed into the next step."""


class Plain(nn.Module):
    def __init__(self, cell: str, layers: int = 1) -> None:
        super().__init__()
        self.lstm, self.layers = cell == "lstm", layers
        self.source, self.target = nn.Embedding(TYPES, SIZE), nn.Embedding(TYPES, SIZE)
        encoder: Any = nn.LSTM if self.lstm else nn.GRU
        self.encoder = encoder(SIZE, SIZE, num_layers=layers, bidirectional=True, batch_first=True)
        kind: Any = nn.LSTMCell if self.lstm else nn.GRUCell
        self.cells = nn.ModuleList(kind(SIZE if layer else 2 * SIZE, SIZE) for layer in range(layers))
        self.key, self.query = nn.Linear(2 * SIZE, SIZE, bias=False), nn.Linear(SIZE, SIZE, bias=False)
        self.energy, self.bridge = nn.Linear(SIZE, 1, bias=False), nn.Linear(2 * SIZE, layers * SIZE)
        self.merge, self.output = nn.Linear(3 * SIZE, SIZE), nn.Linear(SIZE, TYPES)

    def start(self, source: Tensor) -> tuple[Tensor, Tensor, State]:
        """source (B, S) → memory (B, S, D), its keys (B, S, A), the first state."""
        memory, _ = self.encoder(self.source(source))
        states = list(torch.tanh(self.bridge(memory.mean(1))).chunk(self.layers, -1))
        nothing = torch.zeros_like(states[0])
        return memory, self.key(memory), (states, [nothing] * self.layers, nothing)

    def step(self, word: Tensor, memory: Tensor, keys: Tensor, state: State) -> State:
        states, carries, fed = list(state[0]), list(state[1]), state[2]
        given = torch.cat([self.target(word), fed], -1)
        for layer, cell in enumerate(self.cells):
            if self.lstm:
                states[layer], carries[layer] = cell(given, (states[layer], carries[layer]))
            else:
                states[layer] = cell(given, states[layer])
            given = states[layer]
        energies = self.energy(torch.tanh(keys + self.query(given)[:, None])).squeeze(-1)
        context = (torch.softmax(energies, -1)[:, None] @ memory)[:, 0]
        return states, carries, torch.tanh(self.merge(torch.cat([given, context], -1)))

    def loss(self, source: Tensor, target: Tensor) -> Tensor:
        """The mean cost of the words of target (B, T), each of which is also the input of its step."""
        memory, keys, state = self.start(source)
        outputs = []
        for t in range(target.shape[1]):
            state = self.step(target[:, t], memory, keys, state)
            outputs.append(state[2])
        return functional.cross_entropy(self.output(torch.stack(outputs, 1)).flatten(0, 1), target.flatten())

    @torch.inference_mode()
    def greedy(self, source: Tensor, length: int) -> Tensor:
        """(B, length) the most probable word of every step."""
        memory, keys, state = self.start(source)
        word, words = torch.zeros(len(source), dtype=torch.long), []
        for _ in range(length):
            state = self.step(word, memory, keys, state)
            word = self.output(state[2]).argmax(-1)
            words.append(word)
        return torch.stack(words, 1)

    @torch.inference_mode()
    def beam(self, source: Tensor, length: int, size: int = 5) -> tuple[Tensor, Tensor]:
        """Words (B, size, length) and their scores (B, size), the best first."""
        memory, keys, state = self.start(source)
        memory, keys = memory.repeat_interleave(size, 0), keys.repeat_interleave(size, 0)
        state = _moved(state, torch.arange(len(source)).repeat_interleave(size))
        rows = torch.arange(len(source))[:, None] * size
        word = torch.zeros(len(memory), dtype=torch.long)
        scores = torch.full((len(source), size), -torch.inf)
        scores[:, 0] = 0.0
        words = torch.empty(len(memory), 0, dtype=torch.long)
        for _ in range(length):
            state = self.step(word, memory, keys, state)
            logs = torch.log_softmax(self.output(state[2]), -1).view(len(source), size, -1)
            scores, chosen = (scores[..., None] + logs).flatten(1).topk(size, -1)
            parent, word = (rows + chosen // TYPES).flatten(), (chosen % TYPES).flatten()
            state = _moved(state, parent)
            words = torch.cat([words[parent], word[:, None]], 1)
        return words.view(len(source), size, length), scores


def _moved(state: State, rows: Tensor) -> State:
    states, carries, fed = state
    return [one[rows] for one in states], [one[rows] for one in carries], fed[rows]
