"""`faithful`: all measures of a model's attention on some inputs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

import numpy as np

from regard.data.ragged import Array
from regard.errors import RegardError
from regard.model import Model
from regard.questions.faithfulness.gradients import gradient_times_input
from regard.questions.faithfulness.kinds import ATTENTION, GRADIENT, LEAVE, RANDOM
from regard.questions.faithfulness.measures import (
    comprehensiveness,
    kendall,
    lost_alone,
    most_harmful,
    sufficiency,
)
from regard.questions.faithfulness.normalized import (
    EXACT,
    all_sets,
    beam_bounds,
    exact_bounds,
    normalized,
    prefix_sets,
    steady_aopc,
)
from regard.questions.faithfulness.ranking import BINS, bin_sets, each_alone, order_by, random_orders
from regard.questions.faithfulness.removal import Progress, Removal, Remove
from regard.questions.faithfulness.replaced import replaced_attention
from regard.questions.faithfulness.result import Faithfulness, PieceMeasures
from regard.questions.faithfulness.rows import Examined, Looked
from regard.questions.faithfulness.soft import (
    Soft,
    soft_comprehensiveness,
    soft_scores,
    soft_sufficiency,
)

DRAWS = 5
"""Random orders for each answer."""
Normalize = Literal["short", "all", "none"]


def faithful(
    model: Model,
    inputs: Any,
    *,
    output: str | None = None,
    targets: Sequence[str] | None = None,
    remove: Remove | None = None,
    normalize: Normalize = "short",
    draws: int = DRAWS,
    bins: Sequence[float] = BINS,
    seed: int = 1,
    quick: bool = False,
    name: str = "",
    progress: Progress | None = None,
) -> Faithfulness:
    """Whether the attention of a model tells what its answers depend on: `regard.faithful(model, texts).table`.

    inputs      as for `model.predict`: one or several, or rows of the data
    output      the name of the output, if the model has several
    targets     texts to examine instead of the model's own answers
    remove      how a position is removed: "delete" it and encode the input anew, "mask" it by the unknown word, or
                "zero" its attention; for an image, the first two fill its cell with the mean color. Default: delete,
                or zero if the input cannot be written without a position
    normalize   normalized AOPC for "short" inputs (up to 8 positions, exact), "all" (longer ones by beam) or "none"
    draws       random orders for each answer
    bins        shares of the positions to remove and to keep
    quick       only comprehensiveness, sufficiency, polarity and harm, of the attention and of random orders
    name        of the model, for tables; default: its folder or spec
    progress    called with the number of computed variants and of those known to be needed

    Measures and their limits: docs/faithfulness.md.
    """
    _check(model, draws=draws, bins=bins)
    examined = Examined.of(model, inputs, output, targets=targets)
    removal = Removal(examined, remove, progress)
    looked = list(removal.looked.values())
    if not looked:
        raise RegardError(
            "no answer attends to an input of at least two positions.",
            where="faithful",
            fix="Choose a model with attention, and longer inputs.",
        )
    found = _Found(removal, looked, np.random.default_rng(seed), draws, bins)
    found.measure("none" if quick else normalize, seed, quick=quick)
    remarks = list(found.remarks)
    rows = examined.total
    if remove is None and removal.remove == "zero":
        remarks.append("positions of this input cannot be left out: their attention is zeroed instead")
    settings = {
        "remove": removal.remove,
        "normalize": normalize,
        "draws": draws,
        "bins": list(bins),
        "seed": seed,
        "quick": quick,
    }
    named = name or model.spec.name or (model.folder.name if model.folder else "model")
    pieces = list(found.pieces())
    skipped = rows - len({piece.row for piece in pieces})
    return Faithfulness(named, examined.output, pieces, rows, skipped, settings, remarks)


def _check(model: Any, *, draws: int, bins: Sequence[float]) -> None:
    if getattr(model, "continues", True):
        raise RegardError("this model reads no input.", where="faithful", fix="Choose a model that answers.")
    if draws < 1:
        raise RegardError(f"draws is {draws}, expected at least 1.", where="faithful")
    if not bins or not all(0 < share <= 1 for share in bins):
        raise RegardError(f"bins are {list(bins)}, expected shares between 0 and 1.", where="faithful")


class _Found:
    """The measures of all answers, collected method by method."""

    def __init__(
        self,
        removal: Removal,
        looked: Sequence[Looked],
        generator: np.random.Generator,
        draws: int,
        bins: Sequence[float],
    ) -> None:
        self.removal, self.looked, self.generator = removal, looked, generator
        self.draws, self.bins = draws, bins
        self.values: dict[tuple[int, str], dict[str, dict[str, Array]]] = {
            (one.row, one.input): {} for one in looked
        }
        self.effects: dict[tuple[int, str], Array] = {}
        self.remarks: list[str] = []

    def measure(self, normalize: Normalize, seed: int, *, quick: bool = False) -> None:
        examined = self.removal.examined
        self.removal.need((one, kept) for one in self.looked for kept in each_alone(one.positions))
        for one in self.looked:
            alone = [one.scores - self.removal[one, kept] for kept in each_alone(one.positions)]
            self.effects[one.row, one.input] = np.stack(alone, 1)  # (T, S)
        importance = {ATTENTION: {(one.row, one.input): one.weights for one in self.looked}}
        if not quick:
            importance |= {LEAVE: self.effects, GRADIENT: gradient_times_input(examined, self.looked)}
        orders = {
            key: {method: order_by(tables[key], self.generator) for method, tables in importance.items()}
            for key in self.values
        }
        chance = {
            (one.row, one.input): random_orders(self.draws, one.positions, self.generator)
            for one in self.looked
        }
        self._hard(orders, chance)
        self._alone(importance, {key: mine[ATTENTION][:, 0] for key, mine in orders.items()})
        if quick:
            return
        self._normalized(orders, chance, normalize)
        self._soft(seed)
        decoder: Any = examined.model.network.decoders[examined.output]
        editable = [one for one in self.looked if one.input in decoder.attended]
        for name in dict.fromkeys(one.input for one in self.looked if one not in editable):
            self.remarks.append(f"replaced attention: not for {name!r}, whose attention cannot be edited")
        for key, changes in replaced_attention(
            examined, editable, seed=seed, draws=min(self.draws, 3)
        ).items():
            for measure, values in changes.items():
                self._put(key, measure, ATTENTION, values)

    def _put(self, key: tuple[int, str], measure: str, method: str, values: Array) -> None:
        self.values[key].setdefault(measure, {})[method] = np.asarray(values, dtype=np.float64)

    def _hard(self, orders: Mapping[Any, Mapping[str, Array]], chance: Mapping[Any, Array]) -> None:
        def needed() -> Iterator[tuple[Looked, Array]]:
            for one in self.looked:
                key = (one.row, one.input)
                for table in (*orders[key].values(), chance[key]):
                    for order in np.unique(table, axis=0):
                        for kept in bin_sets(order, self.bins):
                            yield one, kept

        self.removal.need(needed())
        for one in self.looked:
            key = (one.row, one.input)

            def given(kept: Array, one: Looked = one) -> Array:
                return self.removal[one, kept]

            for measure, function in (
                ("comprehensiveness", comprehensiveness),
                ("sufficiency", sufficiency),
            ):
                for method, table in orders[key].items():
                    values = [
                        function(one.scores[step], given, order, step, self.bins)
                        for step, order in enumerate(table)
                    ]
                    self._put(key, measure, method, np.array(values))
                drawn = [
                    [function(one.scores[step], given, order, step, self.bins) for step in range(one.steps)]
                    for order in chance[key]
                ]
                self._put(key, measure, RANDOM, np.mean(drawn, axis=0))

    def _alone(self, importance: Mapping[str, Mapping[Any, Array]], first: Mapping[Any, Array]) -> None:
        """What the removal of the most attended position alone costs, whether it raises log p, whether no other costs
        more, and the rank correlations.

        first   (T,) the most attended position of each piece
        """
        for one in self.looked:
            key = (one.row, one.input)
            effects = self.effects[key]
            top, steps = first[key], np.arange(one.steps)
            costs = lost_alone(one.scores, effects)
            self._put(key, "first removal", ATTENTION, costs[steps, top])
            self._put(key, "first removal", LEAVE, costs.max(1))
            self._put(key, "first removal", RANDOM, costs.mean(1))
            self._put(key, "raises", ATTENTION, effects[steps, top] > 0)
            self._put(key, "raises", RANDOM, (effects > 0).mean(1))
            harmful = most_harmful(costs)
            self._put(key, "most harmful", ATTENTION, harmful[steps, top])
            self._put(key, "most harmful", RANDOM, harmful.mean(1))
            for measure, method in (("τ leave-one-out", LEAVE), ("τ gradient", GRADIENT)):
                if method in importance:
                    rows = zip(one.weights, importance[method][key], strict=True)
                    self._put(key, measure, ATTENTION, np.array([kendall(*pair) for pair in rows]))

    def _normalized(
        self, orders: Mapping[Any, Mapping[str, Array]], chance: Mapping[Any, Array], normalize: Normalize
    ) -> None:
        chosen = [
            one
            for one in self.looked
            if normalize == "all" or (normalize == "short" and one.positions <= EXACT)
        ]
        if len(chosen) < len(self.looked) and normalize != "none":
            self.remarks.append(
                f"normalized AOPC: {len(chosen)} of {len(self.looked)} inputs, those of at most {EXACT} positions"
            )
        self.removal.need(
            (one, kept) for one in chosen if one.positions <= EXACT for kept in all_sets(one.positions)
        )
        self.removal.need(
            (one, kept)
            for one in chosen
            for table in (*orders[one.row, one.input].values(), chance[one.row, one.input])
            for order in table
            for kept in prefix_sets(order)
        )
        for one in chosen:
            key = (one.row, one.input)
            bounds = exact_bounds if one.positions <= EXACT else beam_bounds
            low, high = bounds(self.removal, one)
            for method, table in orders[key].items():
                aopc = [steady_aopc(self.removal, one, order)[step] for step, order in enumerate(table)]
                self._put(key, "normalized AOPC", method, normalized(np.array(aopc), low, high))
            drawn = [normalized(steady_aopc(self.removal, one, order), low, high) for order in chance[key]]
            self._put(key, "normalized AOPC", RANDOM, np.mean(drawn, axis=0))

    def _soft(self, seed: int) -> None:
        examined = self.removal.examined
        for name in dict.fromkeys(one.input for one in self.looked):
            mine = [one for one in self.looked if one.input == name]
            asked: list[Soft] = []
            for one in mine:
                asked.append(Soft(one, 0, np.zeros(one.positions)))
                for step, weights in enumerate(one.weights):
                    share = np.clip(weights, 0.0, 1.0)
                    shuffled = self.generator.permutation(share)
                    asked += [Soft(one, step, keep) for keep in (1 - share, share, 1 - shuffled, shuffled)]
            found = soft_scores(examined, asked, seed)
            if found is None:
                self.remarks.append(f"soft measures: not for {name!r}, whose positions have no embeddings")
                continue
            scores = iter(np.exp(row) for row in found)
            for one in mine:
                key, full = (one.row, name), np.exp(one.scores)
                empty = next(scores)
                rows = np.array(
                    [[next(scores)[step] for _ in range(4)] for step in range(one.steps)]
                )  # (T, 4)
                for offset, method in ((0, ATTENTION), (2, RANDOM)):
                    without, only = rows[:, offset], rows[:, offset + 1]
                    self._put(
                        key, "soft comprehensiveness", method, soft_comprehensiveness(full, without, empty)
                    )
                    self._put(key, "soft sufficiency", method, soft_sufficiency(full, only, empty))

    def pieces(self) -> Iterator[PieceMeasures]:
        """The measures by output piece."""
        examined = self.removal.examined
        for one in self.looked:
            key = (one.row, one.input)
            trace = examined.answers[one.row].trace
            assert trace is not None
            for step in range(one.steps):
                top = int(one.weights[step].argmax())
                values = {
                    measure: {
                        method: float(array[step])
                        for method, array in ways.items()
                        if np.isfinite(array[step])
                    }
                    for measure, ways in self.values[key].items()
                }
                yield PieceMeasures(
                    examined.numbers[one.row],
                    one.input,
                    step,
                    trace.output[step],
                    float(one.scores[step]),
                    top,
                    trace.input[one.input][top],
                    float(one.weights[step, top]),
                    float(self.effects[key][step, top]),
                    {measure: ways for measure, ways in values.items() if ways},
                )
