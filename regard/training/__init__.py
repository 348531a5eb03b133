"""The training loop and its components.

Names are loaded at first use: a spec needs only the optimizers and schedules of this folder.
"""

from typing import TYPE_CHECKING

from regard.lazy import at_first_use

if TYPE_CHECKING:
    from regard.training.callbacks import Callback
    from regard.training.loggers import Logger
    from regard.training.loop import BatchSource, Result, fit
    from regard.training.machine import Interrupted, make_accelerator, process_rank, world_size
    from regard.training.optimizers import OptimizerPart
    from regard.training.progress import BarProgress, LineProgress, Progress, make_progress
    from regard.training.schedules import Schedule
    from regard.training.state import Generators, seed_everything
    from regard.training.weights import Transfer, start_from
else:
    __getattr__ = at_first_use(__name__)

__all__ = [
    "BarProgress",
    "BatchSource",
    "Callback",
    "Generators",
    "Interrupted",
    "LineProgress",
    "Logger",
    "OptimizerPart",
    "Progress",
    "Result",
    "Schedule",
    "Transfer",
    "fit",
    "make_accelerator",
    "make_progress",
    "process_rank",
    "seed_everything",
    "start_from",
    "world_size",
]
