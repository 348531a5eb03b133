"""Hold out the end of a continuous text for dev and test."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator

from regard.data import Row
from regard.data.readers.row import SomeRows, fingerprint, remarks_of
from regard.errors import FILE, Message, RegardError, Setting, Together, Words
from regard.spec import Spec


def parted(rows: Iterable[Row], spec: Spec) -> dict[str, Iterable[Row]]:
    """train and, unless the data name them, dev and test: shares of `hold_out` at the end of the text, test last.

    If a dev is named, nothing is held out.
    """
    data = spec.data
    if data.dev:
        return {"train": rows}
    dev = Setting("data.dev", FILE)
    names = ["train", "dev", *([] if data.test else ["test"])]
    (field,) = [part.field or name for name, part in spec.outputs.items()]
    shares = [1 - data.hold_out * (len(names) - 1 - place) for place in range(len(names))]
    total, lines = _size(rows, field)
    ends = [*_cuts(rows, field, [int(share * total) for share in shares[:-1]], total), total]
    starts = [0, *ends[:-1]]
    if any(end <= start for start, end in zip(starts, ends, strict=True)):
        counted = f"{lines:,} line{'s' * (lines != 1)} of {total:,} characters"
        raise RegardError(
            f"the text has {counted}: too few to set some aside for {' and '.join(names[1:])}.",
            where=", ".join(data.train),
            fix=Message(
                "Use a longer text, or name other files: ", Together(dev, Setting("data.test", FILE))
            ),
        )
    told = ", ".join(
        f"{name} {100 * (end - start) / total:.3g} %"
        for name, start, end in zip(names, starts, ends, strict=True)
    )
    change = (dev, " or ", Setting("data.hold_out", 0.1))
    remark = Message(f"the text is split in this order: {told}. To change that: ", *change)
    return {
        name: StreamPart(rows, field, start, end, remark)
        for name, start, end in zip(names, starts, ends, strict=True)
    }


def _size(rows: Iterable[Row], field: str) -> tuple[int, int]:
    """Number of characters and lines."""
    total = lines = 0
    ended = True
    for row in rows:
        text = row[field]
        total, lines, ended = total + len(text), lines + text.count("\n"), text.endswith("\n")
    return total, lines + (not ended)


def _cuts(rows: Iterable[Row], field: str, places: list[int], total: int) -> list[int]:
    """For each position, where to cut the text: after the line there, or after the word if the line leaves no part
    before the next cut, or else at the position itself."""
    found, position, wanted = [], 0, [*places, total]
    for row in rows:
        text = row[field]
        while len(wanted) > 1 and wanted[0] < position + len(text):
            place = wanted.pop(0) - position
            last = min(wanted[0] - position, len(text)) - 1  # leaves something before the next cut
            ends = (text.find(sign, place, last) + 1 for sign in ("\n", " "))
            found.append(position + next((end for end in ends if end), place))
        position += len(text)
        if len(wanted) == 1:
            break
    return found + [position] * (len(wanted) - 1)


class StreamPart(SomeRows):
    """The characters of a text between two positions, as rows."""

    def __init__(self, rows: Iterable[Row], field: str, start: int, end: int, remark: Words) -> None:
        self.rows, self.field, self.start, self.end, self.remark = rows, field, start, end, remark

    def __iter__(self) -> Iterator[Row]:
        position = 0
        for row in self.rows:
            text = row[self.field]
            low, high = max(self.start - position, 0), min(self.end - position, len(text))
            if high <= 0:
                return
            if low < high:
                line = row.line + text.count("\n", 0, low)
                yield Row({self.field: text[low:high]}, file=row.file, line=line)
            position += len(text)

    def with_problems(self) -> Iterator[Row]:
        return iter(self)

    def fingerprint(self) -> str:
        part = f"{fingerprint(self.rows)} {self.start} {self.end}"
        return hashlib.blake2b(part.encode(), digest_size=16).hexdigest()

    def remarks(self) -> list[Words]:
        return [*remarks_of(self.rows), self.remark]
