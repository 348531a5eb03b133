"""The implementation of `regard predict -o FOLDER/`: many rows, in shards."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from regard.cli.command import Loading
from regard.errors import RegardError
from regard.shards import predict_files


def answer_files(
    run: Path,
    files: Sequence[str],
    output: str,
    *,
    others: Sequence[Path],
    how: Loading,
    of: str | None,
    **options: Any,
) -> None:
    """Answer the rows of files into a folder, and tell on standard error how many there were."""
    if not files:
        raise RegardError("a folder of parts needs files.", where=f"-o {output}", fix="Name them: -f FILE")
    with _progress() as progress:
        done = predict_files(
            run,
            files,
            output,
            ensemble=others,
            overrides=how.changes,
            device=how.device,
            output=of,
            progress=progress,
            **options,
        )
    print(done, file=sys.stderr)


@contextmanager
def _progress() -> Iterator[Callable[[int], None] | None]:
    """One line on standard error, if it is a terminal: rows, rows per second, time."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    text = TextColumn("{task.completed:,.0f} rows answered, {task.fields[rate]:,.0f} rows/s")
    with Progress(
        SpinnerColumn(), text, TimeElapsedColumn(), console=Console(stderr=True), transient=True
    ) as bar:
        task = bar.add_task("", total=None, rate=0.0)

        def advance(rows: int) -> None:
            bar.advance(task, rows)
            known = bar.tasks[0]
            bar.update(task, rate=known.completed / max(known.elapsed or 0.0, 1e-9))

        yield advance
