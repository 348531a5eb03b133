"""What commands do with a language model: it continues a text, or says how surprising one is."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from regard.cli.answering import load, written
from regard.console import safe_console
from regard.data.readers.opening import find, opened
from regard.errors import RegardError
from regard.inspect import Scene, save, shaded
from regard.model import Model
from regard.terminal import say


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
    """The prompt and what follows it, written as it is drawn."""
    model = load(run, (), device)
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


def score_text(model: Model, texts: Sequence[str], file: Path | None, output: Path | None) -> None:
    """Every token of a text with its −log p; the whole by tokens and by characters."""
    text = " ".join(texts) if file is None else _read(file)
    if not text:
        raise RegardError("no text to score.", fix="Give a text, or --file FILE.")
    found = model.surprise(text)
    with written(output) as stream:
        for token, nats in found:
            print(f"{nats:.4f}\t{token}", file=stream)
    total = sum(nats for _, nats in found)
    perplexity = math.exp(min(total / len(found), 700.0))
    told = f"perplexity {perplexity:.4f} over {len(found):,} tokens, "
    print(told + f"{total / math.log(2) / len(text):.4f} bits per character", file=sys.stderr)


def _read(file: Path) -> str:
    with opened(find(file)) as stream:
        try:
            return stream.read().decode("utf-8").replace("\r\n", "\n")
        except UnicodeDecodeError as error:
            raise RegardError(
                f"the text is not UTF-8: {error.reason}.", where=str(file), fix="Save it as UTF-8."
            ) from None


def show_surprise(model: Model, text: str, output: Path | None) -> None:
    """The text with every token shaded by its −log p, in the terminal or as a file."""
    scene = surprise_figure(model, text)
    if output is None:
        safe_console().print(scene)
        return
    save(scene, output)
    say(str(output))


def surprise_figure(model: Model, text: str) -> Scene:
    found = model.surprise(text)
    most = max(nats for _, nats in found)
    mean = sum(nats for _, nats in found) / len(found)
    title = f"How surprising each token is: −log p, mean {mean:.2f} nats, at most {most:.2f}"
    return shaded([token for token, _ in found], np.array([nats for _, nats in found]), title=title)
