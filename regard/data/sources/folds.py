"""Folds: the training rows cut into k parts, of which one is the test part of a run."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

from regard.data import Row
from regard.data.readers.row import SomeRows, all_rows, fingerprint
from regard.data.sources.hold_out import key_of
from regard.errors import Option, RegardError
from regard.parts import is_stream
from regard.spec import Spec
from regard.spec.sections import FoldOptions


def fold_rows(rows: Iterable[Row], spec: Spec) -> tuple[FoldPart, FoldPart]:
    """(the other folds, the fold of `data.fold`). All rows of an input, or of a group, are in the same fold, and every
    fold has about the same number of rows of each label."""
    wanted = spec.data.fold
    assert wanted is not None
    if is_stream(spec):
        raise RegardError(
            "a running text has no rows to cut into folds.", where="data.fold", fix="Leave it out."
        )
    folds = deal(_keys(rows, spec), wanted)
    if len(folds) < wanted.of:
        raise RegardError(
            f"{len(folds)} distinct inputs or groups are too few for {wanted.of} folds.",
            where=", ".join(spec.data.train) or "data",
            fix=f"Use at most {len(folds)} folds." if len(folds) > 1 else "Add rows.",
        )
    return tuple(FoldPart(rows, spec, folds, inside=inside) for inside in (False, True))  # type: ignore[return-value]


def deal(keys: Mapping[int, Counter[str]], wanted: FoldOptions) -> dict[int, int]:
    """{key: its fold, from 1}. Large groups come first, then by a hash with the seed; each goes to the fold that has
    the fewest rows of its labels, and among those to the one with the fewest rows."""
    counts = [Counter[str]() for _ in range(wanted.of)]
    sizes = [0] * wanted.of
    found = {}
    for key in sorted(keys, key=lambda one: (-keys[one].total(), _shuffled(one, wanted.seed))):
        labels = keys[key]
        fold = min(
            range(wanted.of), key=lambda one: (sum(counts[one][label] for label in labels), sizes[one])
        )
        counts[fold].update(labels)
        sizes[fold] += labels.total()
        found[key] = fold + 1
    return found


def _shuffled(key: int, seed: int) -> bytes:
    return hashlib.blake2b(f"{seed} {key}".encode(), digest_size=8).digest()


def _keys(rows: Iterable[Row], spec: Spec) -> dict[int, Counter[str]]:
    """{key of an input or a group: the number of its rows of each label}"""
    labels = [
        options.field or name
        for name, options in spec.outputs.items()
        if options.part.scalar and options.part.classed
    ]
    found: dict[int, Counter[str]] = {}
    for row in rows:
        label = "\0".join(row.get(field, "").strip() for field in labels)
        found.setdefault(key_of(row, spec), Counter())[label] += 1
    return found


class FoldPart(SomeRows):
    """The rows of one fold, or those of all others."""

    def __init__(self, rows: Iterable[Row], spec: Spec, folds: Mapping[int, int], *, inside: bool) -> None:
        assert spec.data.fold is not None
        self.rows, self.spec, self.folds, self.inside = rows, spec, folds, inside
        self.fold = spec.data.fold

    def __iter__(self) -> Iterator[Row]:
        return (row for row in self.rows if self._mine(row))

    def with_problems(self) -> Iterator[Row]:
        for row in all_rows(self.rows):
            # An unreadable row has no input: it is reported with the training rows.
            if (row.problem is not None and not self.inside) or (row.problem is None and self._mine(row)):
                yield row

    def fingerprint(self) -> str:
        part = f"{fingerprint(self.rows)} {self.fold} {self.inside} {self.spec.data.group}"
        return hashlib.blake2b(part.encode(), digest_size=16).hexdigest()

    def _mine(self, row: Row) -> bool:
        return (self.folds.get(key_of(row, self.spec)) == self.fold.number) == self.inside


def check_folds(count: int) -> int:
    """The number of folds, refused if it is less than 2."""
    if count < 2:
        raise RegardError(
            f"expected at least 2 folds, received {count}.", where=Option("folds"), fix="5 and 10 are usual."
        )
    return count
