"""The curriculum baseline (Zaremba and Sutskever 2014)."""

from __future__ import annotations

from regard.data.ragged import Array
from regard.parts import register
from regard.training.curricula.curriculum import Curriculum


@register("curriculum", "baseline")
class BaselineCurriculum(Curriculum):
    """The hardest level alone, from the beginning."""

    class Options(Curriculum.Options):
        """The hardest level alone, from the beginning."""

    def shares(self, epoch: int) -> Array:
        return self.only(len(self.members) - 1)
