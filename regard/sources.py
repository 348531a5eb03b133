"""DataSpec → the rows of each split: files, a generated world, or a data package."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence

from regard.data import Row, read_rows
from regard.data.encoding import fingerprint
from regard.data.filtered import FilteredRows
from regard.errors import RegardError
from regard.spec import Spec

Splits = dict[str, Iterable[Row]]
MOST_HELD_OUT = 2000


def open_splits(spec: Spec) -> Splits:
    """`train`, and where there are such `dev`, `test` and others; each can be read many times."""
    data = spec.data
    if data.world:
        from regard.data.worlds import world

        return dict(world(data.world, **data.options).splits())
    if data.package:
        from regard.data.packages import package

        return dict(package(data.package, **data.options).splits())
    if not data.train:
        raise RegardError("no data to train on.", where="data.train", fix="--set data.train=FILE")
    splits: Splits = {"train": open_split(spec, "train", data.train)}
    for name, files in (("dev", data.dev), ("test", data.test)):
        if files:
            splits[name] = open_split(spec, name, files)
    if "dev" not in splits:
        splits["train"], splits["dev"] = hold_out(splits["train"], spec)
    return splits


def open_split(spec: Spec, split: str, files: Sequence[str]) -> Iterable[Row]:
    """The rows of a split: all those of its files, or those that `data.where` asks for."""
    wanted = spec.data.where.get(split)
    if not wanted:
        return open_files(spec, files, split=split)
    return FilteredRows(open_files(spec, files, extra=list(wanted), split=split), wanted)


def open_files(
    spec: Spec, files: Sequence[str], *, extra: Sequence[str] = (), split: str | None = None
) -> Iterable[Row]:
    """The rows of some files, with the fields this spec reads and some more; their pictures are those of a split."""
    data, fields = spec.data, list(dict.fromkeys([*file_fields(spec), *extra]))
    return read_rows(
        list(files),
        fields=fields,
        format=data.format,
        bad_rows=data.bad_rows,
        images=data.images_of(split),
    )


def file_fields(spec: Spec) -> list[str]:
    """The fields in the order of the cells of a file without a header."""
    if spec.data.fields:
        return list(spec.data.fields)
    parts = {**spec.inputs, **spec.outputs, **spec.truth}
    return list(dict.fromkeys(part.field or name for name, part in parts.items()))


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
