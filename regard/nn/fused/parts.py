"""Parts: a kernel at work on several cores, each with rows of its own."""

from __future__ import annotations

from collections.abc import Callable
from threading import Thread
from typing import Any

import torch

from regard.nn.fused.tile import HEIGHT


def shares(rows: int) -> int:
    """Among how many cores to divide the rows: as many as torch may use, as long as each gets a tile."""
    return max(1, min(torch.get_num_threads(), rows // HEIGHT))


def side_by_side(kernel: Callable[..., None], parts: int, *arguments: Any) -> None:
    """kernel(part, parts, *arguments) for every part, on as many cores as torch may use.

    The kernels leave the interpreter's lock alone, so plain threads serve; a kernel is compiled much faster than with
    the compiler's own parallel loops, and starting a thread costs nothing beside a whole sequence.
    """
    cores = min(parts, torch.get_num_threads())

    def work(core: int) -> None:
        for part in range(core, parts, cores):
            kernel(part, parts, *arguments)

    others = [Thread(target=work, args=(core,)) for core in range(1, cores)]
    for thread in others:
        thread.start()
    work(0)
    for thread in others:
        thread.join()
