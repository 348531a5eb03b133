"""Copies of batches to a GPU on a separate stream, while it computes the previous batch."""

from __future__ import annotations

from collections.abc import Iterator

import torch

from regard.data.batch import Batch


def sent_ahead(batches: Iterator[Batch], device: torch.device) -> Iterator[Batch]:
    """The same batches, in order. On CUDA a yielded batch has arrived, or arrives before it is read."""
    if device.type != "cuda":
        yield from batches
        return
    side = torch.cuda.Stream(device)
    waiting: tuple[Batch, torch.cuda.Event] | None = None
    for batch in batches:
        # The batch after the next reuses the memory of a batch. All kernels that read it have been launched
        # by now.
        side.wait_stream(torch.cuda.current_stream(device))
        with torch.cuda.stream(side):
            sent = batch.to(device), side.record_event()
        if waiting is not None:
            yield _arrived(*waiting)
        waiting = sent
    if waiting is not None:
        yield _arrived(*waiting)


def _arrived(batch: Batch, event: torch.cuda.Event) -> Batch:
    torch.cuda.current_stream().wait_event(event)
    return batch
