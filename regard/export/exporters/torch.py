"""Programs of `torch.export`: the encoder and one step, which torch runs without regard."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import torch

from regard.export import recipes
from regard.export.exporter import Exporter
from regard.export.graphs import ExportedGraph
from regard.export.parity import compare
from regard.parts import register


@register("exporter", "torch")
class TorchExporter(Exporter):
    """Two programs of `torch.export`, the encoder and one step with its attention."""

    records = True
    opens: ClassVar[str] = "torch.export.load({!r}).module()"

    @classmethod
    def refused(cls, model: Any, output: str) -> str:
        return recipes.refused(model, output)

    @classmethod
    def write(cls, model: Any, output: str, folder: Path) -> list[str]:
        graphs = recipes.programs(model, output)
        files = {graph.name: f"{graph.name}.pt2" for graph in graphs.graphs}
        with torch.no_grad(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for graph in graphs.graphs:
                cls.put(graph, folder / files[graph.name])
            opened = {graph.name: cls.opened(folder / files[graph.name]) for graph in graphs.graphs}
            found = compare(graphs, _runner(graphs.graphs, opened))
        told = recipes.description(model, output, graphs, files)
        written = json.dumps(told, ensure_ascii=False, indent=1) + "\n"
        (folder / "model.json").write_text(written, encoding="utf-8")
        first = graphs.graphs[0]
        return [
            *(
                f"- `{files[one.name]}`: {', '.join(one.inputs)} → {', '.join(one.outputs)}"
                for one in graphs.graphs
            ),
            "- `model.json`: vocabularies, tokenization, search, and the order of inputs and outputs",
            "",
            "```python",
            "import torch",
            "",
            f"{first.name} = {cls.opens.format(files[first.name])}",
            f"{first.name}({', '.join(name.replace('.', '_') for name in first.inputs)})",
            "```",
            "",
            f"Compared with the model when it was exported, on lengths from 1 to 64: {found}.",
        ]

    @classmethod
    def put(cls, graph: ExportedGraph, path: Path) -> None:
        """Write a graph."""
        torch.export.save(graph.program, str(path))

    @classmethod
    def opened(cls, path: Path) -> Callable[..., Any]:
        """The function of a written graph."""
        return torch.export.load(str(path)).module()


def _runner(graphs: tuple[ExportedGraph, ...], opened: Mapping[str, Callable[..., Any]]) -> Any:
    known = {graph.name: graph for graph in graphs}

    def run(name: str, given: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        graph = known[name]
        found = opened[name](*(torch.from_numpy(np.array(given[one])) for one in graph.inputs))
        return dict(zip(graph.outputs, (part.numpy() for part in found), strict=True))

    return run
