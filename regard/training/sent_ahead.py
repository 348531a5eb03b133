"""Batches on their way to a GPU while it is at the batch before, on a stream of their own."""

from __future__ import annotations

from collections.abc import Iterator

import torch

from regard.data.batch import Batch


def sent_ahead(batches: Iterator[Batch], device: torch.device) -> Iterator[Batch]:
    """The same batches, in order; for CUDA each is there, or will be when it is read, once it is given out."""
    if device.type != "cuda":
        yield from batches
        return
    side = torch.cuda.Stream(device)
    waiting: tuple[Batch, torch.cuda.Event] | None = None
    for batch in batches:
        # Memory of a batch is given to the one after the next: all that read it has been launched by now.
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
