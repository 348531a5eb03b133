"""Questions to a trained model.

Is its attention faithful, which look makes it say another word, which training rows are alike, where do two models
diverge, and which answers are strange.
"""

from regard.questions.diverging import Divergence, diverging
from regard.questions.like import Neighbor, like
from regard.questions.signs import SIGNS, Sign
from regard.questions.strangeness import Strange, strangeness
from regard.questions.why import Why, why

__all__ = [
    "SIGNS",
    "Divergence",
    "Neighbor",
    "Sign",
    "Strange",
    "Why",
    "diverging",
    "like",
    "strangeness",
    "why",
]
