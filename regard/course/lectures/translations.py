"""Whole translations in NumPy, for the Python code of entries: from the words of the source to log p of the target."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from regard.course.lectures.by_hand import attending, log_probabilities, looking, states_of, weights

__all__ = ["by_looks"]

Array = NDArray[np.float64]


def by_looks(
    m: Any,
    row: Mapping[str, Any],
    source: str,
    *,
    selected: Callable[[Array], Array] = lambda looks: looks,
    looks: list[Array] | None = None,
) -> list[float]:
    """log p of each word of a row's target by `translation`: a bidirectional GRU makes an annotation of each word of a
    source, and a GRU looks at them before each word that it writes.

    selected   makes other weights of those of a look
    looks      the weights are added to it
    """
    w, (h, summary) = weights(m, "decoders.target."), states_of(m, "source", source)
    look = looking(w, "source", h)
    s_0 = np.tanh(w["bridge.weight"] @ summary + w["bridge.bias"])
    step = attending(w, "source", h, looks, lambda s: selected(look(s)))
    return log_probabilities(m, "target", row["target"], s_0, step)
