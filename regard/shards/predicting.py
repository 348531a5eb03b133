"""Predict the rows of files into a folder of parts, with an engine; what is finished is not computed again."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from regard.errors import Option, RegardError
from regard.shards.files import Shard, sources
from regard.shards.folder import REJECTED, OutputFolder
from regard.shards.job import PART_ROWS, Event, FileStart, FileWork, PartAnswers, PartRows, ShardJob
from regard.shards.writing import check_format

Engine = Callable[[ShardJob, Sequence[FileWork], int], Iterator[Event]]
"""Reads and answers what is left of a job with some workers: `job.read` gives the parts of a file, `job.answer` answers
one. It may give parts in any order, each once, and the other events of `job.read` as they are."""


@dataclass(frozen=True)
class Summary:
    """What was done: rows of this shard and the rejected ones among them, how many of the rows were there before, and
    the seconds."""

    folder: Path
    rows: int
    rejected: int
    before: int
    seconds: float

    def __str__(self) -> str:
        told = f"{self.folder}: {self.rows:,} rows"
        told += f", {self.before:,} of them answered before" if self.before else ""
        told += f", {self.rejected:,} rejected, see {self.folder / REJECTED}" if self.rejected else ""
        new = self.rows - self.before
        rate = f"; {new / self.seconds:,.0f} rows/s" if new and self.seconds else ""
        return f"{told}{rate}"


def plain(job: ShardJob, left: Sequence[FileWork], workers: int) -> Iterator[Event]:
    """The engine in this process."""
    for work in left:
        for event in job.read(work):
            yield job.answer(event) if isinstance(event, PartRows) else event


def predict_files(
    run: str | Path,
    files: Sequence[str | Path],
    out: str | Path,
    *,
    shard: str = "1/1",
    engine: str | Engine = "plain",
    workers: int = 1,
    format: str = "jsonl",
    part_rows: int = PART_ROWS,
    output: str | None = None,
    trace: bool = False,
    n_best: int = 1,
    ensemble: Sequence[str | Path] = (),
    overrides: Sequence[str] = (),
    device: str | None = None,
    threads: int | None = None,
    progress: Callable[[int], None] | None = None,
) -> Summary:
    """Answer the rows of files with a trained model, into a folder.

    files       files, patterns with *, folders of images, URLs
    out         the folder; the same call again continues what a killed one left
    shard       "2/8": the second of eight shares, each for a process of its own, anywhere
    engine      "plain": this process; "ray": a Ray cluster; or an `Engine` of your own
    workers     number of processes that answer
    format      jsonl, tsv or parquet
    part_rows   rows of each file of the output
    progress    called with the number of rows as they are answered

    Other options are those of `BatchPredictor`.
    """
    check_format(format, trace=trace)
    run_engine = _engine(engine, workers)
    job = ShardJob(
        run=str(run),
        files=tuple(sources([str(file) for file in files])),
        shard=Shard.parse(shard),
        part_rows=part_rows,
        format=format,
        output=output,
        trace=trace,
        n_best=n_best,
        ensemble=tuple(map(str, ensemble)),
        overrides=tuple(overrides),
        device=device,
        threads=threads,
    )
    folder = OutputFolder(Path(out).expanduser(), job)
    folder.claim()
    left, begun = list(folder.left()), time.monotonic()
    new = 0
    for event in run_engine(job, left, workers) if left else ():
        if isinstance(event, PartAnswers):
            folder.write(event)
            new += event.rows
            if progress is not None:
                progress(event.rows)
        elif isinstance(event, FileStart):
            folder.opened(event)
        else:
            folder.ended(event)
    seconds = time.monotonic() - begun
    rows, rejected = folder.counts()
    return Summary(folder.path, rows, rejected, rows - new, seconds)


def _engine(engine: str | Engine, workers: int) -> Engine:
    if not isinstance(engine, str):
        return engine
    if engine == "plain" and workers > 1:
        raise RegardError(
            f"one process answers; received {workers} workers.",
            where=Option("workers"),
            fix="Choose the engine ray, or start a process for each shard.",
        )
    if engine == "plain":
        return plain
    if engine == "ray":
        from regard.shards.ray import on_ray

        return on_ray
    raise RegardError(f"{engine!r} is not one of plain, ray.", where=Option("engine"))
