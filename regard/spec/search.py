"""How a trained model generates text."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import chain
from typing import Annotated, Any, ClassVar

from pydantic import ConfigDict, Field, model_validator

from regard.parts import Depth, one_of, part
from regard.parts.choice import Section
from regard.parts.registry import names, registered

QUICKEST = "greedy"
"""The search of a spec that names none, and of the evaluations during training."""


class SearchSpec(Section):
    """How a trained model generates text. The options of a search stand beside its name: `{method: beam, beam: 5}`;
    those of other searches have no effect until they are chosen."""

    model_config = ConfigDict(extra="allow")  # options of other searches, validated by `Section`
    chooser: ClassVar[str] = "method"
    tolerant: ClassVar[bool] = True

    method: Annotated[Any, one_of("search", default=QUICKEST)] = Field(
        default=QUICKEST, validate_default=True
    )
    """The search: `greedy`, `beam`, `sample`, or one of your own."""
    n_best: Depth = 1
    """Number of outputs per input, from the beam or from repeated sampling."""
    min_length: Annotated[int, Field(ge=0)] = 0
    """Minimum length of an output, in units."""
    max_length: Annotated[int, Field(ge=1, le=100_000)] | None = None
    """Maximum length of an output, in units; default: twice the length of the input, plus twenty. For a stream: the
    default number of units that `generate` draws (200 if unset)."""
    replace_unknown: bool = False
    """Replace unknown words in the output by the most attended source word."""

    @model_validator(mode="after")
    def _possible(self) -> SearchSpec:
        search = self.method.part
        if self.n_best > 1 and not search.several:
            others = [name for name in names("search") if part("search", name).several]
            raise ValueError(
                f"{self.method.type} search gives one answer, not {self.n_best}. Use method: {' or '.join(others)}."
            )
        if refused := search.refused(self.method, self.n_best):
            raise ValueError(refused)
        if self.max_length is not None and self.min_length > self.max_length:
            raise ValueError(f"min_length {self.min_length} is more than max_length {self.max_length}.")
        return self

    def chosen(self, changes: Mapping[str, Any]) -> dict[str, Any]:
        """The changes, with the search to which they belong (`Search.chosen_by`), and what this search implies."""
        wanted = dict(changes)
        if "method" not in wanted and (method := self._method_of(wanted)):
            wanted["method"] = method
        search = part("search", wanted.get("method") or self.method.type)
        if search is not None:
            wanted |= search.implied(self.options_of(search.Options), wanted)
        return wanted

    def _method_of(self, changes: Mapping[str, Any]) -> str | None:
        """The search that some changes choose; None: the present one stays."""
        several = (changes.get("n_best") or 1) > 1 and not self.method.part.several
        keys = {key for key in changes if key not in type(self).model_fields or (key == "n_best" and several)}
        own = [name for kind, name, _ in registered() if kind == "search"]  # ours, without importing others
        searches = (part("search", name) for name in chain(own, names("search") if keys else ()))
        return next((one.Options.type for one in searches if keys & {*one.chosen_by}), None)
