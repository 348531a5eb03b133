"""Where a run's figures are written besides log.csv: one part a file, chosen by `training.loggers`."""

from regard.training.loggers.logger import Logger, open_loggers

__all__ = ["Logger", "open_loggers"]
