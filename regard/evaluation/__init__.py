"""Measuring a model on rows: its answers against the references, its looks against what is known to be true.

opening     the files or splits a model is measured on
choosing    which metrics of which outputs, and which are refused
inference   a model on rows, as metrics ask for it
evaluate    all that is asked for, and the baselines beside it
together    an ensemble, measured as one
"""

from regard.evaluation.choosing import check_metrics, wanted_metrics
from regard.evaluation.evaluate import Evaluation, evaluate
from regard.evaluation.inference import references
from regard.evaluation.opening import measure, open_dataset

__all__ = [
    "Evaluation",
    "check_metrics",
    "evaluate",
    "measure",
    "open_dataset",
    "references",
    "wanted_metrics",
]
