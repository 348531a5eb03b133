"""The input that `show` and `compare` examine: a text, or a row of the data with its truth."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from regard.cli.inputs import as_inputs
from regard.cli.unknown import UnknownUnits
from regard.data import Dataset
from regard.errors import RegardError
from regard.evaluation import open_dataset, usual_split
from regard.model import Model
from regard.model.override import Override, check_reached
from regard.reporting.terminal import printable
from regard.trace.prediction import Prediction

if TYPE_CHECKING:
    from regard.model.recording import TraceRecording


@dataclass(frozen=True)
class ShowRequest:
    """What to show.

    text     an input, whole or as its words; for several inputs, a text for each, or a JSON object by their names
    target   the output to score; default: the model's own output
    row      a row of the data; a text output is scored with its true value, any other output is predicted
    split    the split of the row; default: test, or dev if there is none
    samples  number of structures to sample
    record   what to record beside the attention, as in `Model.predict`
    look     attention override, see `Override`; for several attended inputs, a JSON object by their names; or a JSON
             list of edits
    """

    text: str | Sequence[str] | None = None
    target: str | None = None
    row: int | None = None
    split: str | None = None
    samples: int = 0
    look: str | None = None
    record: Sequence[str] = ()

    def __post_init__(self) -> None:
        if self.text is not None and self.row is not None:
            raise RegardError(
                f"received both a text, {self.line!r}, and --row {self.row}; only one can be shown.",
                where="--row",
                fix="Leave out one.",
            )
        if self.target is not None and self.row is not None:
            raise RegardError(
                "a row of the data has its own output.", where="--target", fix="Leave out --target, or --row."
            )
        if self.text is None and self.row is None:
            raise RegardError("no input to show.", fix="Give a text, or --row N for a row of the data.")

    @property
    def line(self) -> str:
        """The text in one piece."""
        return self.text if isinstance(self.text, str) else " ".join(self.text or ())

    def on_split_of(self, model: Model) -> ShowRequest:
        """The request with the default split of a model's data; prints the split if it is not test."""
        if self.row is None or self.split is not None:
            return self
        split = usual_split(model.spec)[0]
        if split != "test":
            print(f"row {self.row} of {split}; the data have no test split", file=sys.stderr)
        return replace(self, split=split)

    def tell_own(self, model: Model, output: str) -> None:
        """Print what the model writes for a row, if its true output is shown instead."""
        if self.row is None or self.look is not None or not model.network.decoders[output].traces_given:
            return
        own = printable(self.by(model, output, own=True).text)
        print(
            f"row {self.row} of {self.split}, with its true output; the model writes: {own}", file=sys.stderr
        )

    def untold(self, model: Model, output: str) -> Prediction:
        """The prediction of the model without the attention override."""
        found = replace(self, look=None).by(model, output, own=True)
        if found.trace is None:
            return found
        # The true regions of a row belong to the words of the true output, not to the predicted ones.
        return replace(found, trace=replace(found.trace, truth={}))

    def given(self, model: Model) -> Any:
        """The input, as `model.predict` takes it."""
        if self.row is not None:
            dataset = self._dataset(model)
            return {name: dataset.text(self.row, name) for name in model.spec.inputs}
        apart = len(model.spec.inputs) > 1 and self.text is not None and not isinstance(self.text, str)
        return as_inputs(model, self.text if apart and self.text else [self.line])[0]

    def by(self, model: Model, output: str | None = None, *, own: bool = False) -> Prediction:
        """The prediction of a model with its trace; for a row, of its `own` output or of the true one."""
        if self.row is not None:
            return self._row(model, model.output_name(output), own=own)
        given = self.given(model)
        if output is None or output == next(iter(model.spec.outputs)):
            unknown = UnknownUnits(model)
            unknown.look_at([given])
            if self.target is not None:
                unknown.look_at_target(given, self.target, output)
            unknown.tell()
        how: dict[str, Any] = {"output": output, "samples": self.samples, "look": self._told()}
        if self.record:
            how["record"] = self.record
        if self.target is None:
            return model.predict([given], **how)[0]
        return model.score([given], [self.target], **how)[0]

    def _told(self) -> Override | None:
        if self.look is None or not self.look.lstrip().startswith(("{", "[")):
            return self.look
        try:
            told: Override = json.loads(self.look)
        except json.JSONDecodeError as error:
            raise RegardError(f"this is not JSON: {error}.", where="--look") from None
        return told

    def _recording(self) -> TraceRecording | None:
        if not self.record:
            return None
        from regard.model.recording import read_recording

        return read_recording(self.record)

    def _row(self, model: Model, output: str, *, own: bool) -> Prediction:
        batch = self._dataset(model).batch([self.row or 0])
        if model.network.decoders[output].traces_given and self.look is None and not own:
            return model.score_batch(
                batch, output, structures=True, samples=self.samples, recording=self._recording()
            )[0]
        edits = None if self.look is None else model.edits([self._told()], output)
        answer = model.answer(
            batch, output=output, samples=self.samples, edits=edits, recording=self._recording()
        )[0]
        if edits is not None:
            check_reached(edits[0], answer, self.look)
        return answer

    def _dataset(self, model: Model) -> Dataset:
        """The data of the split, which must have the row."""
        split = self.split or usual_split(model.spec)[0]
        dataset = _opened(model, split)
        if self.row is None or not 0 <= self.row < len(dataset):
            raise RegardError(
                f"there is no row {self.row}.",
                where="--row",
                fix=f"{split} has 0 to {len(dataset) - 1}.",
            )
        return dataset


@lru_cache(maxsize=1)
def _opened(model: Model, split: str) -> Dataset:
    """A split of a model's data, which the input and the answer of a row both need."""
    return open_dataset(model, (), [split])
