"""What a program without regard must know of a model, as data: how inputs are read, the output written and searched."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import torch

from regard.export.graphs import ExportedGraphs
from regard.export.inputs import FORMS, ExampleInputs
from regard.export.recording import ROWS, record
from regard.model import Model
from regard.version import __version__

WEIGHTS = ("spec.yaml", "columns.json", "model.safetensors")
FORMAT = 1
AT_ONCE = ("class", "classes", "set")


def refused(model: Any, output: str) -> str:
    """Why this output of a model cannot become the programs of `graphs`, in a sentence; empty if it seems possible."""
    if model.continues:
        return "it continues a text: the runner answers inputs."
    copied = getattr(model.network.decoders[output], "copies_from", None)
    if copied is not None:
        return f"its decoder copies words of {copied}, which the runner cannot."
    for name in model.spec.inputs:
        column = model.columns[name]
        recipe = column.exported()
        if recipe is None or recipe["form"] not in FORMS:
            return f"the runner cannot read its input {name}, of type {column.type}."
    decoder, column = model.network.decoders[output], model.columns[output]
    recipe = column.exported()
    kind = "" if recipe is None else recipe["form"]
    if kind not in (("tokens",) if decoder.stepwise else AT_ONCE):
        return f"the runner cannot write its output {output}, of type {column.type}."
    if model.network.trees:
        return "its encoder reads given trees."
    if getattr(decoder, "allowed", None) is not None:
        return "its tags obey a scheme, which the runner does not know."
    search = model.spec.search
    if decoder.stepwise and search.constraint:
        return "its outputs obey a constraint; the runner knows none; leave out search.constraint."
    if decoder.stepwise and search.method.part.exported(search.method) is None:
        return f"it searches by {search.method.type}; the runner searches greedily or with a beam; choose a beam."
    return ""


def input_recipes(model: Model) -> dict[str, dict[str, Any]]:
    return {name: model.columns[name].exported() or {} for name in model.spec.inputs}


def examples(model: Model) -> tuple[ExampleInputs, ExampleInputs]:
    """Made-up inputs of two sizes, from which the axes of any length are found."""
    recipes = input_recipes(model)
    made = []
    for place, rows in enumerate(ROWS):
        lengths = {
            name: [7 + 4 * number + 2 * place, *(1 + row for row in range(rows - 1))]
            for number, name in enumerate(recipes)
        }
        made.append(ExampleInputs.made_up(recipes, lengths))
    return made[0], made[1]


def programs(model: Model, output: str) -> ExportedGraphs:
    """The output of a model as programs: an encoder and a step, or one that answers at once."""
    return record(model.network, output, examples(model))


def description(model: Model, output: str, graphs: ExportedGraphs, files: dict[str, str]) -> dict[str, Any]:
    """The content of model.json.

    files   the file of each graph
    """
    search, first = model.spec.search, graphs.longest[0]
    factor = graphs.longest[1] - first
    return {
        "format": FORMAT,
        "regard": __version__,
        "torch": torch.__version__,
        "name": model.spec.name,
        "digest": digest(model.folder),
        "inputs": input_recipes(model),
        "output": {"name": output, **(model.columns[output].exported() or {})},
        "search": {
            "method": "greedy",
            **(search.method.part.exported(search.method) or {}),
            "n_best": search.n_best,
            "min_length": search.min_length,
            "max_length": search.max_length,
            "replace_unknown": search.replace_unknown,
        },
        "graphs": {
            graph.name: {
                "file": files[graph.name],
                "inputs": list(graph.inputs),
                "outputs": list(graph.outputs),
            }
            for graph in graphs.graphs
        },
        "shared": list(graphs.shared),
        "state": list(graphs.state),
        "looks": list(graphs.looks),
        "timed": graphs.timed,
        "grids": dict(graphs.grids),
        "begin": graphs.begin,
        "end": graphs.end,
        "forbidden": list(graphs.forbidden),
        "longest": {"factor": factor, "plus": first - factor},
    }


def digest(folder: Path | None) -> str:
    """SHA-256 of the spec, the vocabularies and the weights of a run; empty for a model in memory."""
    if folder is None:
        return ""
    found = hashlib.sha256()
    for name in WEIGHTS:
        found.update((folder / name).read_bytes())
    return found.hexdigest()
