"""Trees: a head, and a relation to it, for each piece of a text."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar, Literal

import numpy as np
import torch

from regard.data.batch import UNSEEN, Trees
from regard.data.columns.classed import ClassedColumn
from regard.data.columns.column import Column
from regard.data.columns.label import unseen_remark
from regard.data.columns.projectivity import crossing, fault, projectivize
from regard.data.columns.tags import check_of
from regard.data.ragged import Array, Ragged
from regard.errors import RegardError
from regard.parts import Mistakes, Plan, register

Nonprojective = Literal["keep", "lift", "refuse"]

_ARC = re.compile(r"(\d{1,9})(?::(\S+))?", re.ASCII)


@register("column", "tree")
class TreeColumn(ClassedColumn):
    """Arcs such as "2:nsubj 0:root 2:obj": for each piece of the column `of`, its head and, after a colon, the
    relation.

    Heads are counted from 1; 0 is the root symbol. Relations are optional: all arcs have one, or none has. The encoding
    is flat: h₁ r₁ h₂ r₂ …; relations are numbered from 0 in sorted order, and −1 is one that the training data lack.

    single_root     whether exactly one word must be attached to the root symbol
    nonprojective   whether trees with crossing arcs are kept, lifted until they are projective, or refused
    output          whether it is a predicted output; relations that the training data lack are then errors
    """

    class Options(Column.Options):
        """A head for each token of another column: `2:nsubj 0:root`, heads counted from 1, 0 for the root symbol."""

        of: str
        """The input whose tokens receive heads."""
        single_root: bool = True
        """Exactly one word is attached to the root symbol; false: at least one."""

    type = "tree"
    classed = True
    has_remark = True
    roles: ClassVar[tuple[str, ...]] = ("inputs", "outputs", "truth")
    usual: ClassVar[tuple[str, ...]] = ("uas", "las")
    decoder = "tree"

    @classmethod
    def build(cls, options: Any, name: str, plan: Plan, asked: Mapping[str, Any]) -> Column:
        return cls(name, **dict(options), **asked, output=name in plan.outputs)

    @classmethod
    def describe(cls, options: Any, name: str) -> str:
        return f"{name}: a head for each token of {options.of}"

    @classmethod
    def check_options(cls, options: Any, name: str, plan: Plan, mistakes: Mistakes) -> None:
        check_of(options.of, plan, mistakes)

    def __init__(
        self,
        name: str,
        *,
        of: str,
        field: str | None = None,
        single_root: bool = True,
        nonprojective: Nonprojective = "keep",
        output: bool = False,
    ) -> None:
        super().__init__(name, of=of, field=field)
        self.single_root, self.nonprojective, self.output = single_root, nonprojective, output

    def classes_in(self, value: str) -> Iterable[str]:
        """The relations; empty if the arcs have none."""
        return (relation for arc in value.split() if (relation := arc.partition(":")[2]))

    def check_value(self, value: str | None) -> str | None:
        reason = super().check_value(value)
        if reason or value is None:
            return reason
        for arc in value.split():
            found = _ARC.fullmatch(arc)
            if found is None:
                return f"has {arc!r}, expected head:relation such as 2:nsubj"
            if found[2] is None and self.classes:
                return f"has {arc!r} without a relation, expected one such as {arc}:{self.classes[0]}"
        return None

    def check_encoded(self, encoded: Array) -> str | None:
        heads = encoded[::2].tolist()
        reason = fault(heads, single_root=self.single_root)
        if reason is None and self.nonprojective == "refuse" and (pair := crossing(heads)):
            return f"is not projective: the arcs to words {pair[0]} and {pair[1]} cross"
        return reason

    def check_beside(self, encoded: Array, beside: Mapping[str, Array]) -> str | None:
        found, expected = len(encoded) // 2, len(beside[self.of[0]])
        return None if found == expected else f"has {found} heads for {expected} tokens of {self.of[0]}"

    def encode(self, value: str) -> Array:
        heads, relations = [], []
        for arc in value.split():
            found = _ARC.fullmatch(arc)
            if found is None:
                raise RegardError(
                    f"received {arc!r}, expected head:relation such as 2:nsubj.", where=self.name
                )
            heads.append(int(found[1]))
            relations.append(self._numbers.get(found[2] or "", UNSEEN if self.classes else 0))
        if self.nonprojective == "lift" and fault(heads, single_root=self.single_root) is None:
            heads = projectivize(heads)
        return np.array([heads, relations], dtype=np.int32).T.reshape(-1)

    def unseen(self, value: str) -> list[str]:
        """The relations that the training data lack; empty if the trees are not outputs or have no relations."""
        if not self.output or not self.classes:
            return []
        return [relation for relation in self.classes_in(value) if relation not in self._numbers]

    def reference(self, value: str) -> list[str]:
        """The arcs."""
        return value.split()

    def tokens(self, value: str | Sequence[int]) -> list[str]:
        if isinstance(value, str):
            return value.split()
        return [self._arc(int(head), int(relation)) for head, relation in np.reshape(value, (-1, 2))]

    def _arc(self, head: int, relation: int) -> str:
        if not self.classes:
            return str(head)
        return f"{head}:{'_' if relation == UNSEEN else self.classes[relation]}"

    def cost(self, encoded: Array) -> int:
        """Number of words."""
        return len(encoded) // 2

    def remark(self, rows: Iterable[tuple[str, Array]]) -> str | None:
        """The number of non-projective trees and how they were treated; the number of relations the training data
        lack."""
        trees = arcs = total = words = 0
        unseen: Counter[str] = Counter()
        for text, encoded in rows:
            given = [int(arc.partition(":")[0]) for arc in text.split()]
            total, words = total + 1, words + len(given)
            unseen.update(self.unseen(text))
            lifted = sum(a != b for a, b in zip(given, encoded[::2].tolist(), strict=True))
            arcs += lifted
            trees += lifted > 0 if self.nonprojective == "lift" else crossing(given) is not None
        done = f" ({arcs:,} arcs lifted)" if arcs else ""
        remarks = [
            f"{trees:,} of {total:,} trees are not projective{done}" if trees else None,
            unseen_remark(unseen, f"{words:,} words", "relation", "relations"),
        ]
        return "; ".join(remark for remark in remarks if remark) or None

    def collate(self, encoded: Sequence[Array] | Ragged, beside: Mapping[str, Any] | None = None) -> Trees:
        """heads (B, N), relations (B, N), lengths (B,)"""
        rows = Ragged.of(encoded)
        pairs = torch.from_numpy(rows.padded())  # (B, 2N)
        return Trees(
            pairs[:, ::2].contiguous(), pairs[:, 1::2].contiguous(), torch.from_numpy(rows.lengths // 2)
        )

    def options(self) -> dict[str, Any]:
        return {
            "field": self.field,
            "of": self.of[0],
            "single_root": self.single_root,
            "nonprojective": self.nonprojective,
            "output": self.output,
        }
