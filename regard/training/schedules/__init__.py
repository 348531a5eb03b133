"""Schedules of the learning rate: one part per file, chosen by `training.schedule`."""

from regard.training.schedules.schedule import Schedule, make_schedule

__all__ = ["Schedule", "make_schedule"]
