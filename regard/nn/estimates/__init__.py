"""Estimates: the weights that stand for a latent structure, and the gradient that its scores receive.

                       weights                                        gradient of the scores
    marginals          p(part ∈ z)                                    exact
    straight-through   the best structure                             that of the marginals
    perturbed          the best structure after Gumbel noise          that of the marginals after the noise
    sparsemap          a mean of a few structures                     exact
    em                 the best structure                             of log p of the structure that the loss prefers

Each is a part, which works over every structure that offers its best one. `marginals` is what a selection computes
without an estimate.
"""

from typing import TYPE_CHECKING

from regard.lazy import at_first_use

if TYPE_CHECKING:
    from regard.nn.estimates.em import ExpectationMaximization
    from regard.nn.estimates.estimate import Latent, StructureEstimate, make_estimate
    from regard.nn.estimates.marginals import Marginals
    from regard.nn.estimates.perturbed import Perturbed
    from regard.nn.estimates.sparsemap import SparseMAP, solve_sparsemap
    from regard.nn.estimates.straight_through import StraightThrough
else:
    __getattr__ = at_first_use(__name__)

__all__ = [
    "ExpectationMaximization",
    "Latent",
    "Marginals",
    "Perturbed",
    "SparseMAP",
    "StraightThrough",
    "StructureEstimate",
    "make_estimate",
    "solve_sparsemap",
]
