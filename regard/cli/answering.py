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
from typing import Any

from regard.cli.outputs import STANDARD, written
from regard.cli.unknown import UnknownUnits
from regard.data import Row
from regard.data.columns import AudioColumn, ImageColumn, SeriesColumn, VideoColumn
from regard.data.readers.jsonl import refuse_constant
from regard.data.readers.lines import stream_lines
from regard.data.readers.opening import kind
from regard.data.readers.values import as_text, dig, has_half_pair
from regard.errors import RegardError
from regard.files import check_apart
from regard.model import Model
from regard.model.inputs import INPUT_REMEDY
from regard.prediction import Prediction
from regard.terminal import say

ADVICE = "`--bad-rows skip` answers the rest."
MOST_SHOWN = 5
JSON_LINES = (".jsonl", ".ndjson", ".json")
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
    bad_rows: str | None = None,
) -> None:
    from regard.cli.treebanks import annotate, is_treebank

    model = load(run, overrides, device)
    refuse_stream(model, run)
    ensemble = [load(other, overrides, device) for other in others]
    check_together(model, ensemble, [run, *others])
    named = Path(texts[0]) if len(texts) == 1 and is_treebank(texts[0]) else file
    check_apart({"--output": output, "--json": json_file}, [named])
    if named is not None and is_treebank(named) and json_file is None:
        annotate(model, named, output, ensemble)
        return
    given = as_inputs(model, texts)
    hint_at_file(model, texts)
    bad = BadInputs.of(bad_rows)
    inputs: Iterator[Any] = iter(given) if given else read_inputs(model, file, bad)
    unknown = UnknownUnits(model)
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
            for name in model.spec.outputs if usable else ():
                with bad.advised():
                    answers = model.predict(usable, output=name, trace=trace, ensemble=ensemble)
                for one, found in zip(usable, answers, strict=True):
                    if lines is not None:
                        print(json_line(as_shown(one), found, name, model), file=lines)
                    for line in lines_of(found, name, model) if plain is not None else ():
                        print(line, file=plain)
            count(len(chunk))
    unknown.tell()
    bad.report()


def refuse_stream(model: Model, run: Path) -> None:
    """A model that continues a text answers nothing."""
    if not model.spec.inputs:
        raise RegardError(
            "this model reads no input: it continues a text.",
            where=str(run),
            fix=f"Use  regard generate {run} --prompt TEXT",
        )


def as_inputs(model: Model, words: Sequence[str]) -> list[Any]:
    """What stands after RUN on the command line: words are one text; where the input is a file, each is one."""
    by_name = [model.columns[name] for name in model.spec.inputs]
    if len(by_name) == 1 and isinstance(by_name[0], ImageColumn | VideoColumn | AudioColumn | SeriesColumn):
        return list(words)
    return [parse_line(" ".join(words), "the text", model)] if words else []


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


def as_shown(given: Any) -> Any:
    """An input as it is shown: a text where there is one, else a mapping."""
    if not isinstance(given, Row):
        return given
    return dict(given) if len(given) > 1 else next(iter(given.values()))


class BadInputs:
    """What becomes of inputs that cannot be answered: the first stops everything, or they are left out and counted."""

    def __init__(self, *, skip: bool) -> None:
        self.skip = skip
        self.errors: list[RegardError] = []

    @classmethod
    def of(cls, bad_rows: str | None) -> BadInputs:
        if bad_rows not in (None, "stop", "skip"):
            raise RegardError(f"{bad_rows!r} is not one of stop, skip.", where="--bad-rows")
        return cls(skip=bad_rows == "skip")

    def refuse(self, error: RegardError) -> None:
        if not self.skip:
            raise RegardError(error.what, where=error.where, fix=f"{error.fix} {ADVICE}".strip())
        self.errors.append(error)

    def usable(self, inputs: Sequence[Any], model: Model) -> list[Any]:
        """The inputs that the model's columns can encode; where the first bad one stops, `predict` finds it."""
        if not self.skip:
            return list(inputs)
        kept = []
        for given in inputs:
            try:
                model.dataset([model.row(given)])
                kept.append(given)
            except RegardError as error:
                self.errors.append(error)
        return kept

    @contextmanager
    def advised(self) -> Iterator[None]:
        """An error about an input also says how to go on without it."""
        try:
            yield
        except RegardError as error:
            if error.fix != INPUT_REMEDY:
                raise
            raise RegardError(error.what, where=error.where, fix=f"{error.fix} {ADVICE}") from None

    def report(self) -> None:
        if not self.errors:
            return
        count = "1 input was" if len(self.errors) == 1 else f"{len(self.errors):,} inputs were"
        print(f"{count} left out:", file=sys.stderr)
        for error in self.errors[:MOST_SHOWN]:
            print(f"  {error.where}: {error.what}", file=sys.stderr)
        if len(self.errors) > MOST_SHOWN:
            print("  …", file=sys.stderr)


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


