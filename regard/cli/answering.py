"""What `predict` and `score` do once their options are read."""

from __future__ import annotations

import json
import math
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from itertools import islice
from pathlib import Path
from typing import IO, Any, cast

from regard.cli.unknown import UnknownUnits
from regard.data.columns import AudioColumn, ImageColumn, SeriesColumn, VideoColumn
from regard.data.readers.jsonl import refuse_constant
from regard.data.readers.row import Row
from regard.data.readers.values import as_text
from regard.errors import RegardError
from regard.files import replacing
from regard.model import Model
from regard.prediction import Prediction
from regard.terminal import TerminalText, say

STANDARD = Path("-")
"""Standard output, or standard input, where a file is expected."""
CHUNK = 1024
"""Inputs read and answered at a time, so that a long file starts to come out before it is all in."""


def load(run: Path, overrides: Sequence[str], device: str | None) -> Model:
    model = Model.load(run, device=device, overrides=overrides)
    searched = [change for change in overrides if change.startswith("search.")]
    if searched and not any(decoder.stepwise for decoder in model.network.decoders.values()):
        raise RegardError(
            f"{searched[0]} has no effect: this model finds its answer at once, it searches for no text.",
            where=str(run),
            fix="Leave out --beam, --n-best and --set search.…",
        )
    return model


def answer(
    run: Path,
    *,
    texts: Sequence[str],
    file: Path | None,
    output: Path | None,
    json_file: Path | None,
    trace: bool,
    others: Sequence[Path],
    overrides: Sequence[str],
    device: str | None,
) -> None:
    from regard.cli.treebanks import annotate, is_treebank

    model = load(run, overrides, device)
    ensemble = [load(other, overrides, device) for other in others]
    check_together(model, ensemble, [run, *others])
    named = Path(texts[0]) if len(texts) == 1 and is_treebank(texts[0]) else file
    if named is not None and is_treebank(named) and json_file is None:
        annotate(model, named, output, ensemble)
        return
    given = as_inputs(model, texts)
    hint_at_file(model, texts)
    inputs = iter(given) if given else read_inputs(model, file)
    unknown = UnknownUnits(model)
    with ExitStack() as opened:
        lines = None if json_file is None else opened.enter_context(written(json_file))
        plain = None if lines is not None and output is None else opened.enter_context(written(output))
        on_screen = (lines, plain).count(sys.stdout) > 0 and sys.stdout.isatty()
        typed = file is None and sys.stdin.isatty()
        count = opened.enter_context(counting(shown=not (given or typed or on_screen)))
        while chunk := list(islice(inputs, CHUNK)):
            unknown.look_at(chunk)
            for name in model.spec.outputs:
                answers = model.predict(chunk, output=name, trace=trace, ensemble=ensemble)
                for one, found in zip(chunk, answers, strict=True):
                    if lines is not None:
                        print(json_line(one, found, name, model), file=lines)
                    for line in lines_of(found, name, model) if plain is not None else ():
                        print(line, file=plain)
            count(len(chunk))
    unknown.tell()


def as_inputs(model: Model, words: Sequence[str]) -> list[Any]:
    """What stands after RUN on the command line: words are one text; where the input is a file, each is one."""
    by_name = [model.columns[name] for name in model.spec.inputs]
    if len(by_name) == 1 and isinstance(by_name[0], ImageColumn | VideoColumn | AudioColumn | SeriesColumn):
        return list(words)
    return (
        [parse_line(" ".join(words).encode("utf-8", "surrogateescape"), "the text", model)] if words else []
    )


def check_together(model: Model, others: Sequence[Model], names: Sequence[Path]) -> None:
    """Models answer together what all of them read and write."""
    for other, name in zip(others, names[1:], strict=True):
        for role in ("inputs", "outputs"):
            mine, theirs = list(getattr(model.spec, role)), list(getattr(other.spec, role))
            if mine != theirs:
                verb = "reads" if role == "inputs" else "writes"
                raise RegardError(
                    f"{names[0]} {verb} {', '.join(mine)}, but {name} {verb} {', '.join(theirs)}.",
                    where="--with",
                    fix="Models decide together that were trained on the same columns.",
                )


@contextmanager
def counting(*, shown: bool) -> Iterator[Callable[[int], None]]:
    """Shows on standard error how many inputs are answered, where somebody watches it and the answers go elsewhere."""
    if not shown or not sys.stderr.isatty():
        yield lambda answered: None
        return
    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (SpinnerColumn(), TextColumn("{task.completed:,.0f} inputs answered"), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=None)
        yield lambda answered: bar.advance(task, answered)


def hint_at_file(model: Model, texts: Sequence[str]) -> None:
    """Whoever names a file where a text is expected gets an answer to its name, and a word on how to have it read."""
    from regard.data.columns import TextColumn

    reads_text = all(isinstance(model.columns[name], TextColumn) for name in model.spec.inputs)
    if reads_text and len(texts) == 1 and os.path.isfile(texts[0]):
        say(f"{texts[0]} is a file, taken here as a text; -f {texts[0]} reads it.", error=True)


def json_line(given: Any, found: Prediction, output: str, model: Model) -> str:
    named = {"output": output} if len(model.spec.outputs) > 1 else {}
    return json.dumps({"input": given, **named, **found.to_dict()}, ensure_ascii=False)


