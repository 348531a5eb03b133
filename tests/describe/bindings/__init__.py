"""Bindings: the tensor of the network for each symbol of a board, part by part.

Every function returns {symbol: tensor} for a module. The symbols are those of the part by itself, without
primes. Ids of vocabularies, classes and relations are counted from 1, as entries are.
"""

from tests.describe.bindings.decoders import of_decoder
from tests.describe.bindings.encoders import of_encoder

__all__ = ["of_decoder", "of_encoder"]
