"""Distributions over latent structures: exact inference, differentiable, on their own or behind an attention."""

from regard.structures.base import Structure
from regard.structures.chain import LinearChain
from regard.structures.segmentation import Segmentation
from regard.structures.simple import Bernoulli, Categorical

__all__ = ["Bernoulli", "Categorical", "LinearChain", "Segmentation", "Structure"]
