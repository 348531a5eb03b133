"""The curriculum combined (Zaremba and Sutskever 2014)."""

from __future__ import annotations

from regard.data.ragged import Array
from regard.parts import Share, register
from regard.training.curricula.curriculum import RisingCurriculum


@register("curriculum", "combined")
class CombinedCurriculum(RisingCurriculum):
    """Each row from `mix` or from `naive`."""

    class Options(RisingCurriculum.Options):
        """Each row from mix or from naive: the level that rises, and all others beside it."""

        mix: Share = 0.5
        """The share of the rows from all levels."""

    def shares(self, epoch: int) -> Array:
        mixed: float = self.options.mix
        return mixed * self.equal() + (1.0 - mixed) * self.only(self.stage(epoch))
