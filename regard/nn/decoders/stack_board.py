"""The equations of stacked cells and of their first states, for decoders."""

from __future__ import annotations

from typing import Any

from regard.nn.cells.cell import carried_by
from regard.nn.letters import Letters, linear, under
from regard.nn.symbols import MemorySymbols

CARRIED = "n"
"""The letter for what a cell carries beside the state s, in equations."""


def state_symbol(options: Any, layer: int, place: str) -> str:
    """s_t, or s_{1,0} with several layers."""
    if options.layers > 1:
        return f"s_{layer}t" if place == "t" else f"s_{{{layer},{place}}}"
    return f"s_{place}" if len(place) == 1 else f"s_{{{place}}}"


def step_lines(options: Any, inputs: str, now: str = "t", before: str = "t−1") -> tuple[list[str], str]:
    """Equations of the recurrence, and the output of the top layer: with `residual` the sum of all."""
    step = options.cell.part.written_step
    found, below, output = [], inputs, ""
    for layer in range(1, options.layers + 1):
        state, mark = state_symbol(options, layer, now), f"y{layer}" if options.layers > 1 else "y"
        found.append(step(options.cell, mark, state, state_symbol(options, layer, before), below, CARRIED))
        output = f"{output} + {state}" if options.residual and layer > 1 else state
        below = output
    return found, output


def cell_lines(options: Any) -> list[str]:
    """Equations of the cell of each layer."""
    marks = ["y"] if options.layers == 1 else [f"y{layer}" for layer in range(1, options.layers + 1)]
    return [line for mark in marks for line in options.cell.part.equations(options.cell, mark)]


def stack_letters(options: Any) -> Letters:
    """The letters of the cell of each layer."""
    found: Letters = {}
    for number in range(options.layers):
        mark = f"y{number + 1}" if options.layers > 1 else "y"
        found |= under(f"stack.cells.{number}", options.cell.part.letters(options.cell, mark))
    return found


def first_state_lines(options: Any, summary: str, handed: MemorySymbols | None = None) -> list[str]:
    """Equations of s_0, or of s_{1,0} and so on for several layers, and of what the cells carry.

    options   options of a decoder; without the option `bridge`, the first states are made with a tanh
    handed    the memory whose last states `bridge: copy` copies
    """
    ways, bridge = getattr(options, "ways", ("start",)), getattr(options, "bridge", "tanh")
    place = "−1" if "first-input" in ways else "0"
    letters = ["s", *options.cell.part.carried_letters(CARRIED)]
    found, learned = [], []
    for layer in range(1, options.layers + 1):
        mark = str(layer) if options.layers > 1 else ""
        for letter in letters:
            name = carried_by(state_symbol(options, layer, place), letter)
            made = f"W_{letter}{mark} {summary} + b_{letter}{mark}"
            if bridge == "copy" and "start" in ways and handed is not None:
                last = (*(handed.last or (handed.summary,)), *handed.carried)
                made = last[letters.index(letter) * options.layers + layer - 1]
            found.append(f"{name} = tanh({made})" if bridge == "tanh" else f"{name} = {made}")
            learned.append(name)
    return found if "start" in ways else [f"— {', '.join(learned)}: learned"]


def first_state_letters(options: Any) -> Letters:
    """The letters of the bridge, and of first states that are learned, layer by layer."""
    place = "−1" if "first-input" in getattr(options, "ways", ()) else "0"
    marks, learned = [], []
    for layer in range(1, options.layers + 1):
        for letter in ("s", *options.cell.part.carried_letters(CARRIED)):
            marks.append(f"{letter}{layer if options.layers > 1 else ''}")
            learned.append(carried_by(state_symbol(options, layer, place), letter))
    bridge = linear("bridge", tuple(f"W_{mark}" for mark in marks), tuple(f"b_{mark}" for mark in marks))
    return bridge | {"first": tuple(learned)}
