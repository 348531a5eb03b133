"""Faithfulness: does the attention of a model tell what its answers depend on?

rows         the answers that are examined, and where the model looked meanwhile
removal      log p when positions of an input are removed
ranking      orders in which positions are removed
measures     comprehensiveness, sufficiency, rank correlation, distances of distributions
normalized   normalized AOPC, between the worst and the best order
soft         the soft versions, on embeddings
gradients    gradient × input
replaced     attention replaced by uniform and permuted weights
intervals    bootstrap intervals over answers
flags        the flag of an answer whose attention misleads
result       what was found
"""

from regard.questions.faithfulness.asking import faithful
from regard.questions.faithfulness.result import Faithfulness, Measured, Paired, PieceMeasures

__all__ = ["Faithfulness", "Measured", "Paired", "PieceMeasures", "faithful"]
