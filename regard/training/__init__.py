"""The training loop and its components.

Names are loaded at first use: a spec needs only the optimizers and schedules of this folder.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

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

_HOMES = {
    "BarProgress": "regard.training.progress",
    "BatchSource": "regard.training.loop",
    "Callback": "regard.training.callbacks",
    "Generators": "regard.training.state",
    "Interrupted": "regard.training.machine",
    "LineProgress": "regard.training.progress",
    "Logger": "regard.training.loggers",
    "OptimizerPart": "regard.training.optimizers",
    "Progress": "regard.training.progress",
    "Result": "regard.training.loop",
    "Schedule": "regard.training.schedules",
    "Transfer": "regard.training.weights",
    "fit": "regard.training.loop",
    "make_accelerator": "regard.training.machine",
    "make_progress": "regard.training.progress",
    "process_rank": "regard.training.machine",
    "seed_everything": "regard.training.state",
    "start_from": "regard.training.weights",
    "world_size": "regard.training.machine",
}

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


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'regard.training' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
