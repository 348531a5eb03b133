"""Curricula: which rows an epoch contains. One part per file, chosen by `training.curriculum`."""

from regard.training.curricula.curriculum import Curriculum, RisingCurriculum, make_curriculum

__all__ = ["Curriculum", "RisingCurriculum", "make_curriculum"]
