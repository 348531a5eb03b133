"""The symbols of a recurrent layer, for equations."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from regard.nn.cells.cell import carried_by
from regard.nn.letters import Letters, under
from regard.nn.recurrence import First


@dataclass(frozen=True)
class LayerSymbols:
    """Symbols of a recurrent layer: `→h_j = gru_→(→h_{j−1}, x_j)`, and likewise from the other end.

    cell      the options of its cell
    inputs    the symbol of its inputs
    letter    the letter of its states; `carried`: of what the cell carries beside them
    at        the indices before that of the position
    mark      the subscript of the cell, before its direction
    first     the positions before the first and after the last, which have the first states
    backward  whether a layer of one direction reads from the end to the beginning
    """

    cell: Any
    both: bool = True
    inputs: str = "x_j"
    letter: str = "h"
    carried: str = "m"
    at: tuple[str, ...] = ()
    index: str = "j"
    mark: str = ""
    first: tuple[str, str] = ("0", "S+1")
    backward: bool = False

    def state(self, place: str, arrow: str = "") -> str:
        """The state at a position: →h_j, →h_{l,j−1}."""
        items = (*self.at, place)
        below = "".join(items) if all(len(item) == 1 for item in items) else f"{{{','.join(items)}}}"
        return f"{arrow}{self.letter}_{below}"

    def steps(self) -> list[str]:
        """Equations of the recurrence, a line for each direction."""
        step, j = self.cell.part.written_step, self.index
        if not self.both:
            now, back = self.state(j), self.state(f"{j}+1" if self.backward else f"{j}−1")
            return [step(self.cell, self.mark or "x", now, back, self.inputs, self.carried)]
        return [
            step(
                self.cell,
                self.mark + arrow,
                self.state(j, arrow),
                self.state(from_, arrow),
                self.inputs,
                self.carried,
            )
            for arrow, from_ in (("→", f"{j}−1"), ("←", f"{j}+1"))
        ]

    def functions(self) -> list[str]:
        """Equations of the cell, once for both directions."""
        lines: list[str] = self.cell.part.equations(
            self.cell, self.mark + "d" if self.both else self.mark or "x"
        )
        return lines

    def letters(self) -> Letters:
        """The letters of a `RecurrentLayer` with these symbols."""
        marks = [self.mark + arrow for arrow in "→←"] if self.both else [self.mark or "x"]
        found: Letters = {}
        for number, mark in enumerate(marks):
            found |= under(f"cells.{number}", self.cell.part.letters(self.cell, mark))
        places = self.first[::-1] if self.backward else self.first
        arrows = ("→", "←") if self.both else ("",)
        found["first"] = tuple(
            f"{arrow}{self.letter}_{{{','.join((*self.at, place))}}}"
            for arrow, place in zip(arrows, places, strict=False)
        )
        return found

    def first_states(self, first: First, size: int) -> tuple[str, list[str]]:
        """A note on the first states if they are learned, else their equations."""
        arrows = ("→", "←") if self.both else ("",)
        places = self.first[::-1] if self.backward else self.first
        states = [self.state(place, arrow) for arrow, place in zip(arrows, places, strict=False)]
        letters = self.cell.part.carried_letters(self.carried)
        states += [carried_by(state, letter) for letter in letters for state in states]
        if first == "learned":
            return f"     — {', '.join(states)}: learned", []
        return "", [f"{state} = 0_{size}" for state in states]
