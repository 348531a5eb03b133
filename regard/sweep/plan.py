"""SweepPlan: what a sweep is, before anything runs: the model, what varies, how many trials, and where they go."""

from __future__ import annotations

import hashlib
import json
import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from itertools import islice, product
from pathlib import Path
from typing import Any

from regard.errors import Message, MissingExtra, Option, RegardError
from regard.errors.remedies import flow
from regard.fitting.experiment import inferred, name_of_run
from regard.metrics import find_metric, unknown_metrics
from regard.metrics import metric as metric_of
from regard.model.base import named_device
from regard.spec import Spec
from regard.spec.document import Change, settings
from regard.sweep.ranges import Choices, Range, given_ranges
from regard.sweep.samplers import GRID, PRUNER, SAMPLER, check_names, grid_points

TRIALS = 20
PASSWORD = re.compile(r"(://[^/@:]*:)[^@]*@")
MOST_COMBINATIONS = 200
"""Combinations of choices in which a value is tried before it is refused."""


@dataclass(frozen=True)
class SweepPlan:
    """What a sweep is.

    what       a system of the zoo, a spec file, or a file of pairs, as `regard train` takes it
    changes    settings of all trials, as `key.path=value`
    ranges     what varies, by key path
    base       the spec with the changes
    trials     number of settings to try, in all processes together
    seeds      the seeds with which each setting is trained
    metric     the dev metric; the mean over the seeds is the value of a trial
    output     the folder of the sweep
    storage    a URL that Optuna takes; empty: SQLite in the folder
    """

    what: str
    changes: tuple[Change, ...]
    ranges: Mapping[str, Range]
    base: Spec
    trials: int
    seeds: tuple[int, ...]
    metric: str
    output: Path
    sampler: str = SAMPLER
    pruner: str = PRUNER
    storage: str = ""
    source: tuple[str, ...] = ()
    target: str | None = None
    device: str | None = None
    points: Sequence[Mapping[str, Any]] = field(default=(), repr=False)

    @property
    def study(self) -> str:
        """The name of the study: that of the folder."""
        return self.output.absolute().name

    @property
    def maximize(self) -> bool:
        """Whether larger values of the metric are better."""
        return bool(metric_of(self.metric.rpartition(".")[2]).higher_is_better)

    @property
    def url(self) -> str:
        """The address of the database."""
        return self.storage or f"sqlite:///{(self.output / 'study.db').absolute()}"

    @property
    def place(self) -> str:
        """Where the study is, without a password."""
        return PASSWORD.sub(r"\1…@", self.storage) if self.storage else str(self.output)

    def fingerprint(self) -> str:
        """What all processes of a study have in common."""
        told = {
            "spec": without_sweep(self.base).to_yaml(),
            "vary": {path: one.text() for path, one in sorted(self.ranges.items())},
            "seeds": self.seeds,
            "metric": self.metric,
        }
        return hashlib.sha256(json.dumps(told, sort_keys=True).encode()).hexdigest()[:16]

    def values(self, drawn: Mapping[str, Any]) -> dict[str, str]:
        """The settings of a trial as they are typed, from what the sampler drew."""
        return {path: typed(one.value(drawn[path])) for path, one in self.ranges.items()}

    def spec(self, values: Mapping[str, str], seed: int) -> Spec:
        """The spec of one run: the same as that of the command."""
        changes = [f"{path}={value}" for path, value in values.items()]
        every = (f"training.seed={seed}", *self.changes, *changes)
        found = inferred(self.what, every, source=list(self.source) or None, target=self.target).spec
        return without_sweep(found)

    def command(self, values: Mapping[str, str], seed: int) -> str:
        """The command that trains one run alone."""
        words = ["regard", "train", *self.what.split("+"), *self._columns()]
        for one in settings(self.changes):
            words += ["--set", one.typed or f"{one.path}={flow(one.value)}"]
        for path, value in values.items():
            words += ["--set", f"{path}={value}"]
        words += ["--seed", str(seed)]
        words += [] if self.device is None else ["--device", self.device]
        return " ".join(map(shlex.quote, words))

    def _columns(self) -> list[str]:
        words = [word for one in self.source for word in ("--source", one)]
        return words if self.target is None else [*words, "--target", self.target]


