"""What the processes of a job share: its settings, and how a file is read in parts and a part is answered."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from regard.errors import RegardError
from regard.shards.files import Shard, ShardSource
from regard.shards.predictor import BatchPredictor
from regard.shards.reading import InputRow, content_digest, input_rows
from regard.shards.writing import rejected_lines, written

PART_ROWS = 8192
"""Rows of a part: eight windows of the predictor, so that its batches are those of `regard predict`."""


class FileStart(NamedTuple):
    """A file was opened; its content has this digest."""

    file: int
    digest: str


class PartRows(NamedTuple):
    """Some rows of a file in order; `first` is the number of the first, from 1."""

    file: int
    number: int
    first: int
    rows: list[InputRow]


class PartAnswers(NamedTuple):
    """The answers to a part as the bytes of a file, and its rejected rows."""

    file: int
    number: int
    rows: int
    content: bytes
    rejected: bytes


class FileEnd(NamedTuple):
    """A file was read to its end."""

    file: int
    rows: int
    parts: int


Event = FileStart | PartAnswers | FileEnd
"""What an engine gives back, for the folder of the output to keep."""


class FileWork(NamedTuple):
    """What is left to do of a file: all parts of the shard but these; `digest` is that of its content, if known."""

    file: int
    digest: str
    finished: frozenset[int]


@dataclass(frozen=True)
class ShardJob:
    """A model, the files to answer, and how.

    run         the folder of the model
    files       all files of the job, in order, also those of other shards
    shard       the share of this process
    part_rows   rows of a part
    format      of the output: jsonl, tsv or parquet
    others as in `BatchPredictor`
    """

    run: str
    files: tuple[ShardSource, ...]
    shard: Shard
    part_rows: int = PART_ROWS
    format: str = "jsonl"
    output: str | None = None
    trace: bool = False
    n_best: int = 1
    ensemble: tuple[str, ...] = ()
    overrides: tuple[str, ...] = ()
    device: str | None = None
    threads: int | None = None

    @cached_property
    def predictor(self) -> BatchPredictor:
        """The model, loaded at the first use in each process."""
        return BatchPredictor(
            self.run,
            output=self.output,
            trace=self.trace,
            n_best=self.n_best,
            ensemble=self.ensemble,
            overrides=self.overrides,
            device=self.device,
            threads=self.threads,
        )

    def takes(self, file: int, part: int) -> bool:
        return self.shard.takes(file, part, len(self.files))

    def read(self, work: FileWork) -> Iterator[FileStart | PartRows | FileEnd]:
        """The parts of a file that are left to do, in order, between its opening and its end."""
        from regard.model.loading import read_spec
        from regard.storage.hub import fetched

        name = self.files[work.file].name
        digest = content_digest(name)
        if work.digest and work.digest != digest:
            raise RegardError(
                "this file has changed since a part of it was answered.",
                where=name,
                fix="Choose another folder for the output.",
            )
        yield FileStart(work.file, digest)
        spec = read_spec(Path(fetched(self.run)), list(self.overrides))
        rows: list[InputRow] = []
        count = 0
        for count, row in enumerate(input_rows(spec, name), 1):
            part = (count - 1) // self.part_rows
            if self.takes(work.file, part) and part not in work.finished:
                rows.append(row)
            if rows and count % self.part_rows == 0:
                yield PartRows(work.file, part, count - len(rows) + 1, rows)
                rows = []
        if rows:
            yield PartRows(work.file, (count - 1) // self.part_rows, count - len(rows) + 1, rows)
        yield FileEnd(work.file, count, -(-count // self.part_rows))

    def answer(self, part: PartRows) -> PartAnswers:
        """Answer a part."""
        predictor = self.predictor
        answers = predictor.answers(part.rows)
        content = written(part.rows, answers, predictor.outputs, self.format, self.n_best)
        rejected = rejected_lines(part.rows, answers, part.first)
        return PartAnswers(part.file, part.number, len(part.rows), content, rejected)
