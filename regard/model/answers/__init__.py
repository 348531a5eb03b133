"""What decoders found → Predictions: ids become text again, looks become a Trace.

A new kind of decoder gives a new kind of finding, and a file here that registers itself with `predictions`.
"""

from regard.model.answers import facts, labels, tags, texts, trees  # noqa: F401  they register themselves
from regard.model.answers.asked import Asked, predictions
from regard.model.answers.order import in_order

__all__ = ["Asked", "in_order", "predictions"]
