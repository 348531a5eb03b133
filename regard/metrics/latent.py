"""Latent trees: how often the heads that an encoder found without supervision are correct.

    UAS = Σ words with the correct head / Σ words

Heads are counted from 1, 0 is the root symbol. Baselines: the head of every word is the next word (left-branching; the
last word is the root), the previous word (right-branching; the first word is the root), or random.
"""

from __future__ import annotations

from collections.abc import Sequence

from regard.errors import RegardError
from regard.metrics.metric import Inference, Metric, OutputInfo, Score
from regard.parts import register

Heads = Sequence[int]


@register("metric", "latent_uas")
class LatentUAS(Metric):
    """UAS of the latent trees of a model's encoders, over all inputs. Baselines: branching and random trees."""

    ensembles = False

    def refuses(self, output: OutputInfo) -> str | None:
        if known_trees(output):
            return None
        return f"{self.name} needs the true tree of an input, a column of type tree in `truth`"

    def measure(self, inference: Inference) -> Score | None:
        found, truth = inference.once(latent_trees)
        return latent_uas(found, truth) if truth else None

    def baseline(self, inference: Inference) -> Score | None:
        _, truth = inference.once(latent_trees)
        return best_rule(self.name, truth) if truth else None


def known_trees(output: OutputInfo) -> dict[str, str]:
    """{input: tree column} for the inputs of encoders whose true tree is known."""
    return {
        column.of[0]: name
        for name, column in output.columns.items()
        if column.can_be("tree") and column.of[0] in output.inputs and name not in output.outputs
    }


def latent_trees(inference: Inference) -> tuple[list[Heads], list[Heads]]:
    """The latent and the true heads of each row; both empty if no encoder has latent trees."""
    found: list[Heads] = []
    truth: list[Heads] = []
    known = known_trees(inference.output)
    for batch, memories in inference.memories() if known else ():
        for name, column in known.items():
            sought = memories[name].heads
            if sought is None:
                continue
            trees = batch[column]
            for heads, true, length in zip(
                sought.heads().tolist(), trees.heads.tolist(), trees.lengths.tolist(), strict=True
            ):
                found.append(heads[:length])
                truth.append(true[:length])
    return found, truth


def latent_uas(found: Sequence[Heads], truth: Sequence[Heads]) -> Score:
    """The share of words with the correct head, including punctuation."""
    _same_shapes(found, truth)
    right = sum(
        mine == true
        for row, heads in zip(found, truth, strict=True)
        for mine, true in zip(row, heads, strict=True)
    )
    words = sum(map(len, truth))
    return Score("latent_uas", right / max(words, 1), len(truth), "share of words with the true head")


def branching_baselines(truth: Sequence[Heads]) -> dict[str, Score]:
    """The UAS of left-branching, right-branching and random heads on these trees."""
    left = [[*range(2, len(heads) + 1), 0] if heads else [] for heads in truth]
    right = [list(range(len(heads))) for heads in truth]
    # Each word chooses among the other words and the root symbol: as many choices as words.
    words = sum(map(len, truth))
    random = sum(len(heads) * (1 / len(heads)) for heads in truth if heads) / max(words, 1)
    return {
        "left-branching": Score("latent_uas", latent_uas(left, truth).value, len(truth), "head = next word"),
        "right-branching": Score(
            "latent_uas", latent_uas(right, truth).value, len(truth), "head = word before"
        ),
        "random heads": Score("latent_uas", random, len(truth), "expected value of a head drawn evenly"),
    }


def best_rule(name: str, truth: Sequence[Heads]) -> Score:
    """The best of these baselines, with all three in its signature."""
    reached = branching_baselines(truth)
    told = ", ".join(f"{rule} {score.value:.3f}" for rule, score in reached.items())
    best = max(score.value for score in reached.values())
    return Score(name, best, len(truth), f"the best of {told}")


def _same_shapes(found: Sequence[Heads], truth: Sequence[Heads]) -> None:
    if len(found) != len(truth) or any(len(a) != len(b) for a, b in zip(found, truth, strict=True)):
        raise RegardError(
            "expected as many rows of heads, and as many heads in each, as the true trees have."
        )
