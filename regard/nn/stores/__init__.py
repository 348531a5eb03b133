"""External memories: what a controller writes to and reads from at every step, one a file.

A spec names one by `store:`. The registry's kind is `store` as well: a *memory* is what an encoder leaves; it is as
long as its input, and nobody writes to it.
"""

from regard.nn.stores.dnc import DNCStore
from regard.nn.stores.lie import LieStore
from regard.nn.stores.ntm import NTMStore
from regard.nn.stores.store import AnyStore, Store, StoreStep

__all__ = ["AnyStore", "DNCStore", "LieStore", "NTMStore", "Store", "StoreStep"]
