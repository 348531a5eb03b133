"""How a text is written with a trained model."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from regard.spec.base import Count, Part, Positive, Share


class SearchSpec(Part):
    method: Literal["greedy", "beam", "sample"] = "greedy"
    beam: Count = 5
    length_penalty: Annotated[float, Field(ge=0.0)] = 1.0
    """score = log p / length^penalty; 0 compares the bare log-probabilities."""
    n_best: Count = 1
    min_length: Annotated[int, Field(ge=0)] = 0
    max_length: Count = 200
    temperature: Positive = 1.0
    top_k: Annotated[int, Field(ge=0)] = 0
    top_p: Share = 1.0
    replace_unknown: bool = False
    """Write the most attended source word where the model wrote the unknown one."""
