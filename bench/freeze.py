"""Freeze what every system and recipe prints, draws and answers, and compare it after a change.

    python bench/freeze.py FOLDER                    write one JSON file per system and recipe
    python bench/freeze.py FOLDER --compare          compute them anew and compare them with FOLDER
    python bench/freeze.py FOLDER --only g2p nlvr    some of them

A change that only moves code must leave all of it equal to the byte, on one machine with one torch. For each system of
the zoo a small model trains for three updates; recipes build a model on a few rows. Frozen are: the text of `describe`
(also in the letters of the lectures), the drawing of the network, and of two rows the prediction with its scores, the
trace as JSON, its SVG, its HTML, its heads, its 80-column view with colors and without, a gallery and a comparison.
Exit status 1 if anything differs. `bench/losses.py` compares the losses of 30 updates.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import io
import json
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import torch
from rich.console import Console
from written import add_options, write_json

import regard
from regard import zoo
from regard.cli import main as command

sys.path.insert(0, str(Path(__file__).parents[1]))
from tests.documents.pages import RECIPES  # the sample rows of the tests
from tests.documents.samples import asked, samples, write_candidates
from tests.zoo.test_zoo import DATA, SIZES, TEXT_SIZES

Frozen = dict[str, str]


def of_system(name: str) -> Iterator[tuple[str, Callable[[], str]]]:
    """What is frozen of a system: (name, how to make it)."""
    spec = zoo.find(name)
    provider = spec.data.provider
    source = f"{provider.kind} {provider.type}"
    sizes = dict(DATA[source])
    if getattr(provider, "most", 5) < 4:
        sizes.pop("crowded", None)
    changes = [f"data.{provider.kind}.{key}={value}" for key, value in sizes.items()]
    changes += ["training.steps=3", "training.batch_rows=16"]
    if spec.inputs:
        changes.append("training.batch_tokens=null")
    if source != "world points":
        changes.append("search.max_length=8")
    changes += TEXT_SIZES if name.startswith("entailment") else SIZES.get(source, TEXT_SIZES)
    yield "describe", lambda: printed("describe", name)
    for deck in ("003", "004"):
        yield f"describe {deck}", lambda deck=deck: printed("describe", name, "--as", deck)  # type: ignore[misc]
    yield "network", lambda: drawn("network.svg", "describe", name)
    sets = [part for change in changes for part in ("--set", change)]
    yield "train", lambda: quietly("train", name, "-o", "run", "--device", "cpu", *sets)
    if not spec.inputs:
        model = regard.load("run", device="cpu")
        yield "generate", lambda: str(model.generate("The ", length=12).text)
        yield "surprise", lambda: repr(model.surprise("The cat"))
        return
    yield "evaluate", lambda: printed("evaluate", "run", "--device", "cpu")
    for row in ("0", "1"):
        show = ("show", "run", "--device", "cpu", "--row", row)
        yield f"terminal {row}", lambda show=show: printed(*show)  # type: ignore[misc]
        yield f"svg {row}", lambda show=show: drawn("row.svg", *show)  # type: ignore[misc]
        yield f"html {row}", lambda show=show: drawn("row.html", *show)  # type: ignore[misc]
    yield "samples", lambda: printed("show", "run", "--device", "cpu", "--row", "0", "--samples", "2")
    yield "gallery", lambda: drawn("gallery.html", "show", "run", "--device", "cpu", "--gallery", "2")
    yield "comparison", lambda: drawn("both.svg", "compare", "run", "run", "--row", "1", "--device", "cpu")
    model = regard.load("run", device="cpu")
    first = regard.evaluation.open_dataset(model, (), ["test"]).raw(0)
    yield from of_answers(model, {column: first[column] for column in spec.inputs})


def of_recipe(path: Path) -> Iterator[tuple[str, Callable[[], str]]]:
    """What is frozen of a recipe."""
    spec = regard.Spec.load(path)
    yield "describe", lambda: printed("describe", str(path))
    yield "network", lambda: drawn("network.svg", "describe", str(path))
    for column in spec.outputs.values():
        if isinstance(candidates := getattr(column, "candidates", None), str):
            write_candidates(candidates)
    rows = samples(spec)
    with contextlib.suppress(regard.RegardError):
        spec = spec.changed("search={max_length: 16}")
    torch.manual_seed(0)
    model = regard.model.build(spec, rows=rows)
    if not spec.inputs:
        yield "generate", lambda: str(model.generate("Ann", length=3).text)
        return
    yield from of_answers(model, asked(spec, rows[0]))


def of_answers(model: Any, inputs: dict[str, Any]) -> Iterator[tuple[str, Callable[[], str]]]:
    """The answer for each output, with its trace in every form."""
    for output in model.spec.outputs:
        answer = model.predict(inputs, output=output)
        trace = answer.trace
        yield f"{output} answer", lambda answer=answer: json.dumps(answer.to_dict(), default=str)  # type: ignore[misc]
        yield f"{output} repr", lambda trace=trace: repr(trace)  # type: ignore[misc]
        yield f"{output} svg", lambda trace=trace: trace.plot().svg()  # type: ignore[misc]
        yield f"{output} html", lambda trace=trace: trace.html()  # type: ignore[misc]
        yield f"{output} terminal", lambda trace=trace: shown(trace, color=False)  # type: ignore[misc]
        yield f"{output} colors", lambda trace=trace: shown(trace, color=True)  # type: ignore[misc]
        yield (
            f"{output} back",
            lambda trace=trace: str(  # type: ignore[misc]
                json.dumps(type(trace).from_dict(json.loads(json.dumps(trace.to_dict()))).to_dict())
                == json.dumps(trace.to_dict())
            ),
        )
        if trace.heads:
            yield f"{output} heads", lambda trace=trace: trace.plot(heads=True).svg()  # type: ignore[misc]
            yield f"{output} heads terminal", lambda trace=trace: shown(trace, color=False, heads=True)  # type: ignore[misc]


def shown(trace: Any, *, color: bool, heads: bool = False) -> str:
    """The terminal view, 80 columns wide."""
    text = io.StringIO()
    console = Console(file=text, width=80, force_terminal=color, color_system="truecolor" if color else None)
    trace.print(console, heads=heads)
    return text.getvalue()


def printed(*arguments: str) -> str:
    """What a command prints, on both streams."""
    text = io.StringIO()
    with contextlib.redirect_stdout(text), contextlib.redirect_stderr(text):
        text.write(f"exit {status(arguments)}")
    return text.getvalue()


def quietly(*arguments: str) -> str:
    """Run a command whose text holds times."""
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        return f"exit {status(arguments)}"


def status(arguments: tuple[str, ...]) -> Any:
    """Run a command in this process, and give its exit status."""
    sys.argv = ["regard", *arguments]
    try:
        command()
    except SystemExit as stop:
        return stop.code
    return 0


def drawn(file: str, *arguments: str) -> str:
    """The file that a command writes."""
    text = printed(*arguments, "-o", file, "--overwrite")
    return Path(file).read_text(encoding="utf-8") if Path(file).exists() else text


def frozen(parts: Iterator[tuple[str, Callable[[], str]]]) -> Frozen:
    """Make everything; an error is kept as its text."""
    made: Frozen = {}
    try:
        for name, make in parts:
            try:
                made[name] = make()
            except regard.RegardError as error:
                made[name] = f"RegardError: {error}"
    except Exception as error:
        made["stopped"] = f"{type(error).__name__}: {error}"
    return made


def differences(before: Frozen, after: Frozen) -> list[str]:
    return [name for name in sorted({*before, *after}) if before.get(name) != after.get(name)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])  # type: ignore[union-attr]
    parser.add_argument("folder", type=Path, help="where the frozen files are")
    parser.add_argument(
        "--compare", action="store_true", help="compare with the frozen files instead of writing"
    )
    parser.add_argument("--only", nargs="*", metavar="NAME", help="systems and recipes (default: all)")
    add_options(parser)
    given = parser.parse_args()
    folder = given.folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    os.environ.update(COLUMNS="80", NO_COLOR="1", TERM="dumb")
    torch.set_num_threads(1)
    everything: dict[str, Callable[[], Iterator[tuple[str, Callable[[], str]]]]] = {
        **{name: lambda name=name: of_system(name) for name in zoo.names()},  # type: ignore[misc]
        **{f"recipe {path.stem}": lambda path=path: of_recipe(path.resolve()) for path in RECIPES},  # type: ignore[misc]
    }
    failed, table = 0, {}
    for name, parts in everything.items():
        if given.only and name not in given.only:
            continue
        started = time.perf_counter()
        with tempfile.TemporaryDirectory() as scratch, contextlib.chdir(scratch):
            made = frozen(parts())
        kept = folder / f"{name.replace(' ', '-')}.json"
        digest = hashlib.sha256(json.dumps(made, sort_keys=True).encode()).hexdigest()[:12]
        line = f"{name:32} {len(made):3} parts  {digest}  {time.perf_counter() - started:5.1f} s"
        if given.compare:
            changed = differences(json.loads(kept.read_text(encoding="utf-8")), made)
            failed += bool(changed)
            line += f"  DIFFERS: {', '.join(changed)}" if changed else "  equal"
            if changed:
                kept.with_suffix(".new.json").write_text(
                    json.dumps(made, ensure_ascii=False), encoding="utf-8"
                )
            table[name] = changed
        else:
            kept.write_text(json.dumps(made, ensure_ascii=False), encoding="utf-8")
            table[name] = sorted(made)
        print(line + ("  STOPPED" if "stopped" in made else ""), flush=True)
    if given.compare:
        print(f"{len(table)} compared, {failed} differ")
    write_json(given.json, table)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