def make_plan(
    what: str,
    vary: Mapping[str, Any],
    *,
    trials: int | None = None,
    seeds: int | None = None,
    sampler: str | None = None,
    pruner: str | None = None,
    storage: str | None = None,
    metric: str | None = None,
    output: str | Path | None = None,
    changes: Sequence[Change] = (),
    source: Sequence[str] = (),
    target: str | None = None,
    device: str | None = None,
) -> SweepPlan:
    """The plan of a sweep, with all that is wrong refused. What is not given comes from the key `sweep` of the spec."""
    if find_spec("optuna") is None:
        raise MissingExtra("optuna", "sweep", "a search over settings")
    if device is not None:
        named_device(device)
    base = inferred(what, changes, source=list(source) or None, target=target).spec
    own = base.sweep
    ranges = {**given_ranges(own.vary, "sweep.vary"), **given_ranges(vary)}
    if not ranges:
        raise RegardError(
            "there is nothing to vary.",
            where=what,
            fix="Name a setting and its values: --vary encoder.size=64..512, or write sweep: {vary: {…}} in the spec.",
        )
    fixed = {one.path for one in settings(changes)}
    for path in ranges:
        if path in fixed or path == "training.seed":
            raise RegardError(
                f"{path} is both set and varied." if path in fixed else "the seed is no setting to choose.",
                where=Option("vary"),
                fix="Remove one of the two."
                if path in fixed
                else "To train each setting with several: --seeds 3",
            )
    chosen = sampler or own.sampler, pruner or own.pruner
    check_names(*chosen)
    check_ranges(base, ranges)
    wanted = metric or own.metric or base.training.metric
    if find_metric(named := wanted.rpartition(".")[2]) is None:
        raise unknown_metrics([named], where=Option("metric") if metric else "sweep.metric")
    count, points = trials or own.trials or TRIALS, tuple[Mapping[str, Any], ...]()
    if chosen[0] == GRID:
        points = tuple(grid_points(ranges))
        count = min(count, len(points)) if trials or own.trials else len(points)
    if chosen[1] != PRUNER and wanted not in (base.training.metric, "loss"):
        raise RegardError(
            f"a pruner needs a metric that is computed during training; {wanted} is not.",
            where=Option("metric"),
            fix=f"Use --metric {base.training.metric} or loss, or set training.metric={wanted}.",
        )
    first = base.training.seed
    return SweepPlan(
        what=what,
        changes=tuple(changes),
        ranges=ranges,
        base=base,
        trials=_positive(count, "trials"),
        seeds=tuple(range(first, first + _positive(seeds or own.seeds, "seeds"))),
        metric=wanted,
        output=Path(output or Path("sweeps") / name_of_run(what, base)).expanduser(),
        sampler=chosen[0],
        pruner=chosen[1],
        storage=storage or own.storage,
        source=tuple(source),
        target=target,
        device=device,
        points=points,
    )


def _positive(count: int, option: str) -> int:
    if count < 1:
        raise RegardError(f"expected at least 1, received {count}.", where=Option(option))
    return count


def check_ranges(base: Spec, ranges: Mapping[str, Range]) -> None:
    """Refuse a key that the spec does not have, and a value that is valid in no combination with the other choices."""
    for path, one in ranges.items():
        for value in one.ends():
            _check_value(base, ranges, path, value)


def _check_value(base: Spec, ranges: Mapping[str, Range], path: str, value: Any) -> None:
    change = f"{path}={typed(value)}"
    try:
        base.changed(change)
        return
    except RegardError as error:
        first = error
    others = {other: one for other, one in ranges.items() if other != path and isinstance(one, Choices)}
    choices = ([f"{other}={typed(each)}" for each in one.ends()] for other, one in others.items())
    for combination in islice(product(*choices), MOST_COMBINATIONS if others else 0):
        for numbers in (
            {},
            {other: one.ends()[0] for other, one in ranges.items() if other not in (path, *others)},
        ):
            rest = [f"{other}={typed(each)}" for other, each in numbers.items()]
            if _accepts(base, [*combination, *rest, change]):
                return
    raise RegardError(
        first.what, where=Option("vary", f"{path}={ranges[path].text()}"), fix=Message(first.fix)
    )


def _accepts(base: Spec, changes: Sequence[str]) -> bool:
    try:
        base.changed(*changes)
    except RegardError:
        return False
    return True


def typed(value: Any) -> str:
    """A value as `--set` reads it: YAML 1.1 takes 1e-05 for a text, and 1.0e-05 for a number."""
    if isinstance(value, float):
        text = repr(value)
        mantissa, exponent, power = text.partition("e")
        return f"{mantissa}.0e{power}" if exponent and "." not in mantissa else text
    return flow(value)


def without_sweep(spec: Spec) -> Spec:
    """The spec without its key `sweep`."""
    written = spec.written()
    if "sweep" not in written:
        return spec
    return Spec.parse({key: value for key, value in written.items() if key != "sweep"})
