"""Curricula: which rows an epoch is drawn from. One part a file, chosen by `training.curriculum`."""

from regard.training.curricula.curriculum import Curriculum, RisingCurriculum, make_curriculum

__all__ = ["Curriculum", "RisingCurriculum", "make_curriculum"]
