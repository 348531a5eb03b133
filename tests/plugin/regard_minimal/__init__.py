"""Parts for regard, one a file; importing this package registers them."""

from regard_minimal import (
    cell,
    column,
    command,
    decoder,
    drawing,
    encoder,
    metric,
    optimizer,
    path,
    reader,
    sampling,
    score,
    search,
    selection,
    world,
)

__all__ = [
    "cell",
    "column",
    "command",
    "decoder",
    "drawing",
    "encoder",
    "metric",
    "optimizer",
    "path",
    "reader",
    "sampling",
    "score",
    "search",
    "selection",
    "world",
]
