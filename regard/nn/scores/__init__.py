"""Scores: how well a query q and a key h agree, for every pair of them; one score per file.

additive     v · tanh(U q + W h)      (Bahdanau 2015)
dot          q · h                    (Luong 2015)
scaled-dot   q · h / √D
general      q · W h                  (Luong 2015)
linear       w · [q; h]
perceptron   tanh(U q + b) · tanh(W h + d)   (Chan 2015)
location     v · tanh(U q + W h + V f), f = F * α of the previous step    (Chorowski 2015)
history      v · tanh(U q + W h + g r), r = Σ α of all previous steps     (See 2017)
"""

from typing import TYPE_CHECKING

from regard.lazy import at_first_use

if TYPE_CHECKING:
    from regard.nn.scores.additive import Additive
    from regard.nn.scores.dot import Dot
    from regard.nn.scores.general import General
    from regard.nn.scores.history import History
    from regard.nn.scores.linear import Linear
    from regard.nn.scores.location import Location
    from regard.nn.scores.perceptron import Perceptron
    from regard.nn.scores.scaled_dot import ScaledDot
    from regard.nn.scores.score import AnyScore, AttentionScore, make_score
else:
    __getattr__ = at_first_use(__name__)

__all__ = [
    "Additive",
    "AnyScore",
    "AttentionScore",
    "Dot",
    "General",
    "History",
    "Linear",
    "Location",
    "Perceptron",
    "ScaledDot",
    "make_score",
]
