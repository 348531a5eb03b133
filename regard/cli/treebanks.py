"""Annotate treebanks: read a CoNLL-U file and write it with predicted columns."""

from __future__ import annotations

import gzip
import lzma
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import IO, Any

from regard.cli.outputs import STANDARD
from regard.cli.unknown import UnknownUnits
from regard.data.readers.conllu import FIELDS, ConlluSentence, parse_conllu
from regard.data.readers.opening import find, kind, opened
from regard.errors import RegardError
from regard.model import Model
from regard.storage.files import replacing

CHUNK = 1024
WRITTEN = ("tree", *(name for name in FIELDS if name != "words"))


def is_treebank(path: str | Path) -> bool:
    return kind(path) == ".conllu"


def annotate(model: Model, path: Path, output: Path | None, ensemble: Sequence[Model] = ()) -> None:
    """Write the file with the columns that this model predicts; everything else stays unchanged, byte for byte."""
    fields, unknown = fields_written(model), UnknownUnits(model)
    with written_bytes(output) as stream, opened(find(path)) as source:
        sentences = parse_conllu(iter(source))
        while chunk := list(islice(sentences, CHUNK)):
            for sentence in annotated(model, chunk, fields, path, unknown, ensemble):
                stream.write(sentence.text.encode("utf-8", errors="surrogateescape"))
    unknown.tell()


def fields_written(model: Model) -> dict[str, str]:
    """{output: field} if all outputs are columns of CoNLL-U."""
    fields = {name: model.columns[name].field for name in model.spec.outputs}
    for name, field in fields.items():
        if field not in WRITTEN:
            raise RegardError(
                f"CoNLL-U has no column for the output {name} (field {field!r}).",
                fix=f"It has {', '.join(WRITTEN)}; give the sentences as text to see the output.",
            )
    return fields


def annotated(
    model: Model,
    sentences: list[ConlluSentence],
    fields: dict[str, str],
    path: Path,
    unknown: UnknownUnits,
    ensemble: Sequence[Model] = (),
) -> Iterator[ConlluSentence]:
    full = [sentence for sentence in sentences if sentence.words]
    for sentence in sentences:
        if sentence.problem:
            line, reason = sentence.problem
            raise RegardError(f"the line {reason}.", where=f"{path}:{line}")
    inputs = [_inputs(model, sentence, path) for sentence in full]
    unknown.look_at(inputs)
    found: dict[int, dict[str, list[str]]] = {id(sentence): {} for sentence in full}
    for output, field in fields.items():
        answers = model.predict(inputs, output=output, trace=False, ensemble=ensemble)
        for sentence, answer in zip(full, answers, strict=True):
            found[id(sentence)][field] = answer.text.split()
    for sentence in sentences:
        yield sentence.replaced(found[id(sentence)]) if sentence.words else sentence


def _inputs(model: Model, sentence: ConlluSentence, path: Path) -> dict[str, str]:
    fields = sentence.fields()
    given = {}
    for name in model.spec.inputs:
        field = model.columns[name].field
        if field not in fields:
            raise RegardError(
                f"the sentence has no {field}, which this model reads.", where=f"{path}:{sentence.number}"
            )
        given[name] = fields[field]
    return given


@contextmanager
def written_bytes(path: Path | None) -> Iterator[IO[bytes] | Any]:
    """Standard output, or a file that is compressed by its extension and written atomically."""
    if path is None or path == STANDARD:
        import sys

        yield sys.stdout.buffer
        return
    opener: Any = {".gz": gzip.open, ".xz": lzma.open}.get(path.suffix, open)
    with replacing(path) as temporary, opener(temporary, "wb") as stream:
        yield stream
