"""Parameter counts of a model, possibly before its columns are fitted."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from pathlib import Path

import torch
from torch import nn

from regard.data.columns import Column
from regard.model.building import build_network, make_columns, shared_with
from regard.model.count_formula import CountFormula
from regard.model.loading import read_columns
from regard.spec import Spec


def parameter_counts(spec: Spec, columns_file: Path | None) -> tuple[dict[str, str], dict[str, int]]:
    """({part: count}, {vocabulary: size}).

    Before the columns are fitted, the sizes of the vocabularies are unknown. The counts are polynomials of these
    sizes, shown as `1,234 + 257 V(target)`; the transitions of a chain are quadratic, `V(tags)²`.
    """
    if columns_file is not None:
        columns = read_columns(columns_file)
        formulas: Mapping[str, CountFormula] = {}
    else:
        columns = fitted_to_nothing(spec)
        formulas = parameter_formulas(spec)
    sizes = data_sizes(columns)
    with torch.device("meta"):
        network = build_network(spec, columns, read_files=False)

    def count(module: nn.Module, prefix: str = "") -> str:
        total = CountFormula()
        for name, parameter in module.named_parameters():
            total += formulas.get(prefix + name, CountFormula.constant(parameter.numel()))
        return total.written(sizes)

    counts = {f"encoder {name}": count(part, f"encoders.{name}.") for name, part in network.encoders.items()}
    counts |= {f"decoder {name}": count(part, f"decoders.{name}.") for name, part in network.decoders.items()}
    return {**counts, "together": count(network)}, {} if columns_file is None else sizes


def data_sizes(columns: Mapping[str, Column]) -> dict[str, int]:
    """{vocabulary: size} of all columns: `words`, and `characters of words`."""
    found: dict[str, int] = {}
    for name, column in columns.items():
        if hasattr(column, "size"):
            found[name] = column.size
        found |= column.inner_sizes()
    return found


def parameter_formulas(spec: Spec) -> dict[str, CountFormula]:
    """{parameter: its number of entries, as a formula of the vocabulary sizes}, if it depends on them.

    Each dimension of a tensor is linear in each size, so one more network for each size gives the whole formula.
    """
    base = fitted_to_nothing(spec)
    sizes, shapes = data_sizes(base), _shapes(spec, base)
    dimensions = {name: [CountFormula.constant(size) for size in shape] for name, shape in shapes.items()}
    grown: set[str] = set()
    for size in sizes:
        columns = _fitted(spec, {size: 1})
        step = data_sizes(columns)[size] - sizes[size]
        if not step:
            continue
        for name, shape in _shapes(spec, columns).items():
            if name not in shapes:  # exists only if this vocabulary is the larger one
                continue
            for place, (more, less) in enumerate(zip(shape, shapes[name], strict=True)):
                slope = (more - less) // step
                if slope:
                    grown.add(name)
                    dimensions[name][place] += CountFormula({(size,): slope, (): -slope * sizes[size]})
    return {name: prod(dimensions[name], start=CountFormula.constant(1)) for name in shapes if name in grown}


def _shapes(spec: Spec, columns: dict[str, Column]) -> dict[str, tuple[int, ...]]:
    with torch.device("meta"):
        network = build_network(spec, columns, read_files=False)
    return {name: tuple(one.shape) for name, one in network.named_parameters(remove_duplicate=False)}


def fitted_to_nothing(spec: Spec) -> dict[str, Column]:
    """Columns fitted to a few made-up units, for a network without data."""
    return _fitted(spec, {})


def _fitted(spec: Spec, extra: Mapping[str, int]) -> dict[str, Column]:
    """Columns fitted to a few made-up units, plus `extra` units for some vocabularies."""
    columns = make_columns(spec)
    for name, column in columns.items():
        if name in spec.truth or name in shared_with(spec):
            continue
        decoder = spec.decoder.get(name)
        column.pretend((8 if decoder is None else decoder.part.fewest_units(decoder)) + extra.get(name, 0))
        for inner in column.inner_sizes():
            column.pretend_inner(inner, 8 + extra.get(inner, 0))
    for name, owner in shared_with(spec).items():
        columns[name].relearn(columns[owner].learned())
    return columns
