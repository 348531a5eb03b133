"""The curriculum mix (Zaremba and Sutskever 2014)."""

from __future__ import annotations

from regard.data.ragged import Array
from regard.parts import register
from regard.training.curricula.curriculum import Curriculum


@register("curriculum", "mix")
class MixCurriculum(Curriculum):
    """All levels equally often, from the beginning to the end."""

    class Options(Curriculum.Options):
        """All levels equally often, from the beginning to the end."""

    def shares(self, epoch: int) -> Array:
        return self.equal()
