"""Measuring a model: its answers against the references, its looks against the truth."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from regard.data import Batches, Dataset
from regard.errors import RegardError
from regard.evaluation.guessing import guesses
from regard.evaluation.latent import LATENT, latent_baselines, measure_latent
from regard.evaluation.looks import LOOKING, Looks, looks, measure_looks
from regard.evaluation.pointing import POINTING, places_of, pointed
from regard.evaluation.ranking import measure_rank, rank
from regard.evaluation.supporting import SUPPORTING, baselines, measure_facts
from regard.evaluation.together import EVALUATE_COST, Ensemble, batches
from regard.metrics import (
    METRICS,
    ByLength,
    Classification,
    Score,
    by_length,
    classification,
    metric,
    perplexity,
)
from regard.model import Model
from regard.model.order import in_order
from regard.prediction import Prediction

USUAL = {"text": ("bleu", "exact"), "label": ("accuracy",), "tags": ("tag_accuracy",), "tree": ("uas", "las")}
"""What is measured where the spec names nothing, by the type of the output."""
LIKELIHOOD = ("loss", "perplexity")


@dataclass(repr=False)
class Evaluation:
    """What one model did on one set of rows.

    scores        by name; with several outputs `output.metric`
    predictions   per output, one a row
    references    per output, one or more a row
    inputs        the raw inputs of each row
    lengths       of the inputs, in units, the longest where there are several
    labels        per label output the confusion matrix and what follows from it
    chance        for some of the scores, what one gets for nothing
    """

    scores: dict[str, Score] = field(default_factory=dict)
    predictions: dict[str, list[str]] = field(default_factory=dict)
    references: dict[str, list[list[str]]] = field(default_factory=dict)
    inputs: list[dict[str, str]] = field(default_factory=list)
    lengths: list[int] = field(default_factory=list)
    labels: dict[str, Classification] = field(default_factory=dict)
    chance: dict[str, Score] = field(default_factory=dict)

    def __repr__(self) -> str:
        scores = ", ".join(f"{name}={score.value:.4g}" for name, score in self.scores.items())
        return f"Evaluation({scores}; {len(self.inputs):,} rows)"

    def by_length(self, name: str, *, edges: Sequence[int] | None = None) -> ByLength:
        """One of the metrics by the length of the input."""
        output, _, wanted = name.rpartition(".")
        output = output or next(iter(self.predictions))
        return by_length(
            metric(wanted), self.predictions[output], self.references[output], self.lengths, edges=edges
        )

    def to_dict(self) -> dict[str, Any]:
        """The scores, for JSON."""
        return {
            name: {
                "value": score.value,
                "n": score.n,
                "signature": score.signature,
                **({"chance": self.chance[name].value} if name in self.chance else {}),
            }
            for name, score in self.scores.items()
        }


def wanted_metrics(model: Model, names: Sequence[str] = ()) -> dict[str, list[str]]:
    """{output: metrics}: those asked for, else the spec's, else what is usual; `output.metric` names one output's.

    Where nothing is asked for and the true places to look are known, whether the model points at them comes on top.
    """
    chosen: dict[str, list[str]] = {}
    for output, column in ((name, model.columns[name]) for name in model.spec.outputs):
        asked = [name for name in names or model.spec.metrics if name.rpartition(".")[0] in ("", output)]
        chosen[output] = [name.rpartition(".")[2] for name in asked] or list(USUAL[column.type])
        if not names and POINTING not in chosen[output] and places_of(model, model.columns, output):
            chosen[output].append(POINTING)
    for name in {name for names in chosen.values() for name in names}:
        if name not in (*LIKELIHOOD, *LOOKING, *SUPPORTING, *LATENT, POINTING) and rank(name) is None:
            metric(name)  # raises, with the nearest name, where there is none
    return chosen


def evaluate(
    model: Model,
    dataset: Dataset,
    names: Sequence[str] = (),
    *,
    ensemble: Ensemble = (),
    dev: Callable[[Model], Dataset] | None = None,
) -> Evaluation:
    """Measure a model on rows that hold the inputs, the outputs and, where known, the truth.

    ensemble   other models it decides together with, and the same rows as they read them
    dev        gives other rows as a model reads them, on which a metric with a threshold chooses it; called only where
               one is measured
    """
    chosen = wanted_metrics(model, names)
    if ensemble:
        chosen = {output: _of_all(metrics, asked=bool(names)) for output, metrics in chosen.items()}
    evaluation = Evaluation(
        inputs=[dataset.raw(row) for row in range(len(dataset))],
        lengths=[int(length) for length in _lengths(model, dataset)],
    )
    model.eval()
    for output, metrics in chosen.items():
        scores, chance = _measure_output(model, dataset, output, metrics, evaluation, ensemble, dev)
        prefix = f"{output}." if len(chosen) > 1 else ""
        evaluation.scores |= {prefix + name: score for name, score in scores.items()}
        evaluation.chance |= {prefix + name: score for name, score in chance.items()}
    return evaluation


def _measure_output(
    model: Model,
    dataset: Dataset,
    output: str,
    metrics: Sequence[str],
    evaluation: Evaluation,
    ensemble: Ensemble,
    dev: Callable[[Model], Dataset] | None,
) -> tuple[dict[str, Score], dict[str, Score]]:
    """The scores of one output and what one gets for nothing; its answers are put into the evaluation."""
    scores: dict[str, Score] = {}
    chance: dict[str, Score] = {}
    answers: list[Prediction] = []
    if any(name in METRICS or rank(name) for name in metrics):
        answers = answer_all(model, dataset, output, ensemble=ensemble)
        _keep(answers, model, dataset, output, evaluation)
    seen = looks(model, dataset, output, ensemble) if set(metrics) & set(LOOKING) else None
    tuned_on = None if dev is None else partial(_dev_looks, model, dev, output, ensemble)
    for name in metrics:
        if name in SUPPORTING or name in LATENT:
            score = (
                measure_facts(name, model, dataset, output)
                if name in SUPPORTING
                else measure_latent(model, dataset)
            )
            if score is not None:
                scores[name] = score
        elif name == POINTING:
            where = pointed(model, dataset, output, ensemble)
            if where is not None:
                scores[name], chance[name] = where.score(), where.by_chance()
        elif rank(name):
            scores[name], chance[name] = measure_rank(name, answers, evaluation.references[output])
        elif name not in LOOKING:
            scores[name] = _measure(model, dataset, output, name, evaluation, ensemble)
        elif seen is not None:
            scores[name] = measure_looks(name, seen, tuned_on)
    by_chance = baselines(model, dataset, output) | guesses(model, dataset, output)
    if set(metrics) & set(LATENT):
        by_chance |= latent_baselines(model, dataset)
    return scores, chance | {name: by_chance[name] for name in metrics if name in by_chance}


def _keep(
    answers: Sequence[Prediction], model: Model, dataset: Dataset, output: str, evaluation: Evaluation
) -> None:
    """What was answered beside what is true, and of labels which were taken for which."""
    evaluation.predictions[output] = [answer.text for answer in answers]
    evaluation.references[output] = references(dataset, output)
    if model.columns[output].type == "label":
        truth = [several[0] for several in evaluation.references[output]]
        evaluation.labels[output] = classification(evaluation.predictions[output], truth)


def answer_all(model: Model, dataset: Dataset, output: str, *, ensemble: Ensemble = ()) -> list[Prediction]:
    """The answers to all rows, in their order, without traces."""
    return in_order(
        (batch.rows, model.answer(batch, output=output, trace=False, ensemble=beside))
        for batch, beside in batches(dataset, ensemble)
    )


def references(dataset: Dataset, output: str) -> list[list[str]]:
    """The true outputs of each row, as the column would write them."""
    column = dataset.columns[output]
    normalize = getattr(column, "normalize", str.strip)
    return [
        list(dict.fromkeys(normalize(text) for text in dataset.references(row, output)))
        for row in range(len(dataset))
    ]


def _of_all(metrics: Sequence[str], *, asked: bool) -> list[str]:
    """The metrics of what models do together; those of what each does inside belong to one."""
    alone = [name for name in metrics if name in SUPPORTING or name in LATENT]
    if alone and asked:
        raise RegardError(
            f"{alone[0]} is of what one model finds by itself, not of what several write together.",
            fix="Measure it of each.",
        )
    return [name for name in metrics if name not in alone]


def _measure(
    model: Model, dataset: Dataset, output: str, name: str, evaluation: Evaluation, ensemble: Ensemble
) -> Score:
    if name in LIKELIHOOD:
        return _likelihood(model, dataset, output, name, ensemble)
    return metric(name)(evaluation.predictions[output], evaluation.references[output])


def _likelihood(model: Model, dataset: Dataset, output: str, name: str, ensemble: Ensemble) -> Score:
    if ensemble:
        total, count = _loss_of_all(model, dataset, output, ensemble)
    else:
        total, count = model.losses(iter(Batches(dataset, cost=EVALUATE_COST, shuffle=False)))[output]
    if name == "perplexity":
        return perplexity(total, int(count))
    return Score("loss", total / max(count, 1.0), len(dataset), False, "−log p per item, nats, no smoothing")


def _loss_of_all(model: Model, dataset: Dataset, output: str, ensemble: Ensemble) -> tuple[float, float]:
    """The summed −log p of the true texts under the mean of the models, and the number of units."""
    total, count = 0.0, 0.0
    for batch, beside in batches(dataset, ensemble):
        for answer in model.score_batch(batch, output, ensemble=beside):
            assert answer.trace is not None
            total, count = total - answer.score, count + len(answer.trace.output)
    return total, count


def _dev_looks(
    model: Model, dev: Callable[[Model], Dataset], output: str, ensemble: Ensemble
) -> Looks | None:
    return looks(model, dev(model), output, [(other, dev(other)) for other, _ in ensemble])


def _lengths(model: Model, dataset: Dataset) -> Any:
    lengths = dataset.lengths(next(iter(model.spec.encoder)))
    for name in model.spec.encoder:
        lengths = lengths.clip(min=dataset.lengths(name))
    return lengths


def check_metric(model: Model, name: str) -> None:
    """Whether early stopping can look at this metric of this model."""
    if name == "loss":
        return
    outputs = wanted_metrics(model, [name])
    if len(outputs) > 1 and "." not in name:
        raise RegardError(
            f"there are several outputs; whose {name}?",
            where="training.metric",
            fix=f"Write {next(iter(outputs))}.{name}.",
        )
