"""The training loop and what it stands on."""

from regard.training.device import make_accelerator
from regard.training.loop import BatchSource, Result, fit
from regard.training.processes import process_rank, world_size
from regard.training.progress import BarProgress, LineProgress, Progress, make_progress
from regard.training.seed import Generators, seed_everything
from regard.training.signals import Interrupted
from regard.training.weights import Transfer, start_from

__all__ = [
    "BarProgress",
    "BatchSource",
    "Generators",
    "Interrupted",
    "LineProgress",
    "Progress",
    "Result",
    "Transfer",
    "fit",
    "make_accelerator",
    "make_progress",
    "process_rank",
    "seed_everything",
    "start_from",
    "world_size",
]
