"""Metrics of texts by name, as a spec and the command line call them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from difflib import get_close_matches
from types import MappingProxyType

from regard.errors import RegardError
from regard.metrics import captions, chunks, edits, matching, translation, trees
from regard.metrics.cider import cider
from regard.metrics.classification import macro_f1
from regard.metrics.metric import Metric

METRICS: Mapping[str, Callable[[], Metric]] = MappingProxyType(
    {
        "bleu": translation.bleu,
        "token_bleu": translation.token_bleu,
        "bleu1": lambda: captions.caption_bleu(1),
        "bleu2": lambda: captions.caption_bleu(2),
        "bleu3": lambda: captions.caption_bleu(3),
        "bleu4": lambda: captions.caption_bleu(4),
        "cider": lambda: cider,
        "chrf": translation.chrf,
        "exact": lambda: matching.exact,
        "accuracy": lambda: matching.accuracy,
        "macro_f1": lambda: macro_f1,
        "tag_accuracy": lambda: matching.tag_accuracy,
        "chunk_f1": lambda: chunks.chunk_f1,
        "uas": lambda: trees.uas,
        "las": lambda: trees.las,
        "las_universal": lambda: trees.las_universal,
        "uas_no_punct": lambda: trees.uas_no_punct,
        "las_no_punct": lambda: trees.las_no_punct,
        "exact_trees": lambda: trees.exact_trees,
        "before_failure": lambda: matching.before_failure,
        "word_error": lambda: matching.word_error,
        "wer": lambda: edits.wer,
        "cer": lambda: edits.cer,
        "per": lambda: edits.per,
    }
)
"""Name → how to make it, so that what a metric needs is imported when it is asked for."""

LOWER_IS_BETTER = frozenset({"loss", "perplexity", "wer", "cer", "per", "word_error", "aer"})


def metric(name: str) -> Metric:
    if name not in METRICS:
        near = get_close_matches(name, METRICS, n=1)
        hint = f" Did you mean {near[0]}?" if near else ""
        raise RegardError(f"there is no metric {name!r}; there are {', '.join(METRICS)}.{hint}")
    return METRICS[name]()


def higher_is_better(name: str) -> bool:
    """The direction of a metric by its name; of "target.bleu", the metric of one output, the last part counts."""
    return name.rpartition(".")[2] not in LOWER_IS_BETTER
