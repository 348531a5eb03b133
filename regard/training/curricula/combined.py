"""The curriculum combined (Zaremba and Sutskever 2014)."""

from __future__ import annotations

from regard.data.ragged import Array
from regard.parts import Share, register
from regard.training.curricula.curriculum import RisingCurriculum


@register("curriculum", "combined")
class CombinedCurriculum(RisingCurriculum):
    """Each row from `mix` or from `naive`."""

    class Options(RisingCurriculum.Options):
        """Each row comes from `mix` or from `naive`: from all levels, or from the rising level."""

        mix: Share = 0.5
        """The share of rows that come from `mix`, that is, from all levels."""

    def shares(self, epoch: int) -> Array:
        mixed: float = self.options.mix
        return mixed * self.equal() + (1.0 - mixed) * self.only(self.stage(epoch))
