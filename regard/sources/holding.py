"""Some of the rows to train on set aside for dev, always the same ones."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence

from regard.data import Row
from regard.data.encoding import fingerprint
from regard.errors import RegardError
from regard.spec import Spec

MOST_HELD_OUT = 2000


def hold_out(rows: Iterable[Row], spec: Spec) -> tuple[Iterable[Row], Iterable[Row]]:
    """(train, dev): some of the distinct inputs set aside, all rows of an input, or of a group, on the same side."""
    fields = [part.field or name for name, part in spec.inputs.items()]
    distinct = len({_key(row, fields) for row in rows})
    share = min(spec.data.hold_out, MOST_HELD_OUT / max(distinct, 1))
    bound = max(int(share * 2**64), 1)
    train, dev = (Part(rows, fields, bound, held_out=side) for side in (False, True))
    if distinct < 2 or not any(True for _ in dev) or not any(True for _ in train):
        raise RegardError(
            f"{distinct} distinct inputs are too few to set some aside for dev.",
            where=", ".join(spec.data.train),
            fix="Name a dev file: --set data.dev=FILE",
        )
    return train, dev


class Part(Iterable[Row]):
    """The rows whose input falls on one side; which side depends on nothing but its text, or the group's name."""

    def __init__(self, rows: Iterable[Row], fields: Sequence[str], bound: int, *, held_out: bool) -> None:
        self.rows, self.fields, self.bound, self.held_out = rows, list(fields), bound, held_out

    def __iter__(self) -> Iterator[Row]:
        return (row for row in self.rows if self._mine(row))

    def with_problems(self) -> Iterator[Row]:
        every = self.rows.with_problems() if hasattr(self.rows, "with_problems") else iter(self.rows)
        for row in every:
            # a row that cannot be read has no input to go by: it is reported with the training rows
            if (row.problem is not None and not self.held_out) or (row.problem is None and self._mine(row)):
                yield row

    def fingerprint(self) -> str:
        side = f"{fingerprint(self.rows)} groups or {self.fields} {self.bound} {self.held_out}"
        return hashlib.blake2b(side.encode(), digest_size=16).hexdigest()

    def _mine(self, row: Row) -> bool:
        return (_key(row, self.fields) < self.bound) == self.held_out


def _key(row: Mapping[str, str], fields: Sequence[str]) -> int:
    text = getattr(row, "group", "") or "\0".join(row.get(field, "") for field in fields)
    return int.from_bytes(hashlib.blake2b(text.encode(errors="surrogatepass"), digest_size=8).digest())
