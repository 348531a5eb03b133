"""Exported models beside ours: the same answers on unseen rows, the attention of every answer, and the time of a step.

    python bench/export.py runs/g2p runs/translation        ONNX of these runs
    python bench/export.py runs/* --rows 500 --json export.json
    python bench/export.py runs/g2p --time                  only the time, which wants an idle machine
    python bench/export.py --systems [NAME...]              every system of the zoo, or these: exported, or the reason
    python bench/export.py --formats torch aoti             small models in other formats: written, or the reason

Answers and attention are those of the runner `run.py` in the export, against `model.predict`. Answers that differ are
counted as ties if both have the same probability to 1e-4. Large scores make single precision round the attention
by more than 1e-5: then the model is also exported in double precision and compared with itself in double precision,
and all answers in single precision are measured from there. The time of a step is that of a greedy search of 20 tokens
after the encoder, of the runner and of ours with its fast paths, in turns, on the same number of threads.

Exit status 1 if an answer differs without a tie; or the attention by more than 1e-5, unless the export in double
precision is right to 1e-9, and in single precision at most twice as far from there as the plain model.
"""

from __future__ import annotations

import argparse
import copy
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from importlib.util import module_from_spec, spec_from_file_location
from itertools import islice
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import torch
from written import parse, write_json

import regard
from regard.data.sources import open_splits
from regard.errors import RegardError
from regard.export import export
from regard.nn.path import without_fast_paths
from regard.nn.search import Greedy, Limits

CLOSE, TIE, EXACT = 1e-5, 1e-4, 1e-9
BATCHES = (1, 32)
STEPS, TURNS = 20, 9


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("runs", nargs="*", type=Path, metavar="RUN")
    parser.add_argument("--rows", type=int, default=500, help="unseen rows to compare")
    parser.add_argument("--time", action="store_true", help="measure the time only")
    parser.add_argument("--no-time", action="store_true", help="leave out the time")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="keep exports here, and use those there")
    parser.add_argument("--systems", action="store_true", help="try every system of the zoo, untrained")
    parser.add_argument("--formats", nargs="+", metavar="FORMAT", help="write small models in these formats")
    given = parse(parser)
    if given.formats:
        return formats(given.json, given.formats)
    if given.systems:
        return systems(given.json, [str(run) for run in given.runs])
    found, missed = [], False
    for run in given.runs:
        with tempfile.TemporaryDirectory() as temporary:
            folder = (given.keep or Path(temporary)) / run.name
            model = regard.load(run, device="cpu")
            if not folder.exists():
                export(model, folder)
            one: dict[str, Any] = {"run": run.name}
            inputs = unseen(model, given.rows)
            runner = runner_of(folder)
            if not given.time:
                one |= compared(model, runner, inputs)
                if one["attention"] > CLOSE:
                    one |= in_double(model, inputs, runner)
                missed = missed or bool(one["different"]) or not near(one)
            if not given.no_time:
                one |= timed(model, runner, inputs)
            found.append(one)
            print(line(one), flush=True)
    write_json(given.json, {"torch": torch.__version__, "threads": torch.get_num_threads(), "runs": found})
    return int(missed)


def near(one: dict[str, Any]) -> bool:
    """Whether the attention of an export is that of its model, as near as its precision allows."""
    if one["attention"] <= CLOSE:
        return True
    same = one["double_same"] == one["rows"] and one["double"] <= EXACT
    return bool(same and one["from_double"] <= 2 * one["rounding"])


def line(one: dict[str, Any]) -> str:
    parts = [f"{one['run']:<28}"]
    if "rows" in one:
        parts.append(
            f"{one['rows']} rows, {one['same']} equal, {one['ties']} ties, {one['different']} different; "
            f"attention to {one['attention']:.1e}; beam: {one['beam_same']} equal, {one['beam_ties']} ties, "
            f"{one['beam_different']} different"
        )
    if "double" in one:
        parts.append(
            f"in double precision {one['double_same']} equal, attention to {one['double']:.1e}; from there, single "
            f"precision: the plain model {one['rounding']:.1e}, ours {one['ours_from_double']:.1e}, the export "
            f"{one['from_double']:.1e}"
        )
    for rows in BATCHES:
        if f"step_{rows}" in one:
            ours, theirs, ratio = one[f"step_{rows}"]
            parts.append(
                f"step of {rows}: ours {ours:.2f} ms, onnxruntime {theirs:.2f} ms, ratio {ratio:.2f}"
            )
    return "; ".join(parts)


