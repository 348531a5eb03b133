"""What `show` and `compare` look at: a text, or a row of the data with what is true of it."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import Any

from regard.cli.inputs import as_inputs
from regard.cli.unknown import UnknownUnits
from regard.errors import RegardError
from regard.evaluation import open_dataset
from regard.model import Model
from regard.model.override import Override, check_reached
from regard.prediction import Prediction


@dataclass(frozen=True)
class LookRequest:
    """What to look at.

    text     an input; a JSON object by the inputs' names where there are several
    target   the output to write, instead of the model's own
    row      a row of the data instead of a text: a text is written as it truly is, anything else is answered
    split    the part of the data the row is of
    samples  how many structures to draw
    look     where to look instead, as `Override`; a JSON object by the inputs' names where several are looked at
    """

    text: str | None = None
    target: str | None = None
    row: int | None = None
    split: str = "test"
    samples: int = 0
    look: str | None = None

    def __post_init__(self) -> None:
        if self.text is not None and self.row is not None:
            raise RegardError(
                f"there are a text, {self.text!r}, and --row {self.row}; one of them would not be looked at.",
                where="--row",
                fix="Leave out one.",
            )
        if self.target is not None and self.row is not None:
            raise RegardError(
                "a row of the data has its own output.", where="--target", fix="Leave out --target, or --row."
            )
        if self.text is None and self.row is None:
            raise RegardError("say what to look at.", fix="Give a text, or --row N for a row of the data.")

    def untold(self, model: Model, output: str) -> Prediction:
        """What a model answers by itself whose attention is overridden."""
        found = replace(self, look=None).by(model, output, own=True)
        if found.trace is None:
            return found
        # the true places of a row are those of the words that belong there, not of the words that were written
        return replace(found, trace=replace(found.trace, truth={}))

    def by(self, model: Model, output: str | None = None, *, own: bool = False) -> Prediction:
        """What a model answers, with its trace; of a row its `own` text, or the true one."""
        if self.row is not None:
            return self._row(model, model.output_name(output), own=own)
        given = as_inputs(model, [self.text or ""])[0]
        if output is None or output == next(iter(model.spec.outputs)):
            unknown = UnknownUnits(model)
            unknown.look_at([given])
            unknown.tell()
        how: dict[str, Any] = {"output": output, "samples": self.samples, "look": self._told()}
        if self.target is None:
            return model.predict([given], **how)[0]
        return model.score([given], [self.target], **how)[0]

    def _told(self) -> Override | None:
        if self.look is None or not self.look.lstrip().startswith("{"):
            return self.look
        try:
            told: dict[str, str] = json.loads(self.look)
        except json.JSONDecodeError as error:
            raise RegardError(f"this is not JSON: {error}.", where="--look") from None
        return told

    def _row(self, model: Model, output: str, *, own: bool) -> Prediction:
        dataset = open_dataset(model, (), [self.split])
        if self.row is None or not 0 <= self.row < len(dataset):
            raise RegardError(
                f"there is no row {self.row}.",
                where="--row",
                fix=f"{self.split} has 0 to {len(dataset) - 1}.",
            )
        batch = dataset.batch([self.row])
        if model.network.decoders[output].stepwise and self.look is None and not own:
            return model.score_batch(batch, output, structures=True, samples=self.samples)[0]
        answer = model.answer(batch, output=output, samples=self.samples, look=self._told())[0]
        if self.look is not None:
            check_reached(self._told() or "", answer)
        return answer
