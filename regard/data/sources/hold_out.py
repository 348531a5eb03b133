"""Hold out a fixed part of the training rows for dev."""

from __future__ import annotations

import hashlib
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from typing import TYPE_CHECKING

import numpy as np

from regard.data import Row
from regard.data.known import known
from regard.data.readers.row import (
    RowSource,
    SomeRows,
    all_rows,
    blocks_of,
    fingerprint,
    remarks_of,
    sources_of,
)
from regard.errors import FILE, Message, Placeholder, RegardError, Setting, Words
from regard.spec import Spec

if TYPE_CHECKING:
    from regard.data.blocks.block import RowBlock

MOST_HELD_OUT = 2000
FEWEST = 10
"""Fewest distinct inputs of which at least one is held out."""


def hold_out(rows: Iterable[Row], spec: Spec) -> tuple[Iterable[Row], Iterable[Row]]:
    """(train, dev), by distinct inputs: all rows of an input, or of a group, are on the same side."""
    fields = [part.field or name for name, part in spec.inputs.items()]
    group = None if spec.data.group == "none" else spec.data.group
    blocks = None if group else blocks_of(rows, problems=False)
    if blocks is not None and isinstance(rows, RowSource):
        question = ["hold out", fields, spec.data.hold_out]
        distinct, bound, held_out = known(
            rows, question, lambda: _divided(_keys_of(blocks, fields), None, spec)
        )
    else:
        distinct, bound, held_out = _divided(_keys(rows, fields, group, spec), group, spec)
    ungrouped = Setting("data.group", "none")
    train, dev = (Part(rows, fields, bound, held_out=side, group=group) for side in (False, True))
    if distinct < 2 or not any(True for _ in dev) or not any(True for _ in train):
        what = f"values of {group}" if group else "inputs"
        raise RegardError(
            f"{distinct} distinct {what} are too few to set some aside for dev.",
            where=", ".join(spec.data.train),
            fix=Message(
                "Name a dev file: ", Setting("data.dev", FILE), *((", or  ", ungrouped) if group else ())
            ),
        )
    if group:
        dev.remark = Message(
            f"rows with the same {group} stay together: {held_out:,} of {distinct:,} are held "
            "out as dev. To change that: ",
            Setting("data.group", Placeholder("FIELD")),
            ", or ",
            ungrouped,
        )
    return train, dev


def _keys(rows: Iterable[Row], fields: Sequence[str], group: str | None, spec: Spec) -> array[int]:
    """The number of each row's input, or of its group."""
    numbers, present = array("Q"), set[str]()
    wanted = {*fields, *([group] if group else [])}
    for row in rows:
        numbers.append(_key(row, fields, group))
        if len(present) < len(wanted):
            present |= wanted & row.keys()
    if numbers:
        check_present(fields, present, rows, spec)
    if numbers and group and group not in present:
        raise RegardError(
            f"no row has the field {group!r}.",
            where="data.group",
            fix="Correct the name, or use  data.group: none.",
        )
    return numbers


def _keys_of(blocks: Iterable[RowBlock], fields: Sequence[str]) -> array[int]:
    numbers = array("Q")
    for block in blocks:
        numbers.frombytes(block.keys(fields).tobytes())
        numbers.extend(_key(row, fields) for _, row in block.odd)
    return numbers


def _divided(numbers: array[int], group: str | None, spec: Spec) -> tuple[int, int, int]:
    """How many inputs or groups are distinct, below which number they are held out, and how many those are."""
    keys = np.unique(np.asarray(numbers))  # sorted
    distinct = len(keys)
    if not distinct:
        raise RegardError(
            "the data have no rows.", where=", ".join(spec.data.train), fix="Check the file, and its format."
        )
    share = min(spec.data.hold_out, MOST_HELD_OUT / distinct)
    bound = max(int(share * 2**64), 1)
    if group or (distinct >= FEWEST and bound <= int(keys[0])):
        # Groups are few and large, and few inputs may all be above the bound: hold out as many as the share says.
        count = min(max(round(share * distinct), 1), distinct - 1)
        bound = int(keys[count]) if count else bound
    return distinct, bound, int(np.searchsorted(keys, np.uint64(min(bound, 2**64 - 1))))


def check_present(fields: Sequence[str], present: Set[str], rows: Iterable[Row], spec: Spec) -> None:
    """Refuse data in which no row has a field that the model reads."""
    lacking = [field for field in fields if field not in present]
    if not lacking:
        return
    known = list(dict.fromkeys(field.name for source in sources_of(rows) for field in source.found()))
    raise RegardError(
        f"no row has the field {lacking[0]!r}.",
        where=", ".join(spec.data.train),
        fix=f"The rows have {', '.join(known)}. Set the column's `field` to one of them."
        if known
        else "Correct the name, or set the column's `field`.",
    )


class Part(SomeRows):
    """The rows on one side of the split. The text of the input, or the name of the group, determines the side."""

    def __init__(
        self,
        rows: Iterable[Row],
        fields: Sequence[str],
        bound: int,
        *,
        held_out: bool,
        group: str | None = None,
    ) -> None:
        self.rows, self.fields, self.bound, self.held_out = rows, list(fields), bound, held_out
        self.group = group
        self.remark: Words = ""

    def remarks(self) -> list[Words]:
        """Remarks on how the rows are read and divided."""
        return [*remarks_of(self.rows), *([self.remark] if self.remark else [])]

    def __iter__(self) -> Iterator[Row]:
        return (row for row in self.rows if self._mine(row))

    def with_problems(self) -> Iterator[Row]:
        return filter(self._mine_or_bad, all_rows(self.rows))

    def blocks(self, *, problems: bool) -> Iterator[RowBlock] | None:
        made = None if self.group else blocks_of(self.rows, problems=problems)
        return None if made is None else map(self._part_of, made)

    def _part_of(self, block: RowBlock) -> RowBlock:
        keys = block.keys(self.fields)
        odd = [(place, row) for place, row in block.odd if self._mine_or_bad(row)]
        # Integers beyond 64 bits are compared as such: a bound of 2**64 holds out everything.
        mine = keys <= np.uint64(self.bound - 1) if self.bound <= 2**64 else np.ones(len(keys), bool)
        return block.some(mine == self.held_out, odd)

    def _mine_or_bad(self, row: Row) -> bool:
        # An unreadable row has no input: it is reported with the training rows.
        return not self.held_out if row.problem is not None else self._mine(row)

    def fingerprint(self) -> str:
        named = f" by {self.group}" if self.group else ""
        side = f"{fingerprint(self.rows)} groups or {self.fields} {self.bound} {self.held_out}{named}"
        return hashlib.blake2b(side.encode(), digest_size=16).hexdigest()

    def _mine(self, row: Row) -> bool:
        return (_key(row, self.fields, self.group) < self.bound) == self.held_out


def _key(row: Mapping[str, str], fields: Sequence[str], group: str | None = None) -> int:
    named = row.get(group, "").strip() if group else ""
    text = named or getattr(row, "group", "") or "\0".join(row.get(field, "") for field in fields)
    return int.from_bytes(hashlib.blake2b(text.encode(errors="surrogatepass"), digest_size=8).digest())


def key_of(row: Row, spec: Spec) -> int:
    """The number of the input of a row, or of its group: equal ones stay on one side of a split."""
    fields = [part.field or name for name, part in spec.inputs.items()]
    return _key(row, fields, None if spec.data.group == "none" else spec.data.group)
