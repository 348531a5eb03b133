"""The rank of this process, as torchrun and accelerate launch set it in the environment."""

from __future__ import annotations

import os


def process_rank() -> int:
    return int(os.environ.get("RANK", "0"))


def world_size() -> int:
    return int(os.environ.get("WORLD_SIZE", "1"))
