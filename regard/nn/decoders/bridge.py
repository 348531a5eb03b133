"""Bridge: the first states of a recurrent decoder, computed from the summary or copied from the encoder."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import torch
from torch import Tensor, nn

from regard.errors import RegardError
from regard.nn.cells.cell import carried_by, states_of
from regard.nn.decoders.stack import CARRIED, Stack, state_symbol
from regard.nn.encoders import owner_of
from regard.nn.encoders.encoder import LastStates
from regard.nn.letters import Letters, linear
from regard.nn.memory import Memory
from regard.nn.symbols import MemorySymbols
from regard.parts import Mistakes, Plan

Bridging = Literal["tanh", "linear", "copy"]


class Bridge(nn.Linear):
    """The first states of all layers from the summary h, including what the cells carry: tanh(W h + b), or
    W h + b without `squashes`."""

    def __init__(self, summary_size: int, stack: Stack, *, squashes: bool = True) -> None:
        super().__init__(summary_size, stack.states)
        self.layers, self.squashes = len(stack.cells), squashes

    def first_states(self, summary: Tensor) -> tuple[Tensor, ...]:
        """(B, D) → one (B, 1, state) for each layer."""
        made = torch.tanh(self(summary)) if self.squashes else self(summary)
        return by_layer(made, self.layers)


def by_layer(states: Tensor, layers: int) -> tuple[Tensor, ...]:
    """Split the concatenated states of all layers: (B, L·state) → one (B, 1, state) for each."""
    return states.view(len(states), 1, layers, -1).unbind(2)


def handed_on(memory: Memory, stack: Stack) -> tuple[Tensor, ...]:
    """`bridge: copy`: the last states of the encoder's layers, one (B, 1, state) for each."""
    size = stack.cell(0).state_size
    return tuple(one[:, None, :size] for one in memory.last or (memory.summary,))


def check_bridge(options: Any, plan: Plan, mistakes: Mistakes) -> None:
    """Require that `bridge` has an effect, and that `copy` finds last states of the right shape."""
    if options.bridge != "tanh" and "start" not in options.ways:
        mistakes.add(
            "bridge has no effect: the first state does not depend on the encoder.",
            "bridge",
            fix="Add start to condition, or leave bridge out (it is tanh by default).",
        )
    if options.bridge != "copy" or "start" not in options.ways:
        return
    sources = [name for name in options.over or plan.encoder if name in plan.encoder]
    if len(sources) != 1:
        mistakes.add(
            f"bridge: copy needs one input; received {', '.join(sources)}.",
            "bridge",
            fix="Name one input in  over, or use bridge: tanh.",
        )
        return
    encoder = owner_of(plan, sources[0])
    last = encoder.part.last_states(encoder)
    if why := _unlike(last, options.layers, options.size, options.cell.part.states):
        mistakes.add(why, "bridge", fix="Match the encoder and the decoder, or use bridge: tanh.")


def check_last_states(sources: Mapping[str, Any], stack: Stack) -> None:
    """Ask the encoder for its last states, and require one of the decoder's size for each layer."""
    if len(sources) != 1:
        raise RegardError(
            f"bridge: copy needs one input; received {', '.join(sources)}.",
            where="decoder.bridge",
            fix="Use bridge: tanh.",
        )
    (source,) = sources.values()
    hand_on = getattr(source, "hand_on", None)
    last = LastStates(size=source.summary_size) if hand_on is None else hand_on()
    if why := _unlike(last, len(stack.cells), stack.size, states_of(stack.cell(0))):
        raise RegardError(
            why, where="decoder.bridge", fix="Match the encoder and the decoder, or use bridge: tanh."
        )


def _unlike(last: LastStates, layers: int, size: int, states: int) -> str:
    """Why an encoder's last states cannot be a decoder's first states; empty if they can."""
    begin = "bridge: copy sets the decoder's first states to the encoder's last states"
    if last.layers != layers:
        return f"{begin}; the encoder has {last.layers} layers, the decoder {layers}."
    if last.size is not None and last.size != size:
        return f"{begin}; the encoder has size {last.size}, the decoder {size}."
    if states not in (1, last.states):  # the first vector alone is the output
        return f"{begin}; the state of the encoder has {_vectors(last.states)}, that of the decoder {states}."
    return ""


def _vectors(count: int) -> str:
    return "1 vector" if count == 1 else f"{count} vectors"


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
