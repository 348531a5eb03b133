"""Distributions over latent structures: exact, differentiable inference, for use alone or in attention.

`PairwiseField` is the exception: its sums are approximate, and say so.
"""

from typing import TYPE_CHECKING

from regard.lazy import at_first_use

if TYPE_CHECKING:
    from regard.structures.alignment import MonotoneAlignment
    from regard.structures.base import Structure
    from regard.structures.chain import LinearChain
    from regard.structures.constituency import BinaryTree
    from regard.structures.ctc import CTCAlignment
    from regard.structures.dependency import ProjectiveTree
    from regard.structures.pairwise import PairwiseField
    from regard.structures.position_chain import PositionChain
    from regard.structures.segmentation import Segmentation
    from regard.structures.semimarkov import SemiMarkov
    from regard.structures.simple import Bernoulli, Categorical
    from regard.structures.spanning import SpanningTree
else:
    __getattr__ = at_first_use(__name__)

__all__ = [
    "Bernoulli",
    "BinaryTree",
    "CTCAlignment",
    "Categorical",
    "LinearChain",
    "MonotoneAlignment",
    "PairwiseField",
    "PositionChain",
    "ProjectiveTree",
    "Segmentation",
    "SemiMarkov",
    "SpanningTree",
    "Structure",
]
