"""Loggers: outputs of a run's figures besides log.csv. One part per file, chosen by `training.loggers`."""

from regard.training.loggers.logger import Logger

__all__ = ["Logger"]
