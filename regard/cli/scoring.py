"""The implementation of `regard score`."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path

from regard.cli.answering import CHUNK
from regard.cli.command import Loading
from regard.cli.loading import load_any
from regard.cli.outputs import written
from regard.cli.unknown import UnknownUnits
from regard.data import Row
from regard.errors import RegardError
from regard.model import LanguageModel
from regard.storage.files import check_apart


def score_pairs(
    run: Path,
    *,
    texts: Sequence[str],
    file: Path | None,
    output: Path | None,
    how: Loading,
) -> None:
    check_apart({"--output": output}, [file])
    model = load_any(run, how)
    if isinstance(model, LanguageModel):
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
        from regard.data.sources import open_files

        sides = [model.columns[name].field for name in (*model.spec.inputs, *model.spec.outputs)]
        pairs = _pairs(open_files(model.spec, [str(file)]), sides)
    else:
        raise RegardError("no pair to score.", fix="Give a source and a target, or --file PAIRS.tsv")
    stepwise = any(decoder.stepwise for decoder in model.network.decoders.values())
    total, units = 0.0, 0
    unknown = UnknownUnits(model)
    pairs = iter(pairs)
    with written(output) as stream:
        while chunk := list(islice(pairs, CHUNK)):
            for (source, target), found in zip(
                chunk, model.score([s for s, _ in chunk], [t for _, t in chunk]), strict=True
            ):
                unknown.look_at([source])
                unknown.look_at_target(source, target)
                count = len(found.trace.output) if stepwise and found.trace else 1
                total, units = total + found.score, units + count
                perplexity = f"\t{math.exp(-found.score / count):.4f}" if stepwise else ""
                print(f"{found.score:z.4f}{perplexity}\t{source}\t{target}", file=stream)
    if not units:
        raise RegardError(
            "there are no pairs to score.", where=str(file), fix="Check the file and its format."
        )
    mean = total / units
    told = f"perplexity {math.exp(-mean):.4f}" if stepwise else f"mean log p {mean:z.4f}"
    print(f"{told} over {units:,} {'units' if stepwise else 'rows'}", file=sys.stderr)
    unknown.tell()


def _pairs(rows: Iterable[Row], fields: Sequence[str]) -> Iterator[tuple[str, str]]:
    for row in rows:
        missing = next((field for field in fields if field not in row), None)
        if missing is not None:
            raise RegardError(f"{missing} is missing.", where=row.where, fix="Correct the row, or remove it.")
        yield row[fields[0]], row[fields[1]]
