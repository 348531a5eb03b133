"""Does an answer depend on its input? The alarm of `regard predict --watch`.

    D(x, y) = log p(y | x) − log (1/J) Σ_j p(y | x_j)

x_j are other inputs, drawn from dev. D estimates how much the input says about the answer (pointwise mutual
information): at zero, the answer is as probable for other inputs. There is an alarm below a threshold: the 1 % quantile
of D on dev, so that about 1 of 100 answers like those of dev is a false alarm; but at least `LEAST`, because an answer
that other inputs make as probable is suspicious in any model, and at most `MOST`: an answer that is ten times as
probable for its input depends on it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from regard.data import Row
from regard.data.encoding import encode_rows
from regard.data.ragged import Array
from regard.errors import Option, RegardError
from regard.evaluation import open_dataset
from regard.model import Model
from regard.model.inputs import INPUT_REMEDY
from regard.trace.prediction import Prediction

OTHERS = 8
"""Other inputs for each answer."""
CALIBRATED = 200
"""Most rows of dev that set the threshold."""
RATE = 0.01
LEAST, MOST = 0.05, math.log(10.0)
BATCH = 256


@dataclass(frozen=True, eq=False)
class DependenceWatch:
    """Watches the answers of a model for one output.

    pool         other inputs, as rows
    threshold    below it, an answer does not depend on its input
    false_rate   the share of dev answers below it
    rows         number of dev answers that set it
    """

    model: Model
    output: str
    pool: Sequence[Row]
    threshold: float
    false_rate: float
    rows: int
    seed: int = 1

    @classmethod
    def of(
        cls, model: Model, output: str | None = None, *, split: str = "dev", seed: int = 1
    ) -> DependenceWatch:
        """A watch with its threshold from dev."""
        name = model.output_name(output)
        data = open_dataset(model, (), [split])
        generator = np.random.default_rng(seed)
        chosen = generator.permutation(len(data))[:CALIBRATED].tolist()
        if len(chosen) < 2:
            raise RegardError(
                f"{split} has {len(data)} rows; a threshold needs at least two.", where=Option("watch")
            )
        pool = [model.row({one: data.text(row, one) for one in model.spec.inputs}) for row in chosen]
        made = cls(model, name, pool, math.nan, math.nan, len(pool), seed)
        answers = model.predict(pool, output=name, trace=False)
        found = made.dependence(pool, answers)
        known = found[np.isfinite(found)]
        if not len(known):
            raise RegardError(
                f"the output {name!r} has no probability for given answers.",
                where=Option("watch"),
                fix="Watch models that write a text or a label.",
            )
        threshold = float(np.clip(np.quantile(known, RATE), LEAST, MOST))
        rate = float((known < threshold).mean())
        return cls(model, name, pool, threshold, rate, len(known), seed)

    def dependence(self, inputs: Sequence[Any], answers: Sequence[Prediction]) -> Array:
        """(N,) D of each answer, in nats; NaN for an answer that cannot be scored."""
        given = [one if isinstance(one, Row) else self.model.row(one) for one in inputs]
        if answers and answers[0].probabilities:
            return self._of_labels(given, answers)
        return self._of_texts(given, answers)

    def alarms(self, inputs: Sequence[Any], answers: Sequence[Prediction]) -> list[bool]:
        """Whether each answer does not depend on its input."""
        return [bool(value < self.threshold) for value in self.dependence(inputs, answers)]

    def _others(self, given: Row, generator: np.random.Generator) -> list[Row]:
        """Other inputs than this one, from the pool."""
        order = generator.permutation(len(self.pool))
        found = [self.pool[place] for place in order if dict(self.pool[place]) != dict(given)]
        return found[:OTHERS]

    def _of_labels(self, given: Sequence[Row], answers: Sequence[Prediction]) -> Array:
        others = self.model.predict(list(self.pool), output=self.output, trace=False)
        generator = np.random.default_rng(self.seed)
        tables = {id(row): one.probabilities for row, one in zip(self.pool, others, strict=True)}
        found = []
        for row, answer in zip(given, answers, strict=True):
            shares = [tables[id(other)][str(answer.value)] for other in self._others(row, generator)]
            found.append(answer.score - math.log(max(float(np.mean(shares)), 1e-300)) if shares else math.nan)
        return np.array(found)

    def _of_texts(self, given: Sequence[Row], answers: Sequence[Prediction]) -> Array:
        column = self.model.columns[self.output]
        generator = np.random.default_rng(self.seed)
        rows: list[Row] = []
        owners: list[int] = []
        for number, (row, answer) in enumerate(zip(given, answers, strict=True)):
            if column.check(answer.text) is None:
                for one in (row, *self._others(row, generator)):
                    rows.append(Row({**one, column.field: answer.text}, file="watch", line=number + 1))
                    owners.append(number)
        logs: list[list[float]] = [[] for _ in answers]
        if rows:
            columns = [self.model.columns[name] for name in (*self.model.spec.inputs, self.output)]
            encoded = encode_rows(rows, columns, remedy=INPUT_REMEDY)
            scores = np.empty(len(rows))
            for batch in encoded.batches(BATCH):
                scored = self.model.score_batch(batch, self.output)
                scores[list(batch.rows)] = [one.score for one in scored]
            for owner, score in zip(owners, scores.tolist(), strict=True):
                logs[owner].append(score)
        return np.array([_over_mean(one) if len(one) > 1 else math.nan for one in logs])


def _over_mean(logs: Sequence[float]) -> float:
    """The first log-probability minus the log of the mean of the other probabilities."""
    own, *others = logs
    return float(own - (np.logaddexp.reduce(others) - math.log(len(others))))
