"""Commands for language models: continue a text, or score it."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from regard.cli.command import Loading
from regard.cli.loading import load
from regard.cli.outputs import written
from regard.cli.unknown import UnknownCount
from regard.data.sources import open_files
from regard.errors import RegardError
from regard.inspect import Scene, save, shaded
from regard.model import LanguageModel
from regard.model.continuing import Surprise
from regard.reporting.console import safe_console
from regard.reporting.terminal import say


def generate_text(
    run: Path,
    prompt: str,
    *,
    length: int | None,
    options: Mapping[str, Any],
    output: Path | None,
    json_file: Path | None,
    device: str | None,
) -> None:
    """Write the prompt and its continuation as it is sampled."""
    model = load(run, Loading(device=device), LanguageModel)
    if json_file is None:
        pieces = model.stream(prompt, length=length, **options)
        with written(output) as stream:
            for piece in pieces:
                stream.write(piece)
                stream.flush()
            stream.write("\n")
        return
    found = model.generate(prompt, length=length, **options)
    given = {name: value for name, value in options.items() if value is not None}
    line = {"prompt": prompt, "text": found.text, "score": found.score, **given}
    with written(json_file) as stream:
        print(json.dumps(line, ensure_ascii=False), file=stream)
    if output is not None:
        with written(output) as stream:
            print(found.text, file=stream)


def list_following(
    run: Path, prompt: str, count: int, *, output: Path | None, json_file: Path | None, device: str | None
) -> None:
    """Print the most probable next tokens, each after its probability."""
    model = load(run, Loading(device=device), LanguageModel)
    found = model.following(prompt, count)
    if json_file is not None:
        line = {"prompt": prompt, "next": [{"token": token, "probability": p} for token, p in found]}
        with written(json_file) as stream:
            print(json.dumps(line, ensure_ascii=False), file=stream)
    if json_file is None or output is not None:
        with written(output) as stream:
            for token, probability in found:
                print(f"{probability:.4f}\t{token}", file=stream)


def score_text(model: LanguageModel, texts: Sequence[str], file: Path | None, output: Path | None) -> None:
    """Print −log p of every token, and the total per token and per character."""
    given = _Counted([" ".join(texts)] if file is None else _parts(model, file))
    total, tokens, unknown = 0.0, 0, UnknownCount("token")
    with written(output) as stream:
        for one in model.surprises(given):
            shown = max(one.nats, 0.0)  # −log p of a sure token can be rounded to below 0
            print(f"{shown:z.4f}\t{one.token}", file=stream)
            total, tokens = total + one.nats, tokens + 1
            unknown.add([] if one.known else [one.token])
        if not tokens:
            raise RegardError("no text to score.", fix="Give a text, or --file FILE.")
    perplexity = math.exp(min(total / tokens, 700.0))
    told = f"perplexity {perplexity:.4f} over {tokens:,} tokens, "
    print(told + f"{total / math.log(2) / given.characters:.4f} bits per character", file=sys.stderr)
    unknown.tell()


class _Counted:
    """Texts, and the number of characters read so far."""

    def __init__(self, texts: Iterable[str]) -> None:
        self.texts, self.characters = texts, 0

    def __iter__(self) -> Iterator[str]:
        for text in self.texts:
            self.characters += len(text)
            yield text


def _parts(model: LanguageModel, file: Path) -> Iterator[str]:
    """A text of any length, read in parts."""
    (field,) = (model.columns[name].field for name in model.spec.outputs)
    return (row[field] for row in open_files(model.spec, [str(file)]))


def show_surprise(model: LanguageModel, text: str, output: Path | None) -> None:
    """Show the text with every token shaded by its −log p, in the terminal or as a file."""
    if not text:
        raise RegardError("no text to show.", fix="Give a text.")
    found = list(model.surprises([text]))
    scene = surprise_figure(found)
    unknown = UnknownCount("token")
    for one in found:
        unknown.add([] if one.known else [one.token])
    unknown.tell()
    if output is None:
        safe_console().print(scene)
        return
    save(scene, output)
    say(str(output))


def show_self_attention(
    model: LanguageModel,
    text: str,
    output: Path | None,
    *,
    heads: bool = False,
    layers: Sequence[str] | None = None,
) -> None:
    """Show where each token of a text looked, in the last layer or in each head, in the terminal or as a file."""
    trace, unknown = model.trace(text), UnknownCount("token")
    for one in model.surprises([text]):
        unknown.add([] if one.known else [one.token])
    unknown.tell()
    if output is None:
        trace.print(heads=heads, layers=layers)
        safe_console().print(f"log p {trace.scores.sum():.3f}", highlight=False)
        return
    trace.save(output, heads=heads, layers=layers)
    say(str(output))


def surprise_figure(found: Sequence[Surprise]) -> Scene:
    nats = np.array([one.nats for one in found])
    title = f"How surprising each token is: −log p, mean {nats.mean():.2f} nats, at most {nats.max():.2f}"
    return shaded([one.token for one in found], nats, title=title)
