"""A model as a graph: what is computed, from what, with which weights; read off the equations its parts write.

One vertex for each thing the board defines (`h_j`, `s_t`, `α_t`), an arrow for each that it is computed from. An arrow
from an earlier step (s_{t−1}) is *delayed*. Weights come from the network itself, so that their counts are its own.

`model` puts the parts of a model together, `part` the steps by which one part becomes a graph; each step has a file.
"""

from regard.describe.graph.model import graph

__all__ = ["graph"]
