"""What is kept from one call to the next: weights laid out for the kernels, and whether they have changed since; and a
table of what each word of a vocabulary adds to the gates of a cell.

The version counter of a tensor does not count changes through `data` or numpy, so the numbers are read. That takes as
long as several steps of a search, so the threads of its kernels read them when they are done (`meanwhile`).
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

import torch
from torch import Tensor, nn

Result = TypeVar("Result")
LARGEST = 2**25
"""Numbers of a table: 128 MB."""
PARTS = 2
"""Parts of the numbers of a network's weights, which threads compare side by side."""
SOME = 4
"""If so many times as many words as are read are fewer than the vocabulary, their vectors are compared, not all."""


class RememberedWeights:
    """Weights as they were: where their numbers lie, their versions, and a digest of the numbers."""

    def __init__(self, weights: Sequence[Tensor]) -> None:
        self._remember(weights, _where(weights))

    def _remember(self, weights: Sequence[Tensor], where: list[tuple[Any, ...]]) -> None:
        from regard.fast.cpu.digest import digest, places_of

        # the tensors keep their memory, so that no others can lie in the same place
        self._weights, self._where = [one.detach() for one in weights], where
        self._digest, self._places = digest(self._weights), places_of(self._weights)

    def still(self, weights: Sequence[Tensor]) -> bool:
        """Whether the weights are the same as then. Inside `meanwhile`, the numbers are compared later."""
        from regard.fast.cpu.digest import digest

        where = _where(weights)
        if self._where == where:
            return _later(self)
        if self._digest != digest(weights):
            return False
        self._remember(weights, where)
        return True

    def begin(self) -> Callable[[], bool] | None:
        """Compare the numbers behind this thread: whether they are the same as then, to be asked later; None if no
        thread does."""
        from regard.fast.cpu.digest import SumsBehind

        if self._places is None:
            return None
        behind = SumsBehind(self._places)
        return (lambda: behind.sums() == self._digest.sums) if behind.begin() else None

    def unchanged(self, part: int, parts: int) -> bool:
        """Whether the numbers where the weights lay are the same as then, those of one part of them."""
        from regard.fast.cpu.digest import WeightPlaces, digest, sums_at

        if self._places is None:
            return part > 0 or self._digest == digest(self._weights)
        mine = self._places.share(part, parts)
        addresses, sizes = self._places
        return self._digest.sums[mine] == tuple(sums_at(WeightPlaces(addresses[mine], sizes[mine])).tolist())


def _where(weights: Sequence[Tensor]) -> list[tuple[Any, ...]]:
    return [
        (one.data_ptr(), one.shape, one.stride(), one.dtype, -1 if one.is_inference() else one._version)
        for one in weights
    ]


class _Comparison:
    """Whether some weights are the same as then: found once, by whoever asks first."""

    def __init__(self, check: Callable[[], bool]) -> None:
        self._check = check
        self._same: bool | None = None

    def __call__(self) -> bool:
        if self._same is None:
            self._same = self._check()
        return self._same


class _Open(threading.local):
    """The comparisons that this thread has put off, and those that have begun; None: it puts off none. brief: they are
    done before the kernel, not beside it."""

    checks: list[_Comparison] | None = None
    given: list[_Comparison]
    brief: bool = False


_open = _Open()


def _later(weights: RememberedWeights) -> bool:
    """Whether the numbers of some weights are the same, or true if that is found later."""
    if _open.checks is None:
        return weights.unchanged(0, 1)
    begun = weights.begin() if _open.brief else None
    if begun is not None:
        _open.given.append(_Comparison(begun))
    else:  # two threads share what is left when a kernel ends
        _open.checks += [_Comparison(partial(weights.unchanged, part, PARTS)) for part in range(PARTS)]
    return True


def begin_comparing() -> None:
    """Let the threads of the next kernel compare what was put off: one that has no part of the kernel, or has done
    it."""
    from regard.structures.kernels.cpu.parallel import run_beside

    if _open.checks:
        _open.given += _open.checks
        run_beside(_open.checks)
        _open.checks = []


def is_brief(positions: int) -> bool:
    """Whether a call for so many positions prepares for about as long as it compares weights."""
    from regard.structures.kernels.cpu.parallel import FEW_POSITIONS

    return positions <= FEW_POSITIONS


def meanwhile(call: Callable[[], Result], *, brief: bool = False) -> Result:
    """The result of a call. Weights that lie where they lay are compared while it computes: beside its kernel, or, if
    it is brief, behind this thread until the kernel begins. If they have changed, it is repeated."""
    from regard.structures.kernels.cpu.parallel import end_behind, run_beside

    if _open.checks is not None or torch.get_num_threads() < 2:
        return call()
    _open.checks, _open.given, _open.brief = [], [], brief
    try:
        result = call()
    finally:
        checks, _open.checks = [*_open.checks, *_open.given], None
        run_beside(())
        end_behind()
        same = [check() for check in checks]
    return result if all(same) else call()


class LaidOut:
    """The weights of networks as kernels read them, made once and again when a weight has changed.

    reads   the weights of a network of which copies are kept
    """

    def __init__(self, reads: Callable[[Any], Sequence[Tensor]]) -> None:
        self._reads = reads
        self._kept: WeakKeyDictionary[nn.Module, tuple[RememberedWeights, dict[Any, Any]]] = (
            WeakKeyDictionary()
        )

    def compare(self, network: nn.Module) -> None:
        """Forget what was made from weights that have changed since."""
        kept, weights = self._kept.get(network), self._reads(network)
        if kept is None or not kept[0].still(weights):
            self._kept[network] = RememberedWeights(weights), {}

    def of(self, network: nn.Module, make: Callable[[Any], Result]) -> Result:
        """What `make` makes of a network, whose weights are those that were compared last."""
        _, made = self._kept[network]
        if make not in made:
            made[make] = make(network)
        found: Result = made[make]
        return found


class WordTable:
    """W e(y) + b of every word y, for one embedding and one layer.

    It replaces a product for every word that is read. It is made when as many words were read as the vocabulary has:
    from then on it has saved more than it took. Whoever keeps it makes another one when the layer's weights change.
    """

    def __init__(self) -> None:
        self._read, self._vectors, self._table = 0, torch.empty(0), torch.empty(0)
        self._seen: RememberedWeights | None = None

    def of(
        self,
        embedding: Tensor,
        width: int,
        make: Callable[[], Tensor],
        count: int,
        words: Tensor | None = None,
    ) -> Tensor | None:
        """The table (V, width), of which `count` rows will be read; None while it is not worth its price.

        embedding   (V, E)   make: computes the table   words: the rows that will be read, if they are known
        """
        self._read += count
        if self._read < len(embedding) or len(embedding) * width > LARGEST:
            return None
        if not self._still(embedding, words):
            with torch.inference_mode():
                self._table = make()
                self._vectors = embedding.detach().clone()
            self._seen = RememberedWeights([embedding])
        return self._table

    def _still(self, embedding: Tensor, words: Tensor | None) -> bool:
        """Whether the table holds what the words add now."""
        if self._seen is None:
            return False
        if words is None or SOME * len(words) > len(embedding):
            return self._seen.still([embedding])
        if self._vectors.shape != embedding.shape or self._vectors.dtype != embedding.dtype:
            return False
        now, then = (
            one.index_select(0, words).view(torch.int32) for one in (embedding.detach(), self._vectors)
        )
        return torch.equal(now, then)