def read_inputs(model: Model, file: Path | None, bad: BadInputs) -> Iterator[Row]:
    """One input a line, JSON lines by the inputs' names, or a table; from standard input where no file is named.

    Each is a row by the names of the inputs, which knows its place.
    """
    from regard.cli.tables import is_table, table_inputs

    if file is not None and is_table(file):
        yield from table_inputs(model, file, bad)
        return
    if file is None and sys.stdin.isatty():
        print("Reading inputs from the terminal, one a line; end with Ctrl-D.", file=sys.stderr)
    if file is None:
        yield from _line_inputs(sys.stdin.buffer, "standard input", model, bad)
    else:
        from regard.data.readers.opening import find, opened

        with opened(find(file)) as stream:
            yield from _line_inputs(stream, str(file), model, bad)


def _line_inputs(stream: Any, name: str, model: Model, bad: BadInputs) -> Iterator[Row]:
    for line in stream_lines(stream):
        where = f"{name}:{line.number}"
        try:
            if line.problem:
                raise RegardError(f"the line {line.problem}.", where=where)
            value = parse_line(line.text, where, model, records=kind(name) in JSON_LINES)
        except RegardError as error:
            bad.refuse(error)
            continue
        values = value if isinstance(value, dict) else {next(iter(model.spec.inputs)): value}
        if not isinstance(value, dict) and len(model.spec.inputs) > 1:
            names = ", ".join(model.spec.inputs)
            fix = f'Write JSON lines: {{"{next(iter(model.spec.inputs))}": …}}'
            bad.refuse(RegardError(f"this model reads {names}; the line has one text.", where=where, fix=fix))
            continue
        yield Row(values, file=name, line=line.number)


def parse_line(line: str, where: str, model: Model, *, records: bool = False) -> Any:
    """The text of a line, or a mapping from the inputs' names where it is JSON that has them.

    records   whether all lines are JSON, so that one without the input is a mistake, and no text that looks like JSON
    """
    if not line.strip():
        raise RegardError("the line is empty.", where=where, fix="Remove it, or put an input there.")
    if not line.lstrip().startswith("{"):
        return line
    try:
        # numbers as they are written
        record = json.loads(line, parse_int=str, parse_float=str, parse_constant=refuse_constant)
    except (ValueError, RecursionError) as error:
        if len(model.spec.inputs) == 1 and not records:
            return line
        raise RegardError(f"this is not JSON: {error}.", where=where) from None
    found: dict[str, Any] = {}
    for name in model.spec.inputs:
        field = model.columns[name].field
        keys = [key for key in (field, name) if key in record or dig(record, key) is not None]
        if keys:
            found[name] = json_text(dig(record, keys[0]), keys[0], where)
    if not found and len(model.spec.inputs) == 1 and not records:
        return line  # a text that happens to be JSON
    missing = [name for name in model.spec.inputs if name not in found]
    if missing:
        raise RegardError(
            f"the input {missing[0]!r} is missing; the line has {', '.join(record) or 'nothing'}.",
            where=where,
            fix=f"Every line needs {', '.join(model.columns[name].field for name in model.spec.inputs)}.",
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
    if has_half_pair(json.dumps(value, ensure_ascii=False) if text is None else text):
        raise RegardError(
            f"{name!r} has half of a surrogate pair, which is no character.",
            where=where,
            fix="Correct the text, or leave the line out.",
        )
    return value if text is None else text


def _pairs(rows: Iterable[Row], fields: Sequence[str]) -> Iterator[tuple[str, str]]:
    for row in rows:
        missing = next((field for field in fields if field not in row), None)
        if missing is not None:
            raise RegardError(f"{missing} is missing.", where=row.where, fix="Correct the row, or remove it.")
        yield row[fields[0]], row[fields[1]]


def score_pairs(
    run: Path,
    *,
    texts: Sequence[str],
    file: Path | None,
    output: Path | None,
    overrides: Sequence[str],
    device: str | None,
) -> None:
    check_apart({"--output": output}, [file])
    model = load(run, overrides, device)
    if not model.spec.inputs:
        from regard.cli.continuing import score_text

        score_text(model, texts, file, output)
        return
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

        pairs = _pairs(open_files(model.spec, [str(file)]), file_fields(model.spec)[:2])
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
