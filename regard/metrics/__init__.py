"""Scores of outputs, and scores of looking."""

from regard.metrics.result import Score, higher_is_better

__all__ = ["Score", "higher_is_better"]
