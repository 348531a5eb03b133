"""The base of decoders that write one token after another."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor

from regard.data.batch import BEGIN, UNKNOWN, Tokens
from regard.errors import RegardError
from regard.nn.decoders.decoder import BatchView, Decoder, Truth, truth_rows
from regard.nn.decoders.output import Distilled
from regard.nn.loss import Loss
from regard.nn.memory import Memory
from regard.nn.packing import Packing
from regard.nn.search import Hypotheses, Stepper, score
from regard.nn.stepping import Step
from regard.parts.contract import optional, required
from regard.parts.definition import remember
from regard.trace import Trace
from regard.trace.prediction import Alternative, Prediction

END_PIECE = "</s>"


@dataclass(frozen=True)
class ForcedCost:
    """The cost of given outputs under teacher forcing.

    total        () the loss of the tokens, to be minimized
    likelihood   () −log p of the tokens, without a gradient
    distilled    another model's probabilities (N, V), packed → () −Σ p log q
    looked       () the loss of the attention weights; None: none
    parts        the parts of `looked`, by name
    """

    total: Tensor
    likelihood: Tensor
    distilled: Callable[[Tensor], Tensor]
    looked: Tensor | None = None
    parts: Mapping[str, Tensor] = field(default_factory=dict)


@remember
class StepwiseDecoder(Decoder):
    """p(y | x) = Π_t p(y_t | y_<t, x); `start` and `step` serve both teacher forcing and every search.

    To add one, write `build`, `board`, `board_loss`, `start`, `step` and `forced_cost`; `distribution` and
    `repeat` if it is to be distilled or shows structures.

    recordable_steps   whether a search on CUDA may capture several steps as one graph. A step must then not read
                 numbers back from the device, and masked positions of a memory must have no effect
    timeless     whether a step depends on the number of earlier steps only through the state's tensors
    """

    writes: ClassVar[tuple[str, ...]] = ("text",)
    stepwise = True
    traces_given = True
    recordable_steps: ClassVar[bool] = False
    from_vocabulary = True
    weighs = True

    @property
    def timeless(self) -> bool:
        return False

    @required("once for each batch to answer")
    def start(self, memories: Mapping[str, Memory], *, truth: Truth = None) -> Any:
        """The state before the first token, of one hypothesis for each source."""
        raise NotImplementedError

    @required("at every step of a search")
    def step(self, tokens: Tensor, state: Any, memories: Mapping[str, Memory]) -> Step:
        """The previous tokens (B, K) of K hypotheses → logits of the next ones."""
        raise NotImplementedError

    def check_prefix(self, ids: Sequence[int], memories: Mapping[str, Memory]) -> None:
        """Refuse tokens with which no output can begin; by default all are allowed."""

    @optional("by distillation, for given outputs")
    def distribution(self, memories: Mapping[str, Memory], target: Tokens) -> Tensor:
        """(N, V) p(· | y_<t, x) at every position of the targets and their ends, packed, for distillation."""
        raise RegardError(
            f"a {type(self).Options.type} decoder cannot teach another model: it has no method distribution.",
            fix="Distill from a model with another decoder.",
        )

    @required("by `loss`, for given outputs")
    def forced_cost(
        self, memories: Mapping[str, Memory], target: Tokens, *, truth: Truth = None
    ) -> ForcedCost:
        """The cost of the targets, each token given the true ones before it (teacher forcing)."""
        raise NotImplementedError

    def count(self, target: Tokens) -> Tensor:
        """The number of tokens, including the ends."""
        return (target.lengths + 1).sum()

    def loss(
        self,
        memories: Mapping[str, Memory],
        target: Tokens,
        *,
        truth: Truth = None,
        distilled: Distilled | None = None,
    ) -> Loss:
        """−log p(target), summed over tokens, plus the loss of the attention weights. Padding is left out."""
        cost = self.forced_cost(memories, target, truth=truth)
        total = cost.total
        if distilled is not None:
            theirs = cost.distilled(distilled.probabilities)
            total = (1 - distilled.weight) * total + distilled.weight * theirs
        if cost.looked is not None:
            total = total + cost.looked
        return Loss(total, self.count(target), {"likelihood": cost.likelihood, **cost.parts})

    @torch.no_grad()
    def predict(  # type: ignore[override]
        self, memories: Mapping[str, Memory], search: Callable[[Stepper], Hypotheses], *, truth: Truth = None
    ) -> Hypotheses:
        """The result of a search: `predict(memories, Beam(size=5))`."""
        return search(Stepper(self, memories, truth=truth))

    @torch.no_grad()
    def score(self, memories: Mapping[str, Memory], target: Tokens, *, truth: Truth = None) -> Hypotheses:
        return score(Stepper(self, memories, truth=truth), target)

    def spell(self, ids: Sequence[int], column: Any, view: BatchView, row: int) -> list[str]:
        """The pieces of the tokens of one output, up to its end, as the column joins them."""
        pieces: list[str] = column.spell(ids)
        return pieces

    def readable(self, ids: Sequence[int], column: Any, view: BatchView, row: int) -> list[str]:
        """The pieces of the tokens of one output, in readable form."""
        pieces: list[str] = column.tokens(ids)
        return pieces

    def predictions(self, found: Hypotheses, column: Any, view: BatchView) -> list[Prediction]:
        tokens, lengths, scores = found.tokens.tolist(), found.lengths.tolist(), found.scores.tolist()
        token_scores = found.token_scores.cpu().numpy() if view.trace else None
        looks = (
            {name: weights.cpu().numpy() for name, weights in found.attention.items()}
            if view.trace or view.replace_unknown
            else {}
        )
        answers = []
        for row, ranks in enumerate(tokens):
            written = []
            for rank, ids in enumerate(ranks):
                if lengths[row][rank] == 0:
                    continue  # no such hypothesis
                pieces = self.spell(ids[: lengths[row][rank]], column, view, row)
                if view.given is not None:
                    pieces = _as_given(pieces, ids, view.given[row])
                if view.replace_unknown:
                    here = {name: weights[row, rank] for name, weights in looks.items()}
                    pieces = _without_unknown(pieces, ids, here, view, row)
                written.append(Alternative(column.join(pieces), scores[row][rank]))
            seen = None
            if token_scores is not None:
                ids = found.content(row)
                pieces = self.readable(ids, column, view, row)
                if view.given is not None:
                    pieces = _as_given(pieces, ids, [column.cutter.show(piece) for piece in view.given[row]])
                seen = _trace(found, pieces, view, looks, token_scores[row, 0], row, written)
            best = written[0]
            others = written if len(written) > 1 else ()
            answers.append(Prediction(best.text, best.text, best.score, seen, others))
        return answers


def previous_tokens(found: Hypotheses) -> tuple[Tensor, Packing]:
    """The previous tokens of the best hypotheses (B, T), starting with BEGIN, and their packing."""
    tokens, lengths = found.tokens[:, 0], found.lengths[:, 0]
    previous = torch.cat([torch.full_like(tokens[:, :1], BEGIN), tokens[:, :-1]], 1)
    return previous, Packing.of(lengths, tokens.shape[1])


def _as_given(pieces: Sequence[str], ids: Sequence[int], given: Sequence[str]) -> list[str]:
    """The pieces, with unknown ones as in the given text."""
    both = zip(pieces, ids, given, strict=False)  # the end has no piece
    return [mine if number == UNKNOWN else piece for piece, number, mine in both]


def _without_unknown(
    pieces: list[str], ids: Sequence[int], looks: Mapping[str, np.ndarray], view: BatchView, row: int
) -> list[str]:
    """The pieces, with unknown ones replaced by the most attended source piece."""
    if not looks:
        return pieces
    name = next(iter(looks))
    source = view.pieces[name][row]
    return [
        source[int(looks[name][step, : len(source)].argmax())] if ids[step] == UNKNOWN else piece
        for step, piece in enumerate(pieces)
    ]


def _trace(
    found: Hypotheses,
    pieces: Sequence[str],
    view: BatchView,
    looks: Mapping[str, np.ndarray],
    token_scores: np.ndarray,
    row: int,
    written: Sequence[Alternative],
) -> Trace:
    length = int(found.lengths[row, 0])
    pieces = [*pieces, *[END_PIECE] * (length - len(pieces))]
    inputs = view.inputs(row)
    attention = {name: weights[row, 0, :length, : len(inputs[name])] for name, weights in looks.items()}
    return Trace(
        input=inputs,
        output=pieces,
        attention=attention,
        scores=token_scores[:length],
        truth=truth_rows(view, row, length, inputs, list(attention)),
        hypotheses=[(other.text, other.score) for other in written],
        overridden=view.overridden,
    )


def likelihood(smoothing: float) -> str:
    """The loss of the words of a row, as an equation.

    smoothing   share of the target distribution that is spread evenly over the vocabulary
    """
    word = "log(p(y_t)[y_t])"
    if smoothing:
        word = f"({1 - smoothing:g} {word} + {smoothing:g} mean(log(p(y_t))))"
    return f"−Σ_t {word}"
