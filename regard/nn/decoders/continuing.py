"""The base of decoders of streams, which continue a text from a state, span after span."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Literal

import torch
from pydantic import field_validator
from torch import Tensor, nn

from regard.data.batch import Span
from regard.errors import Message, RegardError, ShellCommand
from regard.nn.adaptive import CUTOFFS, NARROWER, AdaptiveOutput, probabilities
from regard.nn.decoders.decoder import BatchView, Decoder
from regard.nn.decoders.output import Output
from regard.nn.decoders.stepwise import likelihood
from regard.nn.embedding import Embedding, EmbeddingOptions, is_fixed, vectors_note
from regard.nn.letters import Letters, linear
from regard.nn.loss import Loss
from regard.nn.memory import Memory
from regard.nn.path import computed
from regard.nn.symbols import MemorySymbols
from regard.parts import Count, Mistakes, Plan, Size
from regard.trace.prediction import Prediction

Carried = tuple[Tensor, ...]
"""The state after a span: tensors (B, …), as many as the decoder needs."""
GENERATE = ShellCommand("generate", ("RUN",), {"prompt": "TEXT"}, python="model.generate(prompt)")


class ContinuingDecoder(Decoder):
    """p(y) = Π_t p(y_t | y_<t): each token is predicted from a state that depends on the tokens before it.

    To add one, derive from this class and write `build`, `board`, `start` and `forward`.

    looks_at_itself   whether it has self-attention for a trace: `self_looks`
    carried   in training, the state after the last span, without a gradient. The next span continues from it
              unless it is `fresh`. Part of the training state, not of the model
    """

    class Options(Decoder.Options, EmbeddingOptions):
        """Options shared by the decoders of streams."""

        size: Size = 256
        """Units of each hidden layer."""
        tie: Literal["none", "output"] = "none"
        """output: use the embeddings as output weights."""
        output: Literal["full", "adaptive"] = "full"
        """adaptive: rare units share classes with narrower weights, which is faster for large vocabularies."""
        cutoffs: tuple[Count, ...] | None = None
        """With `output: adaptive`: the ranks at which the vocabulary, sorted by frequency, is split into
        classes; default: 2000 and 10000."""

        @field_validator("cutoffs", mode="before")
        @classmethod
        def _one_or_many(cls, value: Any) -> Any:
            return (value,) if isinstance(value, int) else value

    writes: ClassVar[tuple[str, ...]] = ("stream",)
    looks_at_itself: ClassVar[bool] = False

    @classmethod
    def check(cls, options: Any, name: str, plan: Plan, mistakes: Mistakes) -> None:
        if options.tie == "output" and is_fixed(options.embedding):
            mistakes.add(
                "tied output weights must be trained.", "tie", fix="Leave  train: false  out of `embedding`."
            )
        if options.output == "adaptive":
            if options.tie == "output":
                mistakes.add(
                    "tie: output needs output weights of one width; output: adaptive has narrower ones for rare units.",
                    "tie",
                    fix="Leave one of the two out.",
                )
            classes = len(options.cutoffs or CUTOFFS)
            if cls.said_size(options) < NARROWER**classes:
                mistakes.add(
                    f"with {classes} cutoffs, size must be at least {NARROWER**classes}.",
                    "output",
                    fix="Raise size, or give fewer cutoffs.",
                )
            cutoffs = options.cutoffs or CUTOFFS
            if list(cutoffs) != sorted(set(cutoffs)):
                mistakes.add(
                    "cutoffs must be strictly increasing.", "cutoffs", fix="For example [2000, 10000]."
                )
        elif options.cutoffs is not None:
            mistakes.add(
                "cutoffs has no effect: it belongs to `output: adaptive`.", "cutoffs", fix="Leave it out."
            )

    @classmethod
    def fewest_units(cls, options: Any) -> int:
        few = super().fewest_units(options)
        return few + (options.cutoffs or CUTOFFS)[-1] if options.output == "adaptive" else few

    @classmethod
    def board_output(cls, options: Any, state: str) -> list[str]:
        """Equations from the last hidden layer to p(y_t)."""
        if options.output == "adaptive":
            classes = range(1, len(options.cutoffs or CUTOFFS) + 1)
            others = " + ".join(f"exp(u_{k}·{state} + d_{k})" for k in classes)
            parts = "; ".join(f"q_{k}t softmax(V_{k} P_{k} {state})" for k in classes)
            return [
                "i = 1 … C     — the most frequent units; the others are in classes",
                f"z_t = Σ_i exp(V_y[i]·{state} + b_y[i]) + {others}",
                *(f"q_{k}t = exp(u_{k}·{state} + d_{k}) / z_t" for k in classes),
                f"p(y_t) = [exp(V_y {state} + b_y) / z_t; {parts}]",
            ]
        weights = (
            "V_y"
            if options.tie == "none"
            else "E_y"
            if options.width_of_vectors == cls.said_size(options)
            else "E_y N_y"
        )
        return [f"p(y_t) = softmax({weights} {state} + b_y)"]

    @classmethod
    def letters(cls, options: Any, memories: Mapping[str, MemorySymbols]) -> Letters:
        found = {"embedding.weight": "E_y", "narrow.weight": "N_y", **linear("output", "V_y", "b_y")}
        classes = range(1, len(options.cutoffs or CUTOFFS) + 1)
        head = (
            frozenset({"V_y", *(f"u_{k}" for k in classes)}),
            frozenset({"b_y", *(f"d_{k}" for k in classes)}),
        )
        for k in classes:
            found |= {f"output.softmax.tail.{k - 1}.0.weight": f"P_{k}"}
            found |= {f"output.softmax.tail.{k - 1}.1.weight": f"V_{k}"}
        return found | linear("output.softmax.head", *head)

    @classmethod
    def board_sizes(cls, options: Any) -> str:
        dropout = f", dropout {options.dropout}" if options.dropout else ""
        tied = "; output weights tied to the embedding" if options.tie != "none" else ""
        return f"— {options.size} units, vectors of {options.width_of_vectors}{vectors_note(options)}{dropout}{tied}"

    @classmethod
    def board_loss(cls, options: Any, memories: Mapping[str, MemorySymbols]) -> list[str]:
        return [f"loss = {likelihood(0.0)} / T     — mean over the tokens of a span, in nats"]

    @classmethod
    def said_size(cls, options: Any) -> int:
        """Units of the layer that the output reads."""
        return int(options.size)

    def __init__(self, embedding: Embedding, options: Any, vocabulary: int) -> None:
        super().__init__()
        self.embedding = embedding
        tied, said = options.tie == "output", self.said_size(options)
        self.narrow = nn.Linear(said, embedding.size, bias=False) if tied and said != embedding.size else None
        self.output: Output | AdaptiveOutput
        if options.output == "adaptive":
            cutoffs = options.cutoffs or CUTOFFS
            if cutoffs[-1] >= vocabulary:
                raise RegardError(
                    f"cutoffs {list(cutoffs)} must be smaller than the vocabulary, which has {vocabulary:,} units.",
                    where="decoder.cutoffs",
                    fix="Choose smaller cutoffs, or output: full.",
                )
            self.output = AdaptiveOutput(said, vocabulary, cutoffs)
        else:
            self.output = Output(
                embedding.size if tied else said, vocabulary, tied=embedding if tied else None
            )
        self.dropout = nn.Dropout(options.dropout)
        self.carried: Carried | None = None

    def start(self, rows: int) -> Carried:
        """The state before the first token of `rows` texts."""
        raise NotImplementedError

    def forward(self, before: Tensor, state: Carried) -> tuple[Tensor, Carried]:
        """Previous tokens (B, T) → the last hidden layer (B, T, size) at each, and the state after them."""
        raise NotImplementedError

    def read(self, before: Tensor, state: Carried | None) -> tuple[Tensor, Carried]:
        """`forward`, flattened to (B·T, O) for the output layer; a state of None begins a text."""
        hidden, state = self(before, self._begun(before, state))
        return self._said(self.dropped(hidden)), state

    def _said(self, hidden: Tensor) -> Tensor:
        """(B, T, size) → (B·T, O)."""
        flat = hidden.flatten(0, 1)
        return flat if self.narrow is None else self.narrow(flat)

    def _begun(self, before: Tensor, state: Carried | None) -> Carried:
        """The state, or the first state if there is none for this number of texts."""
        if state is None or len(state[0] if state else before) != len(before):
            return self.start(len(before))
        return state

    def dropped(self, hidden: Tensor) -> Tensor:
        dropped: Tensor = self.dropout(hidden)
        return dropped

    def loss(self, memories: Mapping[str, Memory], target: Span, *, truth: Any = None) -> Loss:
        """−log p of every token of the span. In training, the state is carried from span to span."""
        state = self._begun(target.before, self.carried if self.training and not target.fresh else None)
        given = (target.before, target.ids, *state)
        # an adaptive output asks the device for the sizes of its classes; a learned first state needs its gradient
        alone = isinstance(self.output, Output) and not any(part.requires_grad for part in state)
        total, likelihood, *reached = computed(self, self._span, *given) if alone else self._span(*given)
        if self.training:
            self.carried = tuple(reached)
        return Loss(total, self.count(target), {"likelihood": likelihood})

    def _span(self, before: Tensor, ids: Tensor, *state: Tensor) -> tuple[Tensor, ...]:
        """The loss of a span, its −log p, and the detached state after it."""
        hidden, reached = self(before, state)
        dropped = self.dropped(hidden)
        total, likelihood = self.output.loss(self._said(dropped), ids.flatten())
        restraint = self.restraint(hidden, dropped, state)
        if restraint is not None:
            total = total + restraint
        return total, likelihood, *(part.detach() for part in reached)

    def restraint(self, hidden: Tensor, dropped: Tensor, state: Carried) -> Tensor | None:
        """() a penalty on the hidden layer (B, T, size), given the state before it; None: no penalty."""
        return None

    def count(self, target: Span) -> Tensor:
        # filled on the device: a copy would wait for all pending work there
        return target.ids.new_full((), target.ids.numel(), dtype=torch.float32)

    @torch.no_grad()
    def costs(self, target: Span, state: Carried | None) -> tuple[Tensor, Carried]:
        """−log p (B, T) of every token of a span and the state after it; a state of None begins a text."""
        rows, state = self.read(target.before, state)
        return self.output.costs(rows, target.ids.flatten()).view(target.ids.shape), state

    @torch.no_grad()
    def following(self, before: Tensor, state: Carried | None) -> tuple[Tensor, Carried]:
        """log p (B, V) of every unit after the tokens (B, T), and the state after these."""
        rows, state = self.read(before, state)
        last = rows.unflatten(0, before.shape)[:, -1]
        return probabilities(self.output, last), state

    def self_looks(self, before: Tensor) -> dict[str, Tensor]:
        """{layer: (B, H, T, T)}: where each of the previous tokens (B, T) of a whole text looked; if
        `looks_at_itself`."""
        return {}

    def predict(self, memories: Mapping[str, Memory], *, truth: Any = None) -> Any:
        raise RegardError(
            "this model reads no input: it continues a text.",
            fix=Message("Use  ", GENERATE, "."),
        )

    def predictions(self, found: Any, column: Any, view: BatchView) -> list[Prediction]:
        raise NotImplementedError("a stream is generated, not predicted")
