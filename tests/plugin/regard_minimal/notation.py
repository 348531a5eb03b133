"""A notation in which the weights of attention are called w, and where the output layer is stored."""

from __future__ import annotations

from pathlib import Path

import regard
from regard.describe import Lettered, Notation, Weight, answers
from regard.spec import Spec


@regard.register("notation", "booklet")
class Booklet(Notation):
    """The letters of a booklet about attention."""

    @classmethod
    def write(cls, spec: Spec, columns_file: Path | None = None) -> Lettered:
        found = answers(spec)
        found["decoder"] = [line.replace("α", "w") for line in found["decoder"]]
        target = next(iter(spec.decoder))
        place = Weight("V", f"decoders.{target}.output.weight", (), (f"V({target})", "O"))
        return Lettered(found, [place], ["the booklet has one bias for each gate"])
