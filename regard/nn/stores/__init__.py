"""External memories that a controller writes to and reads from at every step, one per file.

A spec chooses one with `store:`, and the kind in the registry is `store` too. A *memory*, in contrast, is the
output of an encoder: it is as long as its input, and nothing is written to it.
"""

from typing import TYPE_CHECKING

from regard.lazy import at_first_use

if TYPE_CHECKING:
    from regard.nn.stores.dnc import DNCStore
    from regard.nn.stores.lie import LieStore
    from regard.nn.stores.ntm import NTMStore
    from regard.nn.stores.store import AnyStore, Store, StoreStep
else:
    __getattr__ = at_first_use(__name__)

__all__ = ["AnyStore", "DNCStore", "LieStore", "NTMStore", "Store", "StoreStep"]
