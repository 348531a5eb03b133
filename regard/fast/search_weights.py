"""The weights of a recurrent decoder as the kernels of a search read them, kept from one search to the next.

Next to the weights in panels there may be weights as bytes, for searches in int8, and a table of words.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import chain
from typing import Any
from weakref import WeakKeyDictionary

from torch import Tensor, nn

from regard.fast.kept import RememberedWeights, WordTable
from regard.fast.recurrence import StackWeights, attended, kernel_of, read_weight, score_weights
from regard.nn.decoders.recurrent_steps import RecurrentSteps


class SearchWeights:
    """The weights of one decoder.

    layers   in panels, see `regard.fast.cpu.step.Layers`   bias (G) of the gates
    """

    def __init__(self, decoder: RecurrentSteps, kinds: tuple[Any, ...], weights: Sequence[Tensor]) -> None:
        self.kinds, self._seen = kinds, RememberedWeights(weights)
        self.layers = _lay_out(decoder)
        self.bias: Tensor = decoder.stack.cell(0).torch_weights()[2].detach()
        self._bytes: Any = None
        self._folded: dict[bool, Any] = {}
        self._screen: Any = None
        self._words = WordTable()

    def still(self, kinds: tuple[Any, ...], weights: Sequence[Tensor]) -> bool:
        """Whether the decoder computes as then, with the same weights."""
        return self.kinds == kinds and self._seen.still(weights)

    def in_bytes(self, decoder: RecurrentSteps) -> Any:
        """The layers with `ByteWeight` as weights."""
        if self._bytes is None:
            self._bytes = _lay_out(decoder, in_bytes=True)
        return self._bytes

    def folded(self, decoder: RecurrentSteps, layers: Any, *, in_bytes: bool) -> Any:
        """The layers with the state's share of `combine` alone, for values that were multiplied by the rest of it."""
        if in_bytes not in self._folded:
            combine: Any = decoder.combine
            self._folded[in_bytes] = _packed(combine.weight[:, : decoder.stack.size], in_bytes=in_bytes)
        return layers._replace(combine=self._folded[in_bytes])

    def screen(self, decoder: Any, rows: int) -> Any:
        """The output layer as bytes, for searches of few rows; None if this CPU does not multiply bytes."""
        from regard.fast.cpu.byte_tile import multiplies_bytes
        from regard.fast.cpu.screen import FEW, SMALLEST, no_screen, screen_of

        if not multiplies_bytes():
            return None
        if self._screen is None and (rows > FEW or len(decoder.output.weight) < SMALLEST):
            return no_screen()
        if self._screen is None:
            self._screen = screen_of(decoder.output.weight, decoder.output.bias)
        return self._screen

    def words(self, decoder: RecurrentSteps, count: int) -> Any:
        """What each word adds to the gates (V, G), for a search that reads `count` of them; None: not known yet."""

        embedding = decoder.embedding.weight

        def make() -> Tensor:
            from regard.fast.cpu.step import multiply_words
            from regard.structures.kernels.cpu.parallel import shares, side_by_side

            table = self.bias.repeat(len(embedding), 1)
            given = embedding.detach().contiguous().numpy()
            side_by_side(multiply_words, shares(len(given)), given, self.layers.word, table.numpy())
            return table

        table = self._words.of(embedding, len(self.bias), make, count)
        return None if table is None else table.numpy()


_kept: WeakKeyDictionary[RecurrentSteps, SearchWeights] = WeakKeyDictionary()


def search_weights(decoder: RecurrentSteps) -> SearchWeights:
    """The weights of a decoder. They are laid out again if they have changed."""
    query, _ = score_weights(attended(decoder)[1])
    cells = [cell.torch_weights() for cell in decoder.stack.each()]
    said = decoder.combine if decoder.combine is not None else decoder.narrow
    weights = [*chain.from_iterable(cells), decoder.output.weight, decoder.output.bias]
    weights += [query] if query is not None else []
    weights += [said.weight] if said is not None else []
    weights += [said.bias] if said is not None and said.bias is not None else []
    kinds = (kernel_of(decoder.stack.each()), decoder.stack.residual, decoder.feeds, decoder.looks_after)
    now = (*kinds, query is None, said is None)
    kept = _kept.get(decoder)
    if kept is None or not kept.still(now, weights):
        kept = SearchWeights(decoder, now, weights)
        _kept[decoder] = kept
    return kept


def _packed(weight: Tensor, *, in_bytes: bool) -> Any:
    """A copy of a weight, as the kernels multiply by it."""
    from regard.fast.cpu.bytes import byte_panels
    from regard.fast.cpu.layout import panels

    return byte_panels(weight) if in_bytes else panels(weight).copy()


def _lay_out(decoder: RecurrentSteps, *, in_bytes: bool = False) -> Any:
    """Copies of the weights, which do not change with them."""
    from regard.fast.cpu.bytes import stacked_bytes
    from regard.fast.cpu.layout import KINDS, stacked_panels
    from regard.fast.cpu.step import Layers
    from regard.fast.cpu.tile import WIDTH

    one = partial(_packed, in_bytes=in_bytes)
    stacked: Callable[[Tensor], Any] = stacked_bytes if in_bytes else stacked_panels
    query, _ = score_weights(attended(decoder)[1])
    stack, cells = decoder.stack, StackWeights(decoder)
    weight_ih, _, bias_ih, _ = cells.first
    said = decoder.combine if decoder.combine is not None else decoder.narrow
    nothing, bias = bias_ih.new_empty(0, 1), decoder.output.bias.detach()
    said_bias = None if said is None else said.bias
    return Layers(
        KINDS[str(kernel_of(stack.each()))],
        stack.residual,
        stack.size,
        one(weight_ih[:, : decoder.embedding.size]),
        one(read_weight(decoder)),
        stacked(cells.recurrent),
        cells.recurrent_bias.detach().numpy().copy(),
        stacked(cells.below),
        cells.below_bias.detach().numpy().copy(),
        one(nothing if query is None else query),
        one(nothing if said is None else said.weight),
        (bias_ih.new_zeros(decoder.readout_size) if said_bias is None else said_bias).detach().numpy().copy(),
        one(decoder.output.weight),
        bias.numpy().copy(),
        nn.functional.pad(bias, (0, -len(bias) % WIDTH))[None].numpy().copy(),
    )
