"""Questions to a trained model.

Is its attention faithful, which look makes it say another word, which training rows are alike, where do two models
diverge, and which answers are strange.
"""

__all__: list[str] = []
