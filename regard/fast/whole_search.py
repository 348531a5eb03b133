"""Searches in one kernel on the CPU: which ones, and what Python lays out for them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import torch

from regard.fast import kept
from regard.fast.allowed import Obeyed, constraint_lacks, unconstrained
from regard.fast.paths.fused import CHANGED
from regard.fast.paths.fused_step import SEARCHED, Prepared, layers_lack
from regard.fast.recurrence import decoder_lacks, knows_decoder
from regard.nn.decoders.recurrent_steps import RecurrentSteps, State
from regard.nn.path import Replaces
from regard.nn.search.stepper import Bounds, Stepper
from regard.structures.kernels.cpu.parallel import one_thread_for, run, shares, side_by_side

if TYPE_CHECKING:
    from regard.fast.cpu.step import Layers
    from regard.fast.cpu.together import Shared
    from regard.fast.cpu.whole_search import Allowed, How, SearchStart

STEPPERS = Replaces(Stepper)
"""What a search asks for its steps; not an ensemble."""
LARGEST = 2**26
"""Attention weights of all steps together, for which memory is reserved before the search."""

MEMBERS = 4
"""Threads that may search one sentence together."""
READ = 2**20
"""Bytes of the weights that a step reads, from which on threads search together."""
CHEAPER = 4
"""How many times as many products in int8 take as long as one in fp32."""


def takes(stepper: Stepper, bounds: Bounds, hypotheses: int) -> bool:
    """Whether the kernels search with this decoder."""
    if not STEPPERS(stepper):
        if constraint_lacks(stepper) or not STEPPERS(unconstrained(stepper)):
            return False
        stepper = unconstrained(stepper)
    decoder: Any = stepper.decoder
    return (
        SEARCHED(decoder)
        and decoder.copying is None
        and decoder.output.weight.dtype == torch.float32
        and knows_decoder(decoder, stepper.memories)
        and not layers_lack(decoder)
        and _room(stepper, bounds, hypotheses) <= LARGEST
    )


def lacks(stepper: Stepper, bounds: Bounds) -> str:
    """Why the kernels do not search with this decoder; empty if they do."""
    if lacking := constraint_lacks(stepper):
        return lacking
    stepper = unconstrained(stepper)
    if not STEPPERS(stepper):
        return "Several models search together."
    decoder: Any = stepper.decoder
    if SEARCHED.kind(decoder) is None:
        return "Decoders of this kind have no such kernels."
    if not SEARCHED(decoder):
        return CHANGED
    if decoder.copying is not None:
        return "The decoder copies."
    if decoder.output.weight.dtype != torch.float32:
        return "The kernels search in single precision."
    return decoder_lacks(decoder, stepper.memories) or layers_lack(decoder)


def bytes_lack() -> str:
    """Why this machine has no searches in int8; empty if it has."""
    try:
        from regard.fast.cpu.byte_tile import multiplies_bytes
    except ImportError:
        return "numba is not installed."
    return "" if multiplies_bytes() else "This CPU does not multiply bytes: it has no AVX-512 VNNI."


def _positions(stepper: Stepper) -> int:
    return len(stepper.lengths) * max(memory.mask.shape[1] for memory in stepper.memories.values())


def _room(stepper: Stepper, bounds: Bounds, hypotheses: int) -> int:
    return bounds.steps * hypotheses * _positions(stepper)


def is_brief(stepper: Stepper) -> bool:
    """Whether a search prepares for about as long as it compares weights, see `meanwhile`."""
    return kept.is_brief(_positions(unconstrained(stepper)))


def started(
    stepper: Stepper, bounds: Bounds, hypotheses: int, precision: str = "fp32"
) -> tuple[Prepared, Layers, How, SearchStart, Allowed] | None:
    """What the kernels are given, see `regard.fast.cpu.whole_search`; None if the decoder was not prepared for them."""
    from regard.fast.cpu.whole_search import How, SearchStart

    allowed = _allowed(stepper, bounds)
    stepper = stepper if STEPPERS(stepper) else unconstrained(stepper)
    decoder = cast(RecurrentSteps, stepper.decoder)
    with one_thread_for(_positions(stepper)):
        state = cast(State, stepper.start())
    prepared = state.constants.prepared
    if type(prepared) is not Prepared:
        return None
    rows, projected = len(stepper.lengths), state.constants.projected
    weights = prepared.weights
    layers = weights.in_bytes(decoder) if precision == "int8" else weights.layers
    # a summary at every step is added before the words, in the same order with a table and without
    words = weights.words(decoder, rows * hypotheses * bounds.steps // 2) if projected is None else None
    if words is None:
        words = weights.bias.numpy()[None]
    else:
        layers = layers._replace(word=_without_panels(layers.word, precision))
    nothing = weights.bias.new_empty(rows, 0)
    looked = state.looks.get(prepared.name, nothing).reshape(rows, -1)
    start = SearchStart(
        decoder.embedding.weight.detach().contiguous().numpy(),
        words,
        (nothing.new_empty(0, len(weights.bias)) if projected is None else projected[:, 0])
        .detach()
        .contiguous()
        .numpy(),
        torch.stack([layer.reshape(rows, -1) for layer in state.layers]).detach().numpy(),
        looked.detach().contiguous().numpy(),
        decoder.readout_size,
        decoder.readout_size if decoder.looks_after else 0,
    )
    combines = decoder.combine is not None
    folded = combines and _folds(decoder, prepared.memories.values.shape[2], hypotheses, precision)
    if folded:
        layers = weights.folded(decoder, layers, in_bytes=precision == "int8")
        prepared = replace(prepared, memories=_projected(decoder, prepared.memories))
    how = How(decoder.looks_after, combines, prepared.alone, folded, state.feed is not None)
    return prepared, layers, how, start, allowed


def _folds(decoder: Any, width: int, hypotheses: int, precision: str) -> bool:
    """Whether the values of the memory (B, S, width) are multiplied by their share of the readout's weight before the
    search. The readout is W_h h + Σ_s α_s (W_c v_s) then: a product for each position instead of each word, and shorter
    rows to sum. Lengths do not decide it: a source has the same result in every batch."""
    fits = decoder.combine.weight.shape[1] == decoder.stack.size + width
    return bool(decoder.looks_after and fits and (precision != "int8" or hypotheses >= CHEAPER))


def _projected(decoder: Any, memories: Any) -> Any:
    """The memories with W_c v instead of their values v."""
    values, weight = torch.from_numpy(memories.values), decoder.combine.weight.detach()
    with one_thread_for(values.shape[0] * values.shape[1]):
        share = torch.nn.functional.linear(values, weight[:, decoder.stack.size :])
    return memories._replace(values=share.numpy())


def _without_panels(weight: Any, precision: str) -> Any:
    """A weight of the same type that holds nothing."""
    if precision == "fp32":
        return weight[:0]
    from regard.fast.cpu.bytes import without_panels

    return without_panels(weight)


def _allowed(stepper: Stepper, bounds: Bounds) -> Allowed:
    from regard.fast.cpu.whole_search import Allowed

    rows = len(stepper.lengths)
    ids, lengths = np.zeros((rows, 0), np.int64), np.zeros(rows, np.int64)
    if bounds.prefix is not None:
        ids = bounds.prefix.ids.long().contiguous().numpy()
        lengths = bounds.prefix.lengths.long().contiguous().numpy()
    after, needed, missing = np.zeros((0, 0), np.int32), np.zeros(0, np.int32), np.zeros(0, np.int32)
    obeyed = None if STEPPERS(stepper) else Obeyed.of(stepper, bounds.last)
    if obeyed is not None and obeyed.table.after is not None:
        after, needed = obeyed.table.after.numpy(), obeyed.table.needed.numpy()
        missing = missing if obeyed.table.missing is None else obeyed.table.missing.numpy()
    return Allowed(
        stepper.begin,
        bounds.end,
        bounds.steps,
        bounds.minimum,
        bounds.last.long().contiguous().numpy(),
        np.array([*bounds.forbidden, bounds.end], np.int64),
        ids,
        lengths,
        after,
        needed,
        missing,
    )


def parts_for(sources: int, hypotheses: int) -> int:
    """Number of parts, which are searched side by side."""
    return min(sources, shares(sources * hypotheses))


def shared_by(parts: int, rows: int, layers: Layers, screen: Any, start: SearchStart) -> Shared:
    """What the threads of a part of so many rows have in common: there are several if it is the only part, and they
    have enough to read."""
    from regard.fast.cpu import together
    from regard.fast.cpu.ranking import PANELS
    from regard.fast.cpu.tile import WIDTH

    members = min(torch.get_num_threads(), MEMBERS)
    weights = (layers.read, layers.recurrent, layers.below, layers.query, layers.combine)
    output = layers.output if screen is None else screen.weight
    if (
        parts > 1
        or not all(type(one) is np.ndarray for one in weights)
        or sum(map(_size, (*weights, output))) < READ
    ):
        members = 1  # weights as bytes are read in the time of some meetings
    columns = max(
        layers.output_start.size, start.words.shape[1], layers.size, start.said, members * PANELS * WIDTH
    )
    depth = max(one.shape[-2] for one in (*weights, layers.word, layers.output)) if members > 1 else 0
    return together.shared_by(members, rows, depth, columns)


def _size(weight: Any) -> int:
    """Bytes of a weight."""
    return int(weight.nbytes if isinstance(weight, np.ndarray) else weight.values.nbytes)


def search_in(kernel: Callable[..., None], parts: int, shared: Shared, screen: Any, *given: Any) -> None:
    """Run a kernel that searches in parts, with its helpers if it has any."""
    from regard.fast.cpu import together
    from regard.fast.cpu.ranking import PANELS
    from regard.fast.cpu.screen import no_screen

    members = len(shared.made)
    if members == 1:
        side_by_side(kernel, parts, shared, *given)
        return

    def search() -> None:
        try:
            kernel(0, 1, shared, *given)
        finally:
            together.dismiss(shared)

    layers = given[1]
    helped = (members * PANELS, layers, (no_screen() if screen is None else screen).weight, shared)
    run([search, *(partial(together.help_part, member, *helped) for member in range(1, members))])
