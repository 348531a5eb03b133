"""Several evaluations on the same rows, compared by paired bootstrap."""

from __future__ import annotations

from collections.abc import Mapping

from regard.errors import FILE, Message, Option, RegardError
from regard.evaluation.evaluation import Evaluation
from regard.metrics import Comparison, compare


def comparisons(
    found: Mapping[str, Evaluation], *, samples: int = 1000
) -> list[tuple[str, str, str, Comparison]]:
    """Every later system against the first, by paired bootstrap: (metric, first, other, comparison)."""
    if len(found) < 2:
        raise RegardError(
            f"comparing needs at least two runs, received {len(found)}.",
            where=Option("compare"),
            fix="Name another run.",
        )
    (first, base), *others = found.items()
    made = []
    for name, (output, measured) in base.of_outputs().items():
        for other, evaluation in others:
            if name not in evaluation.of_outputs() or output not in evaluation.references:
                raise RegardError(
                    f"{other} has no {name} of {output!r} to compare with that of {first}.",
                    where=Option("compare"),
                    fix="Compare runs that write the same outputs.",
                )
            if evaluation.references[output] != base.references[output]:
                raise RegardError(
                    f"{first} and {other} were not measured on the same references of {output!r}.",
                    where=Option("compare"),
                    fix=Message(
                        "Compare runs that read the same data, or name it: `", Option("data", FILE), "`."
                    ),
                )
            result = compare(
                measured,
                base.values[output][0],
                evaluation.values[output][0],
                base.values[output][1],
                samples=samples,
            )
            made.append((name, first, other, result))
    return made
