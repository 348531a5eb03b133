"""The options of selections of a latent structure that can read an estimate of it (`regard.nn.estimates`)."""

from __future__ import annotations

from typing import Annotated, Any, Self

from pydantic import Field, model_validator

from regard.errors import RegardError
from regard.nn.selections.selection import Selection
from regard.nn.symbols import LookSymbols
from regard.parts import one_of


class EstimatedOptions(Selection.Options):
    """What stands for the latent structure."""

    estimate: Annotated[Any, one_of("estimate", default="marginals")] = "marginals"
    """What stands for the latent structure. marginals: all structures, by their probability. straight-through: the best
    one, with the gradient of the marginals. perturbed: the best one after Gumbel noise. sparsemap: a mean of a few.
    em: the best one, and scores learn the one that the loss prefers (hard EM). Or an estimate of your own."""
    warmup: Annotated[int, Field(ge=0)] = 0
    """Number of batches at the beginning that read the marginals, before the estimate: a single structure tells little
    while all are about equally probable. A selection that two inputs share counts both."""

    @model_validator(mode="after")
    def _has_an_effect(self) -> Self:
        if self.warmup and self.estimate.part.plain:
            raise RegardError(
                "warmup has no effect: estimate: marginals reads them from the first batch on.",
                fix="Leave warmup out, or choose another estimate, such as straight-through.",
            )
        return self


def estimate_lines(options: Any, look: LookSymbols, z: str, score: str) -> list[str]:
    """The equations of the weights, from the scores ψ(z) of segmentations."""
    chosen, found = options.estimate.part, look.sub("ω", look.step)
    function = chosen.function(options.estimate)
    if chosen.found == "mean":
        how = f"{found} = {function}_{z}({score}({z}))     — {chosen.note}"
        return [how, f"{look.weight} = {found}[{look.index}]"]
    return [
        f"{found} = {function}_{z}({score}({z}))     — the best segmentation",
        f"{look.weight} = {look.sub('ω', look.step, look.index)}     — {chosen.note}",
    ]