def unseen(model: Any, count: int) -> list[Any]:
    """Inputs that the model was not trained on."""
    splits = open_splits(model.spec)
    rows = (row for name in ("test", "dev", "long") if name in splits for row in splits[name])
    fields = {name: model.columns[name].field for name in model.spec.inputs}
    several = len(fields) > 1
    made: Iterator[Any] = (
        {name: located(model, name, row, field) for name, field in fields.items()}
        if several
        else located(model, next(iter(fields)), row, next(iter(fields.values())))
        for row in rows
    )
    return list(islice(made, count))


def located(model: Any, name: str, row: Any, field: str) -> Any:
    """The value of an input; an image as its pixels on the canvas."""
    column = model.columns[name]
    if column.names_files:
        return column.encode(column.located(row[field], row.file))
    return row[field]


def runner_of(folder: Path) -> Any:
    """The module `run.py` of an export."""
    spec = spec_from_file_location("run", folder / "run.py")
    assert spec is not None and spec.loader is not None
    module = module_from_spec(spec)
    sys.modules["run"] = module
    spec.loader.exec_module(module)
    return module


def compared(model: Any, runner: Any, inputs: Sequence[Any]) -> dict[str, Any]:
    """Greedy search with its attention, then a beam of 5."""
    folder = Path(runner.__file__).parent
    stepwise = all(decoder.stepwise for decoder in model.network.decoders.values())
    found: dict[str, Any] = {"rows": len(inputs)}
    for method, prefix in (("greedy", ""), ("beam", "beam_")):
        options = {} if not stepwise else {"method": method, **({"beam": 5} if method == "beam" else {})}
        ours = model.predict(list(inputs), **options)
        theirs = runner.Exported(folder, **options).predict(list(inputs))
        same = [mine.text == other.text for mine, other in zip(ours, theirs, strict=True)]
        ties = sum(
            abs(mine.score - other.score) <= TIE * max(1.0, abs(mine.score))
            for mine, other, equal in zip(ours, theirs, same, strict=True)
            if not equal
        )
        found |= {
            f"{prefix}same": sum(same),
            f"{prefix}ties": ties,
            f"{prefix}different": len(same) - sum(same) - ties,
        }
        gaps = [gap(mine, other) for mine, other, equal in zip(ours, theirs, same, strict=True) if equal]
        found[f"{prefix}attention"] = max(gaps, default=0.0)
    return found


def in_double(model: Any, inputs: Sequence[Any], runner: Any) -> dict[str, Any]:
    """Greedy search in double precision, of the model and of its export; and how far single precision is from it."""
    single = runner.Exported(Path(runner.__file__).parent, method="greedy").predict(list(inputs))
    fast = model.predict(list(inputs), method="greedy")
    with without_fast_paths():
        plain = model.predict(list(inputs), method="greedy")
        doubled = copy.copy(model)
        doubled.network = copy.deepcopy(model.network).double()
        exact = doubled.predict(list(inputs), method="greedy")
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary) / "double"
        export(model, folder, double=True)
        theirs = runner.Exported(folder, method="greedy").predict(list(inputs))
    pairs = {"double": theirs, "from_double": single, "ours_from_double": fast, "rounding": plain}
    gaps = {
        name: max(
            (gap(mine, other) for mine, other in zip(exact, others, strict=True) if mine.text == other.text),
            default=0.0,
        )
        for name, others in pairs.items()
    }
    return gaps | {
        "double_same": sum(mine.text == other.text for mine, other in zip(exact, theirs, strict=True))
    }


def gap(mine: Any, other: Any) -> float:
    """The largest difference of two answers in their attention."""
    largest, looks = 0.0, getattr(other, "trace", other).attention
    for name, weights in mine.trace.attention.items():
        theirs = np.asarray(looks[name])
        if weights.shape != theirs.shape:
            return float("inf")
        largest = max(largest, float(np.abs(np.asarray(weights) - theirs).max()))
    return largest


