"""What a user writes with regard: a cell of their own, a training, predictions, and structures in models of torch.

Type checkers read this file with the types that regard brings (`test_typing_of_user_code.py`).
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

import regard
from regard import LanguageModel, Model, Prediction, RegardError, Spec, Trace
from regard.nn import Cell
from regard.structures import LinearChain, ProjectiveTree, SemiMarkov


@regard.register("cell", "leaky-sample")
class LeakyCell(Cell):
    """h' = (h + tanh(W x + b + U h + c)) / 2"""

    gates = 1

    @classmethod
    def equations(cls, options: Any, mark: str) -> list[str]:
        name = cls.written_name(options)
        return [f"{name}_{mark}(h, x) = (h + tanh(W_{mark} x + b_{mark} + U_{mark} h + c_{mark})) / 2"]

    def advance(self, projected: Tensor, state: Tensor) -> Tensor:
        new = torch.tanh(projected + nn.functional.linear(state, self.weight_hh, self.bias_hh))
        return (state + new) / 2


def trained() -> Model:
    model = regard.fit("words.tsv", epochs=3, encoder={"cell": "leaky-sample"}, quiet=True)
    if isinstance(model, LanguageModel):
        raise TypeError("expected a model of pairs")
    return model


def answers(model: Model) -> list[str]:
    one: Prediction = model.predict("attention")
    several = model.predict(["daughter", "physique"], beam=5, n_best=3)
    score: float = one.score
    trace: Trace | None = one.trace
    if trace is not None:
        trace.save("attention.svg")
    changed = model.predict("knight", look="0-0")
    print(score, changed.text, model.spec.name)
    return [one.text, *(found.text for found in several)]


def loaded(folder: str) -> Model | None:
    try:
        return Model.load(folder, device="cpu")
    except RegardError as error:
        print(error)
        return None


def own_spec() -> Spec:
    return Spec.load("my.yaml", ["encoder.size=64"])


class Tagger(nn.Module):
    """A conditional random field over the states of a recurrent network."""

    def __init__(self, words: int, tags: int, size: int = 64) -> None:
        super().__init__()
        self.embedding = nn.Embedding(words, size)
        self.states = nn.GRU(size, size, batch_first=True)
        self.scores = nn.Linear(size, tags)
        self.transitions = nn.Parameter(torch.zeros(tags, tags))

    def chain(self, words: Tensor, lengths: Tensor) -> LinearChain:
        nodes = self.scores(self.states(self.embedding(words))[0])  # (B, N, C)
        return LinearChain(self.transitions, nodes, lengths=lengths)

    def forward(self, words: Tensor, lengths: Tensor, tags: Tensor) -> Tensor:
        chain = self.chain(words, lengths)
        return -chain.log_prob(chain.value_of(tags)).mean()

    def tags(self, words: Tensor, lengths: Tensor) -> Tensor:
        chain = self.chain(words, lengths)
        return chain.states(chain.mode)


def soft_heads(scores: Tensor) -> tuple[Tensor, Tensor]:
    """(B, N, N) scores of arcs → their marginals, and the entropy of each tree."""
    tree = ProjectiveTree(scores)
    return tree.marginals, tree.entropy()


def several_segmentations(scores: Tensor) -> Tensor:
    return SemiMarkov(scores).sample((10,))
