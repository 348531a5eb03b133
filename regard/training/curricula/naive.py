"""The curriculum naive (Zaremba and Sutskever 2014)."""

from __future__ import annotations

from regard.data.ragged import Array
from regard.parts import register
from regard.training.curricula.curriculum import RisingCurriculum


@register("curriculum", "naive")
class NaiveCurriculum(RisingCurriculum):
    """The easiest level alone, then the next one, up to the hardest."""

    class Options(RisingCurriculum.Options):
        """The easiest level alone, then the next one, up to the hardest."""

    def shares(self, epoch: int) -> Array:
        return self.only(self.stage(epoch))
