"""Measuring a model on rows: its answers against the references, its looks against what is known to be true.

opening      the files or splits a model is measured on
evaluate     all that is asked for, and what one gets for nothing beside it
guessing     … of answers: the commonest one
ranking      whether the truth is among the k most probable
looks        attention against a true alignment
pointing     … against true places
supporting   … against the facts of a story
together     models that decide together, measured as one
latent       trees no one taught, against the true ones
"""

from regard.evaluation.evaluate import Evaluation, check_metric, evaluate, references
from regard.evaluation.opening import measure, open_dataset

__all__ = ["Evaluation", "check_metric", "evaluate", "measure", "open_dataset", "references"]
