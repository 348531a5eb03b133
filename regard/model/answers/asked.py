"""What was asked, and the way from what a decoder found to Predictions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import singledispatch
from typing import Any

from regard.data.batch import Batch
from regard.data.columns import Column
from regard.prediction import Prediction


@dataclass(frozen=True)
class Asked:
    """What a batch of predictions was made from.

    pieces   for each input the readable pieces of each row
    truth    {input: (B, T, S)} where the true attention is known; supporting facts as Tokens
    target   the true output of the rows, as its column collates it, where the batch holds it
    trace            whether it is to be told where the model looked
    replace_unknown  whether unknown output words become the most attended source word
    told             the inputs where the truth is what the model was told, and followed
    """

    pieces: Mapping[str, Sequence[Sequence[str]]]
    truth: Mapping[str, Any]
    trace: bool = True
    replace_unknown: bool = False
    target: Any = None
    told: Sequence[str] = ()

    def inputs(self, row: int) -> dict[str, Sequence[str]]:
        """The readable pieces of one row, by input."""
        return {name: rows[row] for name, rows in self.pieces.items()}

    @classmethod
    def of(
        cls,
        batch: Batch,
        columns: Mapping[str, Column],
        encoders: Mapping[str, Any],
        truth: Mapping[str, Any] | None,
        *,
        output: str | None = None,
        trace: bool = True,
        replace_unknown: bool = False,
        told: Sequence[str] = (),
    ) -> Asked:
        """encoders {input: what reads it}, which names the places of what is no text."""
        pieces = {
            name: encoder.positions(batch[name])
            if hasattr(encoder, "positions")
            else columns[name].readable(batch[name])
            for name, encoder in encoders.items()
        }
        truth = {name: known.to("cpu") for name, known in (truth or {}).items()}
        target = batch[output].to("cpu") if output is not None and output in batch else None
        return cls(pieces, truth, trace, replace_unknown, target, told)


@singledispatch
def predictions(found: Any, column: Column, asked: Asked) -> list[Prediction]:
    """One Prediction for each row of the batch, by the class of what the decoder found."""
    raise TypeError(found)
