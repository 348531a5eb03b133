"""Evaluation of a model on rows: its answers against the references, its attention against the truth.

opening      the files or splits on which a model is evaluated
evaluate     the metrics of each output, and errors for those that cannot be computed; all scores and their baselines
inference    a model, or an ensemble, on rows, as metrics need it
streaming    a language model on a running text
evaluation   the results
settling     what decoders choose on dev after training
calibration  a temperature for the probabilities of a classifier
comparing    several models on the same rows
"""

from regard.evaluation.calibration import Calibration, Reliability, calibrate, fit_temperature, reliability
from regard.evaluation.comparing import comparisons
from regard.evaluation.evaluate import check_metrics, evaluate, wanted_metrics
from regard.evaluation.evaluation import PLACE, Evaluation, check_by
from regard.evaluation.inference import references
from regard.evaluation.opening import measure, open_dataset, usual_split
from regard.evaluation.settling import settle

__all__ = [
    "PLACE",
    "Calibration",
    "Evaluation",
    "Reliability",
    "calibrate",
    "check_by",
    "check_metrics",
    "comparisons",
    "evaluate",
    "fit_temperature",
    "measure",
    "open_dataset",
    "references",
    "reliability",
    "settle",
    "usual_split",
    "wanted_metrics",
]
