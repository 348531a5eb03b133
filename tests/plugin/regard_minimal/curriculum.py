"""A curriculum: the hardest level first, then all of them."""

from __future__ import annotations

import numpy as np

import regard
from regard.training.curricula import Curriculum


@regard.register("curriculum", "hard-first")
class HardFirst(Curriculum):
    """Only the hardest level in the first epoch, all levels equally often afterwards."""

    class Options(Curriculum.Options):
        """The hardest level first."""

    def shares(self, epoch: int) -> np.ndarray:
        return self.equal() if epoch else self.only(len(self.members) - 1)
