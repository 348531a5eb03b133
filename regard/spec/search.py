"""How a trained model generates text."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from regard.parts import Depth, Positive, Settings, Share


class SearchSpec(Settings):
    """How a trained model generates text."""

    method: Literal["greedy", "beam", "sample"] = "greedy"
    """greedy: always the most probable unit; beam: beam search; sample: sample units from the model."""
    beam: Depth = 5
    """For beam: number of hypotheses to keep."""
    length_penalty: Annotated[float, Field(ge=0.0, le=10.0)] = 1.0
    """Rank hypotheses by log p / ((5 + length)/6)^penalty (Wu 2016); 0 ranks by probability alone."""
    n_best: Depth = 1
    """Number of outputs per input, from the beam or from repeated sampling."""
    min_length: Annotated[int, Field(ge=0)] = 0
    """Minimum length of an output, in units."""
    max_length: Annotated[int, Field(ge=1, le=100_000)] | None = None
    """Maximum length of an output, in units; default: twice the length of the input, plus twenty. For a stream: the
    default number of units that `generate` draws (200 if unset)."""
    temperature: Positive = 1.0
    """For sample: divide the logits by this number."""
    top_k: Annotated[int, Field(ge=0)] = 0
    """For sample: draw from this many most probable units; 0: from all."""
    top_p: Share = 1.0
    """For sample: draw from the most probable units that together have this probability."""
    replace_unknown: bool = False
    """Replace unknown words in the output by the most attended source word."""

    @model_validator(mode="after")
    def _possible(self) -> SearchSpec:
        if self.method == "beam" and self.n_best > self.beam:
            raise ValueError(f"a beam of {self.beam} cannot give {self.n_best} answers. Raise beam.")
        if self.method == "greedy" and self.n_best > 1:
            raise ValueError(
                f"greedy search gives one answer, not {self.n_best}. Use method: beam or sample."
            )
        if self.max_length is not None and self.min_length > self.max_length:
            raise ValueError(f"min_length {self.min_length} is more than max_length {self.max_length}.")
        return self
