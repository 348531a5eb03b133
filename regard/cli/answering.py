"""What `predict` and `score` do once their options are read."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import IO, Any

from regard.errors import RegardError
from regard.files import replacing
from regard.model import Model
from regard.prediction import Prediction

CHUNK = 1024
"""Inputs read and answered at a time, so that a long file starts to come out before it is all in."""


def load(run: Path, overrides: Sequence[str], device: str | None) -> Model:
    return Model.load(run, device=device, overrides=overrides)


def answer(
    run: Path,
    *,
    texts: Sequence[str],
    file: Path | None,
    output: Path | None,
    json_lines: bool,
    trace: bool,
    others: Sequence[Path],
    overrides: Sequence[str],
    device: str | None,
) -> None:
    from regard.cli.treebanks import annotate, is_treebank

    model = load(run, overrides, device)
    ensemble = [load(other, overrides, device) for other in others]
    named = Path(texts[0]) if len(texts) == 1 and is_treebank(texts[0]) else file
    if named is not None and is_treebank(named) and not json_lines:
        annotate(model, named, output, ensemble)
        return
    hint_at_file(model, texts)
    inputs = iter(texts) if texts else read_inputs(model, file)
    with written(output) as stream:
        while chunk := list(islice(inputs, CHUNK)):
            for name in model.spec.outputs:
                for given, found in zip(
                    chunk, model.predict(chunk, output=name, trace=trace, ensemble=ensemble), strict=True
                ):
                    for line in lines_of(given, found, name, model, json_lines=json_lines):
                        print(line, file=stream)


def hint_at_file(model: Model, texts: Sequence[str]) -> None:
    """Whoever names a file where a text is expected gets an answer to its name, and a word on how to have it read."""
    from regard.data.columns import TextColumn

    reads_text = all(isinstance(model.columns[name], TextColumn) for name in model.spec.inputs)
    if reads_text and len(texts) == 1 and Path(texts[0]).is_file():
        print(f"{texts[0]} is a file, taken here as a text; -f {texts[0]} reads it.", file=sys.stderr)


def lines_of(given: Any, found: Prediction, output: str, model: Model, *, json_lines: bool) -> Iterator[str]:
    if json_lines:
        named = {"output": output} if len(model.spec.outputs) > 1 else {}
        yield json.dumps({"input": given, **named, **found.to_dict()}, ensure_ascii=False)
    elif found.alternatives and model.spec.search.n_best > 1:
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
        value = json.loads(line)
    except json.JSONDecodeError as error:
        if len(model.spec.inputs) == 1:
            return line
        raise RegardError(f"this is not JSON: {error}.", where=where) from None
    found = {name: str(value[name]) for name in model.spec.inputs if name in value}
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


@contextmanager
def written(path: Path | None) -> Iterator[IO[str]]:
    """Standard output, or a file that is written atomically."""
    if path is None:
        yield sys.stdout
        return
    with replacing(path) as temporary, temporary.open("w", encoding="utf-8") as stream:
        yield stream


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
        pairs = ((row[source], row[target]) for row in open_files(model.spec, [str(file)]))
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
