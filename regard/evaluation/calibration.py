"""Calibration: a temperature for the probabilities of a classifier, fitted on dev (Guo et al. 2017).

    p(y | x) ∝ exp(ℓ_y / T)          T = argmax_T Σ_dev log p(y | x)

ℓ are the logits. The order of the classes stays, so answers do not change. The likelihood is concave in β = 1/T, and
its derivative Σ (ℓ_y − E_β[ℓ]) falls with β: T is found by bisection.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from regard.data import Dataset, Tokens
from regard.data.batch import UNSEEN
from regard.data.sources import has_test
from regard.errors import Option, RegardError, Setting
from regard.evaluation.inference import watched
from regard.evaluation.opening import open_dataset
from regard.nn.network import answering

if TYPE_CHECKING:
    from regard.model import Model

BINS = 15
"""Bins of equal width between the confidences 0 and 1."""
LOWEST, HIGHEST = 0.05, 20.0
"""Bounds of the temperature, which a dev without any error would let fall to 0."""


@dataclass(frozen=True)
class ReliabilityBin:
    """Answers of similar confidence: their number, their mean confidence, and the share of right ones."""

    low: float
    high: float
    count: int
    confidence: float
    accuracy: float


@dataclass(frozen=True)
class Reliability:
    """How far the probabilities of answers can be trusted.

    ece        expected calibration error: the mean of |accuracy − confidence| over the bins, weighted by their counts
    brier      the mean of Σ_c (p_c − [c is true])²
    loss       the mean −log p of the true class, in nats, without classes that training never saw
    accuracy   the share of right answers
    """

    count: int
    accuracy: float
    confidence: float
    ece: float
    brier: float
    loss: float
    bins: tuple[ReliabilityBin, ...]

    def to_dict(self) -> dict[str, Any]:
        """The figures, for JSON."""
        return {**vars(self), "bins": [vars(one) for one in self.bins]}


@dataclass(frozen=True)
class Calibration:
    """A temperature for an output, and the reliability of each split before and after."""

    output: str
    temperature: float
    before: dict[str, Reliability]
    after: dict[str, Reliability]

    @property
    def bounded(self) -> bool:
        """Whether the temperature is at a bound: dev has too few errors, or the model knows nothing."""
        return not LOWEST * 1.001 < self.temperature < HIGHEST / 1.001

    def to_dict(self) -> dict[str, Any]:
        """The temperature and all figures, for JSON."""
        told = {"before": self.before, "after": self.after}
        return {
            "output": self.output,
            "temperature": self.temperature,
            **{when: {split: one.to_dict() for split, one in found.items()} for when, found in told.items()},
        }


def calibrate(model: Model, output: str | None = None) -> Calibration:
    """Fit the temperature of an output on dev, and set it: `model.save` stores it.

    output   the name of the output, if the model has several
    """
    name = calibrated_output(model, output)
    logits = {"dev": _logits(model, name, "dev")}
    if has_test(model.spec):
        logits["test"] = _logits(model, name, "test")
    found = fit_temperature(*logits["dev"])
    set_temperature(model, name, found)
    before = {split: reliability(*one) for split, one in logits.items()}
    after = {split: reliability(one / found, true) for split, (one, true) in logits.items()}
    return Calibration(name, found, before, after)


def calibrated_output(model: Any, output: str | None = None) -> str:
    """The output to calibrate: the named one, or the only one whose decoder can be calibrated."""
    able = [
        name for name, options in model.spec.decoder.items() if "calibration" in type(options).model_fields
    ]
    if output is not None and output not in model.spec.outputs:
        raise RegardError(
            f"no output is named {output!r}.",
            where=Option("of"),
            fix=f"There are {', '.join(model.spec.outputs)}.",
        )
    if not able or (output is not None and output not in able):
        kinds = ", ".join(options.type for options in model.spec.decoder.values())
        raise RegardError(
            f"calibration is for decoders that choose among classes, label and tags; this model has {kinds}.",
            where="decoder",
        )
    if output is None and len(able) > 1:
        raise RegardError(
            f"several outputs can be calibrated: {', '.join(able)}.",
            where=Option("of"),
            fix="Name one of them.",
        )
    return output or able[0]


def set_temperature(model: Any, output: str, temperature: float) -> None:
    """Let a model answer with this temperature."""
    decoder: Any = model.network.decoders[output]
    decoder.calibration = temperature
    path = (
        "decoder.calibration"
        if "type" in model.spec.written().get("decoder", {"type": ""})
        else f"decoder.{output}.calibration"
    )
    model.spec = model.spec.changed(Setting(path, temperature))


def fit_temperature(logits: Tensor, true: Tensor) -> float:
    """The temperature of the greatest likelihood. logits (N, C), true (N); UNSEEN is left out."""
    known = true != UNSEEN
    logits, true = logits[known].double(), true[known]
    if not len(true):
        raise RegardError("no row of dev has a class that training saw.", where="data.dev")
    chosen = logits.gather(1, true[:, None]).squeeze(1)

    def slope(inverse: float) -> float:
        """The derivative of the log-likelihood by 1/T."""
        expected = (torch.softmax(logits * inverse, -1) * logits).sum(-1)
        return float((chosen - expected).sum())

    low, high = math.log(1.0 / HIGHEST), math.log(1.0 / LOWEST)
    for _ in range(60):
        middle = (low + high) / 2.0
        low, high = (middle, high) if slope(math.exp(middle)) > 0 else (low, middle)
    return math.exp(-(low + high) / 2.0)


def reliability(logits: Tensor, true: Tensor) -> Reliability:
    """The reliability of answers. logits (N, C), true (N), with UNSEEN for classes that training never saw."""
    logs = torch.log_softmax(logits.double(), -1)
    likely = logs.exp()
    confidence, answer = likely.max(-1)
    right = (answer == true).double()
    known = true != UNSEEN
    hit = torch.zeros_like(likely)
    hit[known] = hit[known].scatter(1, true[known][:, None], 1.0)
    brier = ((likely - hit) ** 2).sum(-1) + (~known).double()
    place = (confidence * BINS).long().clamp(max=BINS - 1)
    bins = []
    for number in range(BINS):
        inside = place == number
        if count := int(inside.sum()):
            means = float(confidence[inside].mean()), float(right[inside].mean())
            bins.append(ReliabilityBin(number / BINS, (number + 1) / BINS, count, *means))
    total = len(true)
    loss = -logs[known].gather(1, true[known][:, None]).mean() if bool(known.any()) else math.nan
    return Reliability(
        total,
        float(right.mean()),
        float(confidence.mean()),
        sum(one.count * abs(one.accuracy - one.confidence) for one in bins) / total,
        float(brier.mean()),
        float(loss),
        tuple(bins),
    )


@torch.inference_mode()
def _logits(model: Model, output: str, split: str) -> tuple[Tensor, Tensor]:
    """(N, C) the logits of a split without temperature, up to a constant of each row, and (N) the true classes."""
    dataset: Dataset = open_dataset(model, (), [split])
    factor = getattr(model.spec.decoder[output], "calibration", 1.0)
    found, truth = [], []
    with answering(model):
        for batch in watched(dataset):
            inference = model.inference(batch, output)
            logs: Tensor = inference.find().log_probabilities * factor
            target: Any = inference.batch[output]
            if isinstance(target, Tokens):
                places = target.mask
                logs, target = logs[places], target.ids[places]
            found.append(logs.flatten(0, -2).cpu().double())
            truth.append(target.flatten().cpu())
    if not found:
        raise RegardError(f"{split} has no rows.", where="data")
    return torch.cat(found), torch.cat(truth)