def timed(model: Any, runner: Any, inputs: Sequence[Any]) -> dict[str, Any]:
    """{step_ROWS: [milliseconds of ours, of onnxruntime, their ratio]}, medians of turns."""
    if not all(decoder.stepwise for decoder in model.network.decoders.values()):
        return {}
    threads = torch.get_num_threads()
    limits = {"min_length": STEPS - 1, "max_length": STEPS - 1}
    exported = runner.Exported(Path(runner.__file__).parent, threads=threads, method="greedy", **limits)
    found = {}
    for rows in BATCHES:
        given = (list(inputs) * rows)[:rows]
        mine, other = our_steps(model, given), their_steps(runner, exported, given)
        mine(), other()
        times = [(clock(mine), clock(other)) for _ in range(TURNS)]
        ours, theirs = (median(one) * 1000 / STEPS for one in zip(*times, strict=True))
        ratio = median(theirs_ / ours_ for ours_, theirs_ in times)
        found[f"step_{rows}"] = [ours, theirs, ratio]
    return found


def clock(call: Callable[[], Any]) -> float:
    begin = time.perf_counter()
    call()
    return time.perf_counter() - begin


def our_steps(model: Any, inputs: Sequence[Any]) -> Callable[[], Any]:
    output = next(iter(model.spec.outputs))
    batch = model.dataset([model.row(value) for value in inputs]).batch(range(len(inputs)))
    network, decoder = model.network, model.network.decoders[output]
    search = Greedy(Limits(minimum=STEPS - 1, maximum=STEPS - 1))
    with torch.inference_mode():
        memories = network.memories(output, network.encode(batch))

    def run() -> Any:
        with torch.inference_mode():
            return decoder.predict(memories, search)

    return run


def their_steps(runner: Any, exported: Any, inputs: Sequence[Any]) -> Callable[[], Any]:
    rows = [exported._row(value) for value in inputs]
    given = {
        f"{name}.{part}": array
        for name, column in exported.columns.items()
        for part, array in column.arrays([row[name] for row in rows]).items()
    }
    begun, told = exported.run("encoder", given), exported.description
    shared, state = ({name: begun[name] for name in told[which]} for which in ("shared", "state"))
    last = np.full(len(rows), STEPS - 1)
    exported.batch = len(rows)
    return lambda: runner.greedy(runner.Steps(exported, dict(shared), dict(state), last))


def systems(file: Path | None, chosen: Sequence[str]) -> int:
    """Whether each system of the zoo can be exported."""
    from regard.export.checking import possible
    from regard.zoo.systems import names as zoo

    found = {}
    for name in chosen or zoo():
        try:
            found[name] = dict(possible(untrained(name)))
        except (RegardError, OSError) as error:  # such as data that are not on this machine
            found[name] = {"onnx": str(error)}
        print(f"{name:<36} {found[name].get('onnx') or 'yes'}", flush=True)
    write_json(file, found)
    return 0


def formats(file: Path | None, wanted: Sequence[str]) -> int:
    """Small models in each format; one that is written was compared with the model."""
    sys.path.insert(0, str(Path(__file__).parents[1]))
    from tests.export.small import LABEL, TRANSFORMER, trained

    kinds: dict[str, dict[str, Any]] = {
        "a label from a mean": LABEL,
        "a Transformer": {"encoder": TRANSFORMER, "decoder": TRANSFORMER, "attention": None},
        "a recurrent model": {},
    }
    found: dict[str, dict[str, str]] = {}
    for to in wanted:
        for kind, parts in kinds.items():
            began = time.perf_counter()
            with tempfile.TemporaryDirectory() as folder:
                try:
                    export(trained(0, **parts), Path(folder) / "out", to=to)
                    told = f"yes, {time.perf_counter() - began:.0f} s"
                except RegardError as error:
                    told = str(error)
            found.setdefault(to, {})[kind] = told
            print(f"{to:<12} {kind:<24} {told}", flush=True)
    write_json(file, found)
    return 0


def untrained(name: str) -> Any:
    """A small model of a system of the zoo, with new weights."""
    sys.path.insert(0, str(Path(__file__).parents[1]))
    from regard.model import build
    from tests.studio.small_runs import small_spec

    spec = small_spec(name)
    return build(spec, rows=list(islice(open_splits(spec)["train"], 60)))


if __name__ == "__main__":
    sys.exit(main())
