"""Loggers: outputs of a run's figures besides log.csv. One part per file, chosen by `training.loggers`."""

from regard.training.loggers.logger import Logger, open_loggers

__all__ = ["Logger", "open_loggers"]
