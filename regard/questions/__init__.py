"""Questions to a trained model.

Is its attention faithful, which look makes it say another word, which training rows are alike, where do two models
diverge, and which answers are strange.
"""

from regard.questions.signs import SIGNS, Sign
from regard.questions.strangeness import Strange, strangeness

__all__ = ["SIGNS", "Sign", "Strange", "strangeness"]
