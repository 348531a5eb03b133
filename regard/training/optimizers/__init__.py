"""Optimizers: one part per file, chosen by `training.optimizer`."""

from regard.training.optimizers.optimizer import OptimizerPart, make_optimizer

__all__ = ["OptimizerPart", "make_optimizer"]
