"""Scores of outputs, and scores of looking."""

from regard.metrics.alignment import alignment_error_rate, attention_error_rate, hard_links, parse_links
from regard.metrics.baselines import chance, majority
from regard.metrics.captions import caption_bleu, caption_words
from regard.metrics.chunks import chunk_f1
from regard.metrics.cider import cider
from regard.metrics.classification import Classification, LabelScore, classification, macro_f1, top_k_accuracy
from regard.metrics.edits import cer, per, wer
from regard.metrics.facts import distinct_hops, fact_accuracy, fact_set_accuracy, random_facts
from regard.metrics.latent import branching_baselines, latent_uas
from regard.metrics.lengths import Bucket, ByLength, by_length
from regard.metrics.likelihood import perplexity
from regard.metrics.matching import accuracy, before_failure, exact, tag_accuracy, word_error
from regard.metrics.metric import Metric
from regard.metrics.pointing import centre_pointing, pointing
from regard.metrics.registry import METRICS, higher_is_better, metric
from regard.metrics.result import Score
from regard.metrics.segments import Threshold, best_threshold, segment_f1
from regard.metrics.significance import Comparison, Interval, compare, confidence_interval
from regard.metrics.translation import bleu, chrf, token_bleu
from regard.metrics.trees import (
    exact_trees,
    las,
    las_no_punct,
    las_universal,
    uas,
    uas_no_punct,
)

__all__ = [
    "METRICS",
    "Bucket",
    "ByLength",
    "Classification",
    "Comparison",
    "Interval",
    "LabelScore",
    "Metric",
    "Score",
    "Threshold",
    "accuracy",
    "alignment_error_rate",
    "attention_error_rate",
    "before_failure",
    "best_threshold",
    "bleu",
    "branching_baselines",
    "by_length",
    "caption_bleu",
    "caption_words",
    "centre_pointing",
    "cer",
    "chance",
    "chrf",
    "chunk_f1",
    "cider",
    "classification",
    "compare",
    "confidence_interval",
    "distinct_hops",
    "exact",
    "exact_trees",
    "fact_accuracy",
    "fact_set_accuracy",
    "hard_links",
    "higher_is_better",
    "las",
    "las_no_punct",
    "las_universal",
    "latent_uas",
    "macro_f1",
    "majority",
    "metric",
    "parse_links",
    "per",
    "perplexity",
    "pointing",
    "random_facts",
    "segment_f1",
    "tag_accuracy",
    "token_bleu",
    "top_k_accuracy",
    "uas",
    "uas_no_punct",
    "wer",
    "word_error",
]
