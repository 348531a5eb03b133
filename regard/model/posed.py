"""A batch put to a model for one of its outputs: encoded once, then searched, scored and told."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch

from regard.data import Batch, Tokens
from regard.data.batch import UNKNOWN
from regard.data.columns import Column, TextColumn
from regard.errors import RegardError
from regard.model.answers import Asked, predictions
from regard.model.arcs import with_arcs
from regard.model.network import Network
from regard.model.searching import make_search
from regard.model.seeing import with_seen
from regard.model.structures import with_structures
from regard.model.telling import Look, told
from regard.nn.encoders import ParentedEncoder
from regard.nn.memory import Memory
from regard.nn.search import Ensemble, Stepper, StepwiseDecoder
from regard.nn.search import score as score_targets
from regard.prediction import Prediction
from regard.spec import Spec, TreeSpec


@dataclass(frozen=True)
class Posed:
    """spec, columns and network are the model's; the batch is on its device.

    look   where the model is to look, of a batch of one
    """

    spec: Spec
    columns: Mapping[str, Column]
    network: Network
    batch: Batch
    output: str
    look: Look | None = None

    @property
    def column(self) -> Column:
        return self.columns[self.output]

    @property
    def decoder(self) -> Any:
        return self.network.decoders[self.output]

    @cached_property
    def encoded(self) -> Mapping[str, Memory]:
        encoded = self.network.encode(self.batch)
        return encoded if self.look is None else told(self.look, encoded, self.decoder)

    @property
    def memories(self) -> dict[str, Memory]:
        return self.network.memories(self.output, self.encoded)

    @cached_property
    def truth(self) -> dict[str, Any] | None:
        return self.network.truth(self.output, self.batch, self.encoded)

    def find(
        self, prefix: str | None = None, others: Sequence[Posed] = (), keys: Sequence[int] | None = None
    ) -> Any:
        """What the decoder finds: a text by search, anything else at once.

        keys   a number for each row, from which with the seed its samples follow; default: its number in the data
        """
        if not isinstance(self.decoder, StepwiseDecoder):
            if others or prefix is not None:
                self._check_written()
            return self.decoder.predict(self.memories)
        forced = self._forced(prefix) if prefix else None
        seed = self.spec.training.seed
        keys = self.batch.rows if keys is None else keys
        search = make_search(self.spec.search, keys, seed=seed, prefix=forced)
        return search(self.together(others))

    def given(self, others: Sequence[Posed] = ()) -> Any:
        """The targets of the batch as if they had been found."""
        return score_targets(self.together(others), self.batch[self.output])

    def stepper(self) -> Stepper:
        return Stepper(self.decoder, self.memories, truth=self.truth)

    def together(self, others: Sequence[Posed] = ()) -> Stepper:
        """This model's steps, or where there are others the mean of all."""
        self._check_written()
        for other in others:
            theirs = other.columns.get(self.output)
            if theirs is None or theirs.learned() != self.column.learned():
                raise RegardError(
                    f"two models decide together only over one vocabulary of {self.output!r}; theirs differ.",
                    fix="Train the members on the same data with different seeds.",
                )
        if not others:
            return self.stepper()
        return Ensemble([self.stepper(), *(other.stepper() for other in others)])

    def answers(self, found: Any, *, trace: bool = True) -> list[Prediction]:
        """What was found as predictions, with what attention there was."""
        asked = Asked.of(
            self.batch,
            self.columns,
            {name: self.network.reader(name) for name in self.spec.encoder},
            self.truth,
            output=self.output,
            trace=trace,
            replace_unknown=self.spec.search.replace_unknown,
            told=[name for name, memory in self.encoded.items() if memory.told is not None],
        )
        return predictions(found, self.column, asked)

    def seen(self, answers: Sequence[Prediction]) -> list[Prediction]:
        """The answers, their traces holding what the inputs looked like."""
        return with_seen(answers, self.batch, self.columns, self.encoded)

    def structured(self, answers: Sequence[Prediction], found: Any, samples: int) -> list[Prediction]:
        """The answers, their traces holding what was selected jointly."""
        seed = self.spec.training.seed
        seen = with_structures(
            answers, found, self.decoder, lambda: self.memories, samples=samples, seed=seed
        )
        if not any(isinstance(encoder, ParentedEncoder) for encoder in self.network.encoders.values()):
            return seen
        trees = {
            column.of: name
            for name, column in {**self.spec.inputs, **self.spec.truth}.items()
            if isinstance(column, TreeSpec)
        }
        return with_arcs(seen, self.memories, self.batch, trees)

    def _check_written(self) -> None:
        if not isinstance(self.decoder, StepwiseDecoder):
            raise RegardError(
                f"ensembles and prefixes are for texts; {self.output!r} is a {self.column.type}."
            )

    def _forced(self, prefix: str) -> Tokens:
        """How every output of the batch must begin."""
        column = self.column
        assert isinstance(column, TextColumn)
        ids, device = column.encode(prefix), next(self.network.parameters()).device
        for piece, number in zip(column.tokens(prefix), ids.tolist(), strict=True):
            if number == UNKNOWN:
                raise RegardError(
                    f"the model cannot write {piece!r}: it is not in its vocabulary.", where="prefix"
                )
        known, rows = torch.as_tensor(ids, dtype=torch.int64, device=device), len(self.batch)
        return Tokens(known.expand(rows, -1), torch.full((rows,), len(known), device=device))
