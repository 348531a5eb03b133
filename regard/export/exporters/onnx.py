"""ONNX: the encoder and one step as graphs, and a runner on onnxruntime without torch."""

from __future__ import annotations

import json
import logging
import shutil
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from regard.export import recipes
from regard.export.exporter import Exporter
from regard.export.graphs import ExportedGraph
from regard.export.parity import compare
from regard.parts import register

RUNNER = Path(__file__).parents[1] / "runner.py"


@register("exporter", "onnx")
class OnnxExporter(Exporter):
    """Two ONNX graphs, the encoder and one step with its attention, and a runner without torch."""

    needs = ("onnx", "onnxscript", "onnxruntime")
    extra = "onnx"
    records = True

    @classmethod
    def refused(cls, model: Any, output: str) -> str:
        return recipes.refused(model, output)

    @classmethod
    def write(cls, model: Any, output: str, folder: Path) -> list[str]:
        graphs = recipes.programs(model, output)
        files = {graph.name: f"{graph.name}.onnx" for graph in graphs.graphs}
        for graph in graphs.graphs:
            _write(graph, folder / files[graph.name])
        found = compare(graphs, _runner(graphs.graphs, folder))
        told = recipes.description(model, output, graphs, files)
        (folder / "model.json").write_text(
            json.dumps(told, ensure_ascii=False, indent=1) + "\n", encoding="utf-8"
        )
        shutil.copyfile(RUNNER, folder / "run.py")
        given = '\'{"…": "…", "…": "…"}\'' if len(model.spec.inputs) > 1 else '"…"'
        return [
            *(
                f"- `{files[graph.name]}`: {', '.join(graph.inputs)} → {', '.join(graph.outputs)}"
                for graph in graphs.graphs
            ),
            "- `model.json`: vocabularies, tokenization, search",
            "- `run.py`: answers with them; needs numpy and onnxruntime",
            "",
            "```bash",
            f"python run.py {given}",
            "python run.py -f inputs.txt",
            "```",
            "",
            "```python",
            "from run import Exported",
            "",
            'Exported(".").predict(["…", "…"])[0].text',
            "```",
            "",
            f"Compared with the model when it was exported, on lengths from 1 to 64: {found}.",
        ]


def _write(graph: ExportedGraph, path: Path) -> None:
    import torch

    before = logging.root.manager.disable
    logging.disable(logging.WARNING)
    try:
        with torch.no_grad(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            made = torch.onnx.export(
                graph.program,
                dynamo=True,
                verbose=False,
                input_names=list(graph.inputs),
                output_names=list(graph.outputs),
            )
            assert made is not None
            made.save(str(path))
    finally:
        logging.disable(before)
    _tidy(path, graph)


def _tidy(path: Path, graph: ExportedGraph) -> None:
    """Give the axes of any length their names instead of torch's symbols, and remove torch's notes, which hold paths of
    this machine."""
    import onnx

    model = onnx.load(str(path))
    _without_notes(model.graph)
    for function in model.functions:
        _without_notes(function)
    known: dict[str, str] = {}
    for value in model.graph.input:
        for axis, size in enumerate(value.type.tensor_type.shape.dim):
            if size.dim_param and (name := graph.axes.get(value.name, {}).get(axis)):
                known.setdefault(size.dim_param, name)
    for value in (*model.graph.input, *model.graph.output, *model.graph.value_info):
        for size in value.type.tensor_type.shape.dim:
            if size.dim_param in known:
                size.dim_param = known[size.dim_param]
    onnx.save(model, str(path))


def _without_notes(part: Any) -> None:
    """Remove the notes of a graph or a function, of its nodes and of the graphs inside them."""
    values = [
        getattr(part, name)
        for name in ("input", "output", "value_info", "initializer")
        if hasattr(part, name)
    ]
    for one in (
        part,
        *part.node,
        *(value for several in values for value in several if hasattr(value, "metadata_props")),
    ):
        one.ClearField("metadata_props")
        one.ClearField("doc_string")
    for node in part.node:
        for attribute in node.attribute:
            for inside in (attribute.g, *attribute.graphs):
                if inside.node:
                    _without_notes(inside)


def _runner(graphs: tuple[ExportedGraph, ...], folder: Path) -> Any:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    sessions = {
        graph.name: onnxruntime.InferenceSession(str(folder / f"{graph.name}.onnx"), options)
        for graph in graphs
    }
    outputs = {graph.name: list(graph.outputs) for graph in graphs}
    inputs = {graph.name: list(graph.inputs) for graph in graphs}

    def run(name: str, given: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        found = sessions[name].run(outputs[name], {one: given[one] for one in inputs[name]})
        return dict(zip(outputs[name], found, strict=True))

    return run
