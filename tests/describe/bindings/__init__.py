"""Bindings: which symbol of a board is which tensor of a network, part by part.

Every function gives {symbol: tensor} for a module, with the symbols as the part writes them alone, without primes.
Units of vocabularies, classes and relations are counted from 1, as entries are.
"""

from tests.describe.bindings.decoders import of_decoder
from tests.describe.bindings.encoders import of_encoder

__all__ = ["of_decoder", "of_encoder"]
