"""Trained models in the formats of other programs."""

from typing import TYPE_CHECKING

from regard.lazy import at_first_use

if TYPE_CHECKING:
    from regard.export.exporter import Exporter
    from regard.export.exporters.ctranslate2 import ctranslate2_model, ctranslate2_spec
    from regard.export.exporting import export
    from regard.export.graphs import ExportedGraph, ExportedGraphs
    from regard.export.parity import Parity, compare
    from regard.export.recipes import programs
else:
    __getattr__ = at_first_use(__name__)

__all__ = [
    "ExportedGraph",
    "ExportedGraphs",
    "Exporter",
    "Parity",
    "compare",
    "ctranslate2_model",
    "ctranslate2_spec",
    "export",
    "programs",
]
