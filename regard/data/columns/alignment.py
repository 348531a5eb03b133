"""True alignments: the source pieces that each target piece was made from."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor

from regard.data.columns.column import Column
from regard.data.columns.document import BREAK
from regard.data.ragged import Array, Ragged
from regard.data.readers.row import LISTED
from regard.errors import RegardError
from regard.parts import Mistakes, Plan, nearest, register

_LINK = re.compile(r"(\d{1,9})-(\d{1,9})", re.ASCII)


@register("column", "alignment")
class AlignmentColumn(Column):
    """Links in the Pharaoh format "0-0 1-2": source position, dash, target position, both counted from 0.

    Positions count the encoded pieces of the two columns in `of` (source, target). A text without links is allowed. The
    encoding is flat: s₁ t₁ s₂ t₂ …
    """

    class Options(Column.Options):
        """The source tokens that each target token was made from: `0-0 1-2`, source-target, counted from 0."""

        of: tuple[str, str] | None = None
        """The input and the output that are aligned; default: the only input and the only output."""

    type = "alignment"
    roles: ClassVar[tuple[str, ...]] = ("truth",)

    @classmethod
    def build(cls, options: Any, name: str, plan: Plan, asked: Mapping[str, Any]) -> Column:
        return cls(name, of=cls.between(options, plan) or (), field=options.field)

    @classmethod
    def describe(cls, options: Any, name: str) -> str:
        return f"{name}: which source token each target token comes from"

    @classmethod
    def between(cls, options: Any, plan: Plan) -> tuple[str, str] | None:
        return options.of or (next(iter(plan.inputs)), next(iter(plan.outputs)))

    @classmethod
    def check_options(cls, options: Any, name: str, plan: Plan, mistakes: Mistakes) -> None:
        if options.of is None:
            if len(plan.inputs) > 1 or len(plan.outputs) > 1:
                mistakes.add(
                    "of must name one input and one output: there are several.",
                    "of",
                    fix="Write  of: [INPUT, OUTPUT].",
                )
            return
        for kind, one, known in (
            ("input", options.of[0], list(plan.inputs)),
            ("output", options.of[1], list(plan.outputs)),
        ):
            if one not in known:
                mistakes.add(f"no {kind} is named {one!r}.", "of", fix=nearest(one, known))

    def __init__(self, name: str, *, of: Sequence[str], field: str | None = None) -> None:
        super().__init__(name, field=field, of=of)
        if len(self.of) != 2:
            raise RegardError(
                f"of names {len(self.of)} columns, expected two: source and target.", where=name
            )

    def learn(self, values: Iterable[str]) -> None:
        """Nothing to learn."""

    def check_value(self, value: str | None) -> str | None:
        if value is None or LISTED in value:
            return super().check_value(value)
        wrong = next((link for link in value.split() if not _LINK.fullmatch(link)), None)
        return None if wrong is None else f"has {wrong!r}, expected source-target positions such as 0-0 1-2"

    def check_beside(self, encoded: Array, beside: Mapping[str, Array]) -> str | None:
        links = encoded.reshape(-1, 2)  # (links, 2)
        for side, name in enumerate(self.of):
            length = _encoded_positions(beside[name])
            if len(links) and int(links[:, side].max()) >= length:
                source, target = links[int(links[:, side].argmax())]
                return f"has the link {source}-{target}, but {name} has {length} tokens (0 to {length - 1})"
        return None

    def encode(self, value: str) -> Array:
        reason = self.check_value(value)
        if reason:
            raise RegardError(f"the alignment {reason}.", where=self.name)
        places = [int(place) for link in value.split() for place in link.split("-")]
        return np.array(places, dtype=np.int32)

    def decode(self, ids: Sequence[int]) -> str:
        return " ".join(f"{source}-{target}" for source, target in np.reshape(ids, (-1, 2)))

    def tokens(self, value: str | Sequence[int]) -> list[str]:
        return (value if isinstance(value, str) else self.decode(value)).split()

    def cost(self, encoded: Array) -> int:
        """0: its size follows from those of the two texts."""
        return 0

    def collate(self, encoded: Sequence[Array] | Ragged, beside: Mapping[str, Any] | None = None) -> Tensor:
        """(B, T, S) float; row t is uniform over the source positions linked to t, or zero if there are none."""
        rows = Ragged.of(encoded)
        links = rows.values.astype(np.int64).reshape(-1, 2)  # (links, 2)
        example = np.repeat(np.arange(len(rows)), rows.lengths // 2)  # (links,)
        if beside is None:
            sources, targets = (int(links[:, side].max(initial=-1)) + 1 for side in (0, 1))
        else:
            sources, targets = (_positions(beside[name]) for name in self.of)
        table = np.zeros((len(rows), targets, sources), dtype=np.float32)
        table[example, links[:, 1], links[:, 0]] = 1.0
        table /= np.maximum(table.sum(axis=2, keepdims=True), 1.0)
        return torch.from_numpy(table)

    def options(self) -> dict[str, Any]:
        return {"field": self.field, "of": list(self.of)}


def _encoded_positions(encoded: Array) -> int:
    """Number of positions of a row: its cells or nodes, if it consists of such, or else its units."""
    values = np.reshape(encoded, -1)
    ended = len(values) > 0 and values[-1] == BREAK
    return int(np.count_nonzero(values == BREAK)) if ended else len(values)


def _positions(collated: Any) -> int:
    """Number of positions of the longest row of a batch; 1 for a value that is not a sequence (label, number)."""
    found = getattr(collated, "ids", None)
    found = getattr(collated, "mask", None) if found is None else found
    return 1 if found is None else int(found.shape[1])
