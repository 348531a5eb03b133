"""A look: one input of one run, with edits of the attention or without; what the model wrote, and where it looked."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from regard.errors import RegardError
from regard.studio.inputs import Inputs, resolved
from regard.studio.requests import Look, SearchChanges
from regard.studio.runs import Run

if TYPE_CHECKING:
    from regard.trace.prediction import Prediction

Edits = Sequence[Mapping[str, Any]]


@dataclass(frozen=True)
class Looking:
    """A request that was resolved for its run."""

    run: Run
    asked: Look
    inputs: Inputs

    @classmethod
    def of(cls, run: Run, asked: Look) -> Looking:
        if run.model.continues:
            raise RegardError(
                "this model reads no input: it continues a text.",
                where=run.name,
                fix="Ask for its surprisal.",
            )
        return cls(run, asked, resolved(run, asked.inputs))

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

    def predict(self, edits: Edits | None) -> Prediction:
        """The prediction with these edits, equal to that of the Python API."""
        from regard.model.override import check_reached

        asked, model, inputs = self.asked, self.run.model, self.inputs
        look = list(edits) if edits else None
        if asked.target is not None:
            return self._score(asked.target, look)
        if inputs.row is None or inputs.dataset is None:
            found: Prediction = model.predict(
                inputs.alone, output=self.output, prefix=asked.prefix, look=look, **self.options
            )
            return found
        chosen, rows = model.searching(**self.options), self._edits(look)
        batch = inputs.dataset.batch([inputs.row])
        found = chosen.answer(batch, output=self.output, prefix=asked.prefix, edits=rows)[0]
        if rows is not None:
            check_reached(rows[0], found, look)
        return self._with_known_truth(found)

    def _edits(self, look: Any) -> Any:
        """The edits of one row, as a batch takes them."""
        return None if look is None else self.run.model.edits([look], self.output)

    def _score(self, target: str, look: Any) -> Prediction:
        model, inputs = self.run.model, self.inputs
        if inputs.dataset is not None and inputs.row is not None and target in inputs.true(self.output)[:1]:
            batch = inputs.dataset.batch([inputs.row])
            found: Prediction = model.score_batch(
                batch, self.output, structures=True, edits=self._edits(look)
            )[0]
            return found
        scored: Prediction = model.score(inputs.alone, target, output=self.output, look=look)
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
