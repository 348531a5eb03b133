"""A look: one input of one run, with edits of the attention or without; what the model wrote, and where it looked."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from regard.errors import RegardError
from regard.studio.inputs import GivenInputs, resolved
from regard.studio.requests import LookRequest, SearchChanges
from regard.studio.runs import Run

if TYPE_CHECKING:
    from regard.trace.prediction import Prediction

Edits = Sequence[Mapping[str, Any]]
RECORDED = ("states", "beam", "potentials", "times")
"""What is recorded of a prediction for the panels that need it."""


@dataclass(frozen=True)
class Looking:
    """A request that was resolved for its run."""

    run: Run
    asked: LookRequest
    inputs: GivenInputs

    @classmethod
    def of(cls, run: Run, asked: LookRequest) -> Looking:
        if run.model.continues:
            raise RegardError(
                "this model reads no input: it continues a text.",
                where=run.name,
                fix="Ask for its surprisal.",
            )
        return cls(run, asked, resolved(run, asked.inputs))

    @classmethod
    def at(cls, run: Run, asked: LookRequest, inputs: GivenInputs) -> Looking:
        """The same inputs as those of another run: rows of its own data would be others."""
        names = list(run.model.spec.inputs)
        if set(names) != set(inputs.values):
            raise RegardError(
                f"{run.name} reads {', '.join(names)}; the other run reads {', '.join(inputs.values)}.",
                where="runs",
                fix="Compare runs with the same inputs.",
            )
        return cls(
            run, asked, GivenInputs(dict(inputs.values), None, None, "", ("of another run", inputs.key))
        )

    @cached_property
    def output(self) -> str:
        """The output that was asked for, or the first."""
        model = self.run.model
        name: str = model.output_name(self.asked.output or next(iter(model.spec.outputs)))
        return name

    @cached_property
    def options(self) -> dict[str, Any]:
        """The changes of the search, as `Model.predict` takes them."""
        found = search_options(self.run, self.output, self.asked.search)
        if self.asked.seed is not None:
            found["seed"] = self.asked.seed
        return found

    @property
    def key(self) -> Hashable:
        asked = self.asked
        return self.inputs.key, self.output, asked.prefix, asked.target, asked.search, asked.seed

    @cached_property
    def before(self) -> Prediction:
        """The prediction without edits, from the cache if it was asked before."""
        return self.run.before(self.key, lambda: self.predict(None))

    @cached_property
    def prediction(self) -> Prediction:
        return self.predict(self.asked.edits) if self.asked.edits else self.before

    @cached_property
    def further(self) -> list[dict[str, str]]:
        """The panels that need a recording; asked once for each output and search of a run."""
        key = "panels", self.output, self.asked.search, self.asked.target is None
        if key not in self.run.kept:
            self.run.kept[key] = self._further()
        found: list[dict[str, str]] = self.run.kept[key]
        return found

    def _further(self) -> list[dict[str, str]]:
        before = self.before.trace
        try:
            recorded = self.predict(None, record=RECORDED).trace
        except RegardError:  # there is nothing to record
            return []
        if before is None or recorded is None:
            return []
        known = {one.name for one in before.panels()}
        return [{"name": one.name, "title": one.title} for one in recorded.panels() if one.name not in known]

    @cached_property
    def shown(self) -> Prediction:
        """The prediction, recorded if a panel was asked for that needs it."""
        if self.asked.panel is None or self.asked.panel not in {one["name"] for one in self.further}:
            return self.prediction
        return self.predict(self.asked.edits, record=RECORDED)

    def predict(self, edits: Edits | None, *, record: Sequence[str] = ()) -> Prediction:
        """The prediction with these edits, equal to that of the Python API."""
        from regard.model.override import check_reached
        from regard.model.recording import read_recording

        asked, model, inputs = self.asked, self.run.model, self.inputs
        look = list(edits) if edits else None
        if asked.target is not None:
            return self._score(asked.target, look, record)
        if inputs.row is None or inputs.dataset is None:
            found: Prediction = model.predict(
                inputs.alone,
                output=self.output,
                prefix=asked.prefix,
                look=look,
                record=record,
                **self.options,
            )
            return found
        chosen, rows = model.searching(**self.options), self._edits(look)
        batch = inputs.dataset.batch([inputs.row])
        recording = read_recording(record) if record else None
        how = {"output": self.output, "prefix": asked.prefix, "edits": rows, "recording": recording}
        found = chosen.answer(batch, **how)[0]
        if rows is not None:
            check_reached(rows[0], found, look)
        return self._with_known_truth(found)

    def _edits(self, look: Any) -> Any:
        """The edits of one row, as a batch takes them."""
        return None if look is None else self.run.model.edits([look], self.output)

    def _score(self, target: str, look: Any, record: Sequence[str]) -> Prediction:
        model, inputs = self.run.model, self.inputs
        if inputs.dataset is not None and inputs.row is not None and target in inputs.true(self.output)[:1]:
            batch = inputs.dataset.batch([inputs.row])
            found: Prediction = model.score_batch(
                batch, self.output, structures=True, edits=self._edits(look)
            )[0]
            return found
        kept = [one for one in record if one != "beam"]  # nothing is searched
        scored: Prediction = model.score(inputs.alone, target, output=self.output, look=look, record=kept)
        return scored

    def _with_known_truth(self, found: Prediction) -> Prediction:
        """The prediction; the true attention of a step is left out where the written piece is not the true one."""
        trace = found.trace
        if trace is None or not trace.truth or not self.run.model.network.decoders[self.output].stepwise:
            return found
        true = self.inputs.true(self.output)[:1]
        pieces = [piece for text in true for piece in self.run.model.columns[self.output].tokens(text)]
        same = np.array([t >= len(pieces) or piece == pieces[t] for t, piece in enumerate(trace.output)])
        if same.all():
            return found
        truth = {
            name: rows if name in trace.overridden else rows * same[:, None]
            for name, rows in trace.truth.items()
        }
        return replace(found, trace=replace(trace, truth=truth))


def search_options(run: Run, output: str, search: SearchChanges) -> dict[str, Any]:
    """The changes of a search, as `Model.predict` takes them; a beam of 1 is greedy."""
    found: dict[str, Any] = {}
    if search.beam is None and search.n_best is None:
        return found
    if search.beam is not None:
        if not run.model.network.decoders[output].stepwise:
            raise RegardError(
                f"the output {output!r} is not searched.", where="search.beam", fix="Leave it out."
            )
        found |= {"method": "greedy"} if search.beam == 1 else {"method": "beam", "beam": search.beam}
    if search.n_best is not None and search.n_best > 1:
        found["n_best"] = search.n_best
    return found
