"""Where a language model with self-attention looked while it read a text."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from regard.data.batch import BEGIN
from regard.data.columns.stream import StreamColumn, span
from regard.errors import RegardError
from regard.nn.search.stepper import not_finite
from regard.trace import LayerHeads, Trace

BEGIN_PIECE = "<s>"


@torch.inference_mode()
def looked(decoder: Any, column: StreamColumn, name: str, text: str, device: torch.device) -> Trace:
    """The tokens of a text, each with the shares of the tokens before it: the mean over the heads of the last layer,
    and every head of every layer."""
    ids = column.encode(text).astype(np.int64)[None]
    given = span(ids, np.array([BEGIN])).to(device)
    costs, _ = decoder.costs(given, None)
    if bool(costs.isnan().any()):
        raise not_finite("trace")
    layers = {
        layer: weights[0].float().cpu().numpy() for layer, weights in decoder.self_looks(given.before).items()
    }
    written = list(column.tokens(text))
    read = [BEGIN_PIECE, *written[:-1]]
    heads = {layer: LayerHeads(name, weights, written, read) for layer, weights in layers.items()}
    return Trace(
        input={name: read},
        output=written,
        attention={name: list(layers.values())[-1].mean(0)},
        scores=-costs[0].float().cpu().numpy(),
        heads=heads,
    )


def no_self_attention() -> RegardError:
    return RegardError(
        "this language model has no attention to show.",
        fix="Train one that has:  decoder: {type: transformer}.",
    )
