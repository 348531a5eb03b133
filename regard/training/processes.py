"""The rank of this process, as torchrun and accelerate launch set it in the environment."""

from __future__ import annotations

import os


def process_rank() -> int:
    """The number of this process among those that train together, from 0."""
    return int(os.environ.get("RANK", "0"))


def world_size() -> int:
    """The number of processes that train together."""
    return int(os.environ.get("WORLD_SIZE", "1"))
