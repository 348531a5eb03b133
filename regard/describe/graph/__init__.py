"""A model as a graph: what is computed, from which values, with which weights, derived from the equations of its parts.

There is a vertex for each symbol that the board defines (`h_j`, `s_t`, `α_t`), and an arrow from each symbol that it is
computed from. An arrow from an earlier step (s_{t−1}) is *delayed*. Weights come from the network itself, so their
counts are exact.

`model` joins the parts of a model. `part` lists the steps from a part to its graph; each step has its own module.
"""

from regard.describe.graph.model import graph

__all__ = ["graph"]
