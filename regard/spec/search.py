"""How a text is written with a trained model."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from regard.parts import Depth, Positive, Settings, Share


class SearchSpec(Settings):
    """How a text is written with a trained model."""

    method: Literal["greedy", "beam", "sample"] = "greedy"
    """The best next unit, the best of several texts at once, or units drawn from the model."""
    beam: Depth = 5
    """Of beam: hypotheses that are kept."""
    length_penalty: Annotated[float, Field(ge=0.0, le=10.0)] = 1.0
    """Hypotheses are ranked by log p / ((5 + length)/6)^penalty (Wu 2016); 0 ranks by probability alone."""
    n_best: Depth = 1
    """Answers for each input: of the beam, or so many samples."""
    min_length: Annotated[int, Field(ge=0)] = 0
    """Shortest output, in units."""
    max_length: Annotated[int, Field(ge=1, le=100_000)] | None = None
    """Longest output, in units; default: twice the input's length and twenty more. Of a stream: how many units
    `generate` draws, where it is not told; default: 200."""
    temperature: Positive = 1.0
    """Of sample: the logits are divided by it."""
    top_k: Annotated[int, Field(ge=0)] = 0
    """Of sample: draw among the so many most probable units; 0: among all."""
    top_p: Share = 1.0
    """Of sample: draw among the most probable units that together have this probability."""
    replace_unknown: bool = False
    """Write the most attended source word where the model wrote the unknown one."""

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
