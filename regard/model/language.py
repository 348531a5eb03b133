"""LanguageModel: it continues a text, and computes the surprisal of a text."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from numbers import Integral
from reprlib import repr as shortened
from typing import Any, cast

from regard.data import Dataset, StreamBatches
from regard.data.columns import StreamColumn
from regard.errors import Message, RegardError, ShellCommand
from regard.model.base import AnyModel
from regard.model.continuing import (
    Growing,
    Piece,
    Sampling,
    Surprise,
    continued,
    expect,
    following,
    surprises,
)
from regard.model.self_attention import looked, no_self_attention
from regard.nn.network import answering, faults_named
from regard.nn.search import Sample
from regard.spec import Spec
from regard.spec.sections import SPAN, STREAMS, TrainingSpec
from regard.trace import Trace
from regard.trace.prediction import Prediction

GENERATED = 200
"""Default number of generated tokens."""


class LanguageModel(AnyModel):
    """A model that continues a text.

        model = regard.load("runs/rnn-lm")
        model.generate("It was ").text

    A spec with inputs makes a `Model` instead, which answers them.
    """

    continues = True

    @property
    def column(self) -> StreamColumn:
        """The column of its text."""
        return cast(StreamColumn, self.columns[self._output])

    @property
    def decoder(self) -> Any:
        return self.network.decoders[self._output]

    @property
    def _output(self) -> str:
        return next(iter(self.spec.outputs))

    def generate(
        self,
        prompt: str = "",
        *,
        length: int | None = None,
        temperature: float | None = None,
        top_k: int | None = None,
        top_p: float | None = None,
        seed: int | None = None,
        constraint: Any = None,
    ) -> Prediction:
        """Continue a prompt with sampled tokens; `.text` includes the prompt.

        prompt        the beginning; every unit must be in the vocabulary of the model
        length        number of tokens to draw; default: `search.max_length` of the spec, or 200
        temperature   divides the logits; 0: always the most probable token; default: from the spec's `search`
        top_k         draw only among this many most probable tokens; 0: among all
        top_p         draw only among the most probable tokens that together have this probability
        seed          the same prompt, options and seed give the same text; default: `training.seed` of the
                      spec
        constraint    conditions that the text, with its prompt, obeys: one or several mappings, as in the spec's
                      `search`, which is the default. It has at most `length` tokens then: it ends where nothing may
                      follow

        The score is the log-probability of the drawn tokens at temperature 1. The unknown token is never
        drawn.
        """
        options = {"temperature": temperature, "top_k": top_k, "top_p": top_p, "seed": seed}
        pieces = list(self.pieces(prompt, length, constraint=constraint, **options))
        column = self.column
        text = column.decode([*column.encode(prompt).tolist(), *(piece.token for piece in pieces)])
        return Prediction(text, text, sum(piece.score for piece in pieces))

    def stream(
        self,
        prompt: str = "",
        *,
        length: int | None = None,
        temperature: float | None = None,
        top_k: int | None = None,
        top_p: float | None = None,
        seed: int | None = None,
        constraint: Any = None,
    ) -> Iterator[str]:
        """As `generate`, but yields the text piece by piece, the prompt first."""
        options = {"temperature": temperature, "top_k": top_k, "top_p": top_p, "seed": seed}
        pieces = self.pieces(prompt, length, constraint=constraint, **options)
        growing = Growing(self.column)
        yield "".join(growing.add(token) for token in self.column.encode(prompt).tolist())
        for piece in pieces:
            yield growing.add(piece.token)

    def following(self, prompt: str = "", count: int = 5) -> list[tuple[str, float]]:
        """The `count` most probable next tokens after a prompt, the most probable first, each with its probability
        P(y_t | y_1 … y_{t−1}) at temperature 1. Tokens that are never drawn, such as the unknown one, are left out."""
        check_text(prompt, "prompt")
        expect("count", count, Integral, lambda it: it >= 1, "a whole number, 1 or more")
        with answering(self), faults_named(lambda: self.spec):
            return following(self.decoder, self.column, prompt, count, self.network.device)

    def surprise(self, text: str) -> list[tuple[str, float]]:
        """The tokens of a text, each with its surprisal: −log p (nats) given the tokens before it."""
        check_text(text, "text")
        if not text:
            raise RegardError("the text is empty.", where="text", fix="Pass a text.")
        return [(one.token, one.nats) for one in self.surprises([text])]

    def surprises(self, texts: Iterable[str]) -> Iterator[Surprise]:
        """As `surprise`, token by token, for a text of any length that is given in pieces."""
        with answering(self), faults_named(lambda: self.spec):
            yield from surprises(self.decoder, self.column, texts, self.network.device)

    def trace(self, text: str) -> Trace:
        """Where a model with self-attention looked while it read a text: for each token, the shares of the tokens
        before it, with each head of each layer; `.plot()`, `.print()` and `.html()` draw them."""
        check_text(text, "text")
        if not text:
            raise RegardError("the text is empty.", where="text", fix="Pass a text.")
        if not self.decoder.looks_at_itself:
            raise no_self_attention()
        with answering(self), faults_named(lambda: self.spec):
            return looked(self.decoder, self.column, self._output, text, self.network.device)

    def pieces(
        self, prompt: str = "", length: int | None = None, *, constraint: Any = None, **options: Any
    ) -> Iterator[Piece]:
        """The tokens that `generate` draws, one by one; the same options."""
        spec = self.spec if constraint is None else self.spec.searching({"constraint": constraint})
        column, search = self.column, spec.search
        check_text(prompt, "prompt")
        length = search.max_length or GENERATED if length is None else length
        expect("length", length, Integral, lambda it: it >= 0, "a whole number, 0 or more")
        usual = {**dict(search.options_of(Sample.Options)), "seed": self.spec.training.seed}
        given = {name: value for name, value in options.items() if value is not None}
        column.refuse_unknown(prompt, "prompt")
        sampling = Sampling(**{**usual, **given})
        obeyed = self._obeyed(search.constraint, prompt, length) if search.constraint else None

        def drawn() -> Iterator[Piece]:
            with answering(self), faults_named(lambda: self.spec):
                pieces = continued(self.decoder, column, prompt, sampling, self.network.device, obeyed)
                yield from islice(pieces, length)

        return drawn()

    def _obeyed(self, constraints: Any, prompt: str, length: int) -> Any:
        from regard.nn.constraints.continuing import ContinuedConstraint

        return ContinuedConstraint(constraints, self.column, self.column.encode(prompt).tolist(), length)

    def example(self) -> list[str]:
        return [
            'model.generate("…", length=200).text  # continues a text',
            'model.surprise("…")  # the tokens of a text, each with its −log p',
        ]

    @property
    def training_options(self) -> TrainingSpec:
        given = self.spec.training
        rows, span = given.batch_rows or STREAMS, given.span or SPAN
        return given.model_copy(update={"batch_rows": rows, "span": span})

    def training_batches(
        self, train: Dataset, *, world_size: int = 1, draw: Callable[..., Any] | None = None
    ) -> StreamBatches:
        options = self.training_options
        rows, span = options.batch_rows or STREAMS, options.span or SPAN
        batches = StreamBatches(train, rows=rows, span=span, carry=options.carry, world_size=world_size)
        batches.refuse_short()
        return batches

    @classmethod
    def other_kind(cls, spec: Spec, call: str, where: str) -> RegardError:
        instead = ShellCommand("predict", (where or "RUN", "TEXT"), python=f"regard.Model.{call}")
        return RegardError(
            f"this is not a language model: it predicts from inputs ({', '.join(spec.inputs)}).",
            where=where,
            fix=Message("Use  ", instead),
        )


def check_text(value: Any, where: str) -> None:
    if not isinstance(value, str):
        raise RegardError(f"received {shortened(value)}, expected a text.", where=where, fix="Pass a text.")
