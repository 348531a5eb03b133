"""Metrics of outputs, likelihood and attention. Each is a part, found by its name: `metric("bleu")`."""

from regard.metrics.alignment import alignment_error_rate, attention_error_rate, hard_links, parse_links
from regard.metrics.captions import caption_words
from regard.metrics.classification import Classification, LabelScore, classification
from regard.metrics.facts import distinct_hops, fact_accuracy, fact_set_accuracy, random_facts
from regard.metrics.groups import ByGroup, by_group, by_place
from regard.metrics.latent import branching_baselines, latent_uas
from regard.metrics.lengths import Bucket, ByLength, by_length, lines_by_length
from regard.metrics.likelihood import perplexity
from regard.metrics.matching import majority
from regard.metrics.metric import (
    Inference,
    Metric,
    OutputInfo,
    OutputMetric,
    References,
    RowMetric,
    Score,
    Table,
    find_metric,
    metric,
    metric_names,
    output_metric,
    unknown_metrics,
)
from regard.metrics.numbers import RMSE, AbsoluteError
from regard.metrics.pointing import center_pointing, pointing
from regard.metrics.ranking import top_k_accuracy
from regard.metrics.segments import Threshold, best_threshold, segment_f1
from regard.metrics.significance import (
    Comparison,
    ConfidenceInterval,
    compare,
    confidence_interval,
    interval_of,
)
from regard.metrics.translation import BLEU, ChrF

__all__ = [
    "BLEU",
    "RMSE",
    "AbsoluteError",
    "Bucket",
    "ByGroup",
    "ByLength",
    "ChrF",
    "Classification",
    "Comparison",
    "ConfidenceInterval",
    "Inference",
    "LabelScore",
    "Metric",
    "OutputInfo",
    "OutputMetric",
    "References",
    "RowMetric",
    "Score",
    "Table",
    "Threshold",
    "alignment_error_rate",
    "attention_error_rate",
    "best_threshold",
    "branching_baselines",
    "by_group",
    "by_length",
    "by_place",
    "caption_words",
    "center_pointing",
    "classification",
    "compare",
    "confidence_interval",
    "distinct_hops",
    "fact_accuracy",
    "fact_set_accuracy",
    "find_metric",
    "hard_links",
    "interval_of",
    "latent_uas",
    "lines_by_length",
    "majority",
    "metric",
    "metric_names",
    "output_metric",
    "parse_links",
    "perplexity",
    "pointing",
    "random_facts",
    "segment_f1",
    "top_k_accuracy",
    "unknown_metrics",
]
