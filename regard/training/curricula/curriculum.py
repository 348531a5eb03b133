"""A curriculum: the share of each level of difficulty among the rows of an epoch (Zaremba and Sutskever 2014).

An epoch has as many rows as the data. Their number in each stage depends on the epoch, and every row of a
stage is drawn once before any row is drawn again. Seed and epoch determine all draws, so a resumed run
continues identically.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Annotated, Any

import numpy as np
from pydantic import Field, field_validator

from regard.data.dataset import Dataset
from regard.data.ragged import Array
from regard.errors import RegardError
from regard.parts import Count, Mistakes, Plan, nearest
from regard.parts import Options as PartOptions
from regard.parts.contract import base, optional, required


@base("curriculum", gives=("options", "stages", "epochs"), maker="__new__")
class Curriculum(ABC):
    """Stages from easy to hard: one for each level, or fewer if `stages` says so.

    members   the examples of each stage
    epochs    of the whole run; None if the run is limited by updates only
    """

    class Options(PartOptions):
        by: tuple[str, ...] | None = None
        """The level of a row: columns of type group with whole numbers, or inputs, whose length is the level.
        With several, the last one rises last. Default: all columns of type group."""
        stages: Annotated[int, Field(ge=2)] | None = None
        """Join neighboring levels into this many stages of similar size. Default: one stage per level."""

        @field_validator("by", mode="before")
        @classmethod
        def _one_or_many(cls, value: Any) -> Any:
            return (value,) if isinstance(value, str) else value

    class RisingOptions(Options):
        """Options of a curriculum whose level rises."""

        until: Annotated[float, Field(gt=0.0, le=1.0)] = 0.8
        """The share of the epochs over which the level rises."""

    def __init__(self, options: Any, stages: Array, epochs: int | None) -> None:
        """stages (examples,): the stage of each example, from 0, without gaps"""
        self.options, self.epochs = options, epochs
        self.members = [np.flatnonzero(stages == stage) for stage in range(int(stages.max()) + 1)]

    @classmethod
    @optional("when a spec is checked")
    def check(cls, options: Any, plan: Plan, mistakes: Mistakes) -> None:
        """Report mistakes in the options of this curriculum."""
        groups = _groups(plan)
        known = [*groups, *plan.inputs]
        for name in options.by or ():
            if name not in known:
                mistakes.add(
                    f"{name!r} is neither an input nor a column of type group.",
                    "by",
                    fix=nearest(name, known) or f"Add  truth: {{{name}: {{type: group}}}}.",
                )
        if options.by is None and not groups:
            mistakes.add(
                "the curriculum needs a difficulty of each row.",
                "by",
                fix=f"Write  by: {next(iter(plan.inputs))}  for the length of this input, or add a column of levels: "
                "truth: {level: {type: group}}.",
            )

    @classmethod
    @optional("by `regard describe`")
    def described(cls, options: Any) -> str:
        """The text that `regard describe` writes after the batches."""
        by = "" if options.by is None else f" by {', '.join(options.by)}"
        return f", curriculum {options.type}{by}"

    @abstractmethod
    @required("before every epoch")
    def shares(self, epoch: int) -> Array:
        """(stages,): the share of each stage in the rows of an epoch (from 0); they sum to 1."""

    def draw(self, epoch: int, generator: np.random.Generator) -> Array:
        """(examples,): the examples of an epoch, in random order."""
        total = sum(map(len, self.members))
        shares = np.asarray(self.shares(epoch), dtype=np.float64)
        if shares.shape != (len(self.members),) or not (shares >= 0).all() or abs(shares.sum() - 1) > 1e-6:
            raise RegardError(
                f"the curriculum {self.options.type}: shares({epoch}) returned {shares.tolist()}, expected "
                f"{len(self.members)} numbers of 0 or more that sum to 1, one for each stage."
            )
        counts = generator.multinomial(total, shares)
        drawn = [
            np.resize(generator.permutation(examples), count)
            for examples, count in zip(self.members, counts, strict=True)
            if count
        ]
        return generator.permutation(np.concatenate(drawn))

    def only(self, stage: int) -> Array:
        """All rows of one stage."""
        shares: Array = np.eye(len(self.members))[stage]
        return shares

    def equal(self) -> Array:
        """Equally many rows of each stage."""
        return np.full(len(self.members), 1.0 / len(self.members))


class RisingCurriculum(Curriculum):
    """One stage after the other, each for the same number of epochs, and the last one until the end.

    The paper advances when dev stops improving. Here the epoch decides, so that a resumed run needs no record
    of it. If there are more stages than epochs in which to rise, some stages are skipped.
    """

    class Options(Curriculum.RisingOptions):
        """A level that rises."""

    @classmethod
    def check(cls, options: Any, plan: Plan, mistakes: Mistakes) -> None:
        super().check(options, plan, mistakes)
        training = getattr(plan, "training", None)
        if training is not None and training.passes is None:
            mistakes.add(
                "the level rises with the epochs, and the number of epochs is not known.",
                fix="Give training.epochs instead of training.steps, or both.",
            )

    def stage(self, epoch: int) -> int:
        rising = max(self.options.until * (self.epochs or 1), 1e-9)
        last = len(self.members) - 1
        return min(int(epoch / rising * len(self.members)), last)


def make_curriculum(options: Any, dataset: Dataset, plan: Plan, epochs: int | None) -> Curriculum:
    """The curriculum of some options, over the examples of a dataset."""
    names = options.by or tuple(_groups(plan))
    levels = np.stack([_levels(dataset, name, plan) for name in names], 1)
    # the last name rises last, so it is the first sort key
    different, ranks = np.unique(levels[:, ::-1], axis=0, return_inverse=True)
    if len(different) < 2:
        raise RegardError(
            f"a curriculum has no effect: all rows of train have the same level ({', '.join(names)}: "
            f"{', '.join(map(str, levels[0].tolist()))}).",
            where="training.curriculum",
            fix="Remove training.curriculum, or use data of several levels.",
        )
    made: Curriculum = options.part(options, _joined(ranks.reshape(-1), options.stages), epochs)
    return made


def _groups(plan: Plan) -> list[str]:
    return [name for name, column in plan.truth.items() if column.part.can_be("group")]


def _levels(dataset: Dataset, name: str, plan: Plan) -> Array:
    """(examples,) int64"""
    if name in plan.inputs:
        return dataset.lengths(name).astype(np.int64)
    found = []
    for example in range(len(dataset)):
        value = dataset.text(example, name)
        try:
            found.append(int(value))
        except ValueError:
            raise RegardError(
                f"{name} is {value!r}, expected a whole number: the level of the row.",
                where=dataset.where(example),
                fix="Correct the row, or choose other columns with training.curriculum.by.",
            ) from None
    return np.array(found, dtype=np.int64)


def _joined(ranks: Array, stages: Count | None) -> Array:
    """Ranks from 0 without gaps, with neighbors joined into stages of about the same number of examples."""
    if stages is None:
        return ranks
    counts = np.bincount(ranks)
    middle = np.cumsum(counts) - counts / 2  # midpoint of each rank among the sorted examples
    stage = (middle / len(ranks) * stages).astype(np.int64)
    return np.unique(stage, return_inverse=True)[1].reshape(-1)[ranks]
