"""Evaluation of a model on rows: its answers against the references, its attention against the truth.

opening     the files or splits on which a model is evaluated
choosing    the metrics of each output, and errors for those that cannot be computed
inference   a model on rows, as metrics need it
streaming   a language model on a running text
evaluate    all requested metrics, and their baselines
together    an ensemble, evaluated as one
"""

from regard.evaluation.choosing import check_metrics, wanted_metrics
from regard.evaluation.evaluate import PLACE, Evaluation, check_by, evaluate
from regard.evaluation.inference import references
from regard.evaluation.opening import measure, open_dataset, usual_split

__all__ = [
    "PLACE",
    "Evaluation",
    "check_by",
    "check_metrics",
    "evaluate",
    "measure",
    "open_dataset",
    "references",
    "usual_split",
    "wanted_metrics",
]
