"""The implementation of `regard predict`."""

from __future__ import annotations

import json
import math
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from itertools import islice
from pathlib import Path
from typing import IO, Any

from regard.cli.command import Loading
from regard.cli.inputs import BadInputs, as_inputs, read_inputs
from regard.cli.loading import load_together
from regard.cli.outputs import STANDARD, refuse_output_as_file, written
from regard.cli.unknown import UnknownUnits
from regard.data import Row
from regard.errors import RegardError
from regard.model import Model
from regard.model.model import check_several
from regard.reporting.terminal import say
from regard.storage.files import check_apart
from regard.trace.prediction import Prediction

CHUNK = 1024
"""Number of inputs to read and answer at a time, so that a long file yields output before it is read completely."""


def answer(
    run: Path,
    *,
    texts: Sequence[str],
    file: Path | None,
    output: Path | None,
    json_file: Path | None,
    trace: bool,
    others: Sequence[Path],
    how: Loading,
    bad_rows: str | None = None,
    n_best: int = 1,
    of: str | None = None,
    watch: bool = False,
) -> None:
    from regard.cli.rewriting import replace_fields, replacing_reader

    model, ensemble = load_together(run, others, how)
    refuse_output_as_file(model, output)
    names = list(model.spec.outputs) if of is None else [model.output_name(of)]
    model = model if n_best == 1 else model.searching(n_best=n_best)
    reader = replacing_reader(file or texts[0]) if file or len(texts) == 1 else None
    if reader is not None and texts:
        file, texts = Path(texts[0]), []
    check_apart({"--output": output, "--json": json_file}, [file])
    if reader is not None and file is not None and json_file is None:
        _check_whole(reader, of, watch)
        replace_fields(model, file, reader, output, bad_rows=bad_rows, ensemble=ensemble)
        return
    _check_watch(watch and bool(ensemble), "an ensemble is not supported")
    watcher = None
    if watch:
        from regard.cli.watching import Watcher

        watcher = Watcher(model, names)
    given = as_inputs(model, texts)
    hint_at_file(model, texts)
    bad, unknown = BadInputs.of(bad_rows), UnknownUnits(model)
    inputs: Iterator[Any] = iter(given) if given else read_inputs(model, file, bad)
    with ExitStack() as opened:
        lines = None if json_file is None else opened.enter_context(written(json_file))
        plain = None if lines is not None and output is None else opened.enter_context(written(output))
        to_standard = json_file == STANDARD or (plain is not None and output in (None, STANDARD))
        on_screen = to_standard and sys.stdout.isatty()
        typed = file is None and sys.stdin.isatty()
        count = opened.enter_context(counting(shown=not (given or typed or on_screen)))
        while chunk := list(islice(inputs, CHUNK)):
            usable = bad.usable(chunk, model)
            unknown.look_at(usable)
            for name in names if usable else ():
                with bad.advised():
                    answers = model.predict(usable, output=name, trace=trace, ensemble=ensemble)
                if watcher is not None:
                    watcher.look_at(usable, answers, name)
                if n_best > 1 and len(names) == 1:
                    check_several(answers, name)
                _write(usable, answers, name, model, lines, plain, named=len(names) > 1)
            count(len(chunk))
    unknown.tell()
    bad.report()
    if watcher is not None:
        watcher.tell()


def _write(
    inputs: Sequence[Any],
    answers: Sequence[Any],
    name: str,
    model: Any,
    lines: IO[str] | None,
    plain: IO[str] | None,
    *,
    named: bool,
) -> None:
    """Write the answers as lines of JSON, as plain lines, or both."""
    for one, found in zip(inputs, answers, strict=True):
        if lines is not None:
            print(json_line(as_shown(one), found, name, model), file=lines)
        if plain is not None:
            for line in lines_of(found, name, model, named=named):
                print(line, file=plain)


def _check_whole(reader: Any, of: str | None, watch: bool) -> None:
    """Refuse options that do not fit a file that is written back."""
    if of is not None:
        raise RegardError(
            f"{reader.about} is written back with all predicted columns.", where="--of", fix="Leave it out."
        )
    _check_watch(watch, f"{reader.about} is written back as a whole")


def _check_watch(watch: bool, reason: str) -> None:
    if watch:
        raise RegardError(f"answers cannot be watched: {reason}.", where="--watch", fix="Leave out --watch.")


@contextmanager
def counting(*, shown: bool) -> Iterator[Callable[[int], None]]:
    """Show the number of answered inputs on standard error, if it is a terminal and the answers go elsewhere."""
    if not shown or not sys.stderr.isatty():
        yield lambda answered: None
        return
    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (SpinnerColumn(), TextColumn("{task.completed:,.0f} inputs answered"), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=None)
        yield lambda answered: bar.advance(task, answered)


def as_shown(given: Any) -> Any:
    """An input for display: the text if it has a single field, else a mapping."""
    if not isinstance(given, Row):
        return given
    return dict(given) if len(given) > 1 else next(iter(given.values()))


def hint_at_file(model: Model, texts: Sequence[str]) -> None:
    """Tell a user who passed a file name as text how to have the file read."""
    reads_text = all(model.columns[name].is_text for name in model.spec.inputs)
    if reads_text and len(texts) == 1 and os.path.isfile(texts[0]):
        say(
            f"{texts[0]} is a file, but its name is used as the text. To read the file: -f {texts[0]}",
            error=True,
        )


def json_line(given: Any, found: Prediction, output: str, model: Model) -> str:
    named = {"output": output} if len(model.spec.outputs) > 1 else {}
    return json.dumps({"input": given, **named, **found.to_dict()}, ensure_ascii=False)


def lines_of(found: Prediction, output: str, model: Model, *, named: bool) -> Iterator[str]:
    if found.alternatives and model.spec.search.n_best > 1:
        for alternative in found.alternatives:
            figure = math.exp(alternative.score) if found.probabilities else alternative.score
            yield f"{figure:z.4f}\t{alternative.text}"
        yield ""
    elif named:
        yield f"{output}\t{found.text}"
    else:
        yield found.text