def lines_of(found: Prediction, output: str, model: Model) -> Iterator[str]:
    if found.alternatives and model.spec.search.n_best > 1:
        for alternative in found.alternatives:
            yield f"{alternative.score:.4f}\t{alternative.text}"
        yield ""
    elif len(model.spec.outputs) > 1:
        yield f"{output}\t{found.text}"
    else:
        yield found.text


def read_inputs(model: Model, file: Path | None) -> Iterator[Any]:
    """One input a line, JSON lines by the inputs' names, or a table; from standard input where no file is named."""
    from regard.cli.tables import is_table, table_inputs

    if file is not None and is_table(file):
        yield from table_inputs(model, file)
        return
    if file is None and sys.stdin.isatty():
        print("Reading inputs from the terminal, one a line; end with Ctrl-D.", file=sys.stderr)
    if file is None:
        for number, raw in enumerate(sys.stdin.buffer, 1):
            yield parse_line(raw, f"standard input:{number}", model)
    else:
        from regard.data.readers.opening import find, opened

        with opened(find(file)) as stream:
            for number, raw in enumerate(stream, 1):
                yield parse_line(raw, f"{file}:{number}", model)


def parse_line(raw: bytes, where: str, model: Model) -> Any:
    try:
        line = raw.decode("utf-8-sig" if where.endswith(":1") else "utf-8").rstrip("\r\n")
    except UnicodeDecodeError as error:
        raise RegardError(f"byte {error.start + 1} of the line is not UTF-8.", where=where) from None
    if not line.strip():
        raise RegardError("the line is empty.", where=where, fix="Remove it, or put an input there.")
    if not line.lstrip().startswith("{"):
        return line
    try:
        # numbers as they are written
        value = json.loads(line, parse_int=str, parse_float=str, parse_constant=refuse_constant)
    except (ValueError, RecursionError) as error:
        if len(model.spec.inputs) == 1:
            return line
        raise RegardError(f"this is not JSON: {error}.", where=where) from None
    found = {name: json_text(value[name], name, where) for name in model.spec.inputs if name in value}
    if not found and len(model.spec.inputs) == 1:
        return line  # a text that happens to be JSON
    missing = [name for name in model.spec.inputs if name not in found]
    if missing:
        raise RegardError(
            f"the input {missing[0]!r} is missing; the line has {', '.join(value) or 'nothing'}.",
            where=where,
            fix=f"Every line needs {', '.join(model.spec.inputs)}.",
        )
    return found


def json_text(value: Any, name: str, where: str) -> Any:
    """A value of JSON as data have it: texts, numbers and truth values as they are written, lists for arrays."""
    text = as_text(value)
    if text is None and (value is None or isinstance(value, dict)):
        raise RegardError(
            f"{name!r} is {'null' if value is None else 'an object'}, expected a text.",
            where=where,
            fix="Give a text, or leave the line out.",
        )
    return value if text is None else text


@contextmanager
def written(path: Path | None) -> Iterator[IO[str]]:
    """Standard output (None or `-`), or a file that is written atomically."""
    if path is None or path == STANDARD:
        yield cast(IO[str], TerminalText(sys.stdout))
        return
    with replacing(path) as temporary, temporary.open("w", encoding="utf-8") as stream:
        yield stream


def _pair(row: Row, source: str, target: str) -> tuple[str, str]:
    missing = [field for field in (source, target) if field not in row]
    if missing:
        raise RegardError(f"the row has no {missing[0]!r}.", where=row.where, fix="Correct the row.")
    return row[source], row[target]


def score_pairs(
    run: Path,
    *,
    texts: Sequence[str],
    file: Path | None,
    output: Path | None,
    overrides: Sequence[str],
    device: str | None,
) -> None:
    model = load(run, overrides, device)
    if len(model.spec.inputs) > 1 or len(model.spec.outputs) > 1:
        raise RegardError(
            "score takes pairs of one input and one output.", fix="In Python, model.score takes mappings."
        )
    pairs: Iterable[tuple[str, str]]
    if texts and file is None:
        if len(texts) != 2:
            raise RegardError(
                f"expected a source and a target, received {len(texts)} texts.",
                fix="Quote texts that have spaces.",
            )
        pairs = [(texts[0], texts[1])]
    elif file is not None:
        from regard.sources import file_fields, open_files

        source, target = file_fields(model.spec)[:2]
        pairs = (_pair(row, source, target) for row in open_files(model.spec, [str(file)]))
    else:
        raise RegardError("no pair to score.", fix="Give a source and a target, or --file PAIRS.tsv")
    stepwise = any(decoder.stepwise for decoder in model.network.decoders.values())
    total, units = 0.0, 0
    pairs = iter(pairs)
    with written(output) as stream:
        while chunk := list(islice(pairs, CHUNK)):
            for (source, target), found in zip(
                chunk, model.score([s for s, _ in chunk], [t for _, t in chunk]), strict=True
            ):
                count = len(found.trace.output) if stepwise and found.trace else 1
                total, units = total + found.score, units + count
                perplexity = f"\t{math.exp(-found.score / count):.4f}" if stepwise else ""
                print(f"{found.score:.4f}{perplexity}\t{source}\t{target}", file=stream)
    mean = total / max(units, 1)
    told = f"perplexity {math.exp(-mean):.4f}" if stepwise else f"mean log p {mean:.4f}"
    print(f"{told} over {units:,} {'units' if stepwise else 'rows'}", file=sys.stderr)
