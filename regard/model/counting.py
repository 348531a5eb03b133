"""Parameter counts of a model, possibly before its columns are fitted."""

from __future__ import annotations

from pathlib import Path

import torch

from regard.data.columns import Column
from regard.model.building import build_network, count_parameters
from regard.model.columns import make_columns, shared_with
from regard.model.store import read_columns
from regard.spec import Spec


def parameter_counts(spec: Spec, columns_file: Path | None) -> tuple[dict[str, str], dict[str, int]]:
    """({part: count}, {column: vocabulary size}).

    Before the columns are fitted, the sizes of the vocabularies are unknown. The counts are linear in these
    sizes and are shown as `1,234 + 257 V(target)`.
    """
    if columns_file is not None:
        columns = read_columns(columns_file)
        counts = {part: f"{count:,}" for part, count in _counts(spec, columns).items()}
        sizes = {name: column.size for name, column in columns.items() if hasattr(column, "size")}
        return counts, sizes
    names = [name for name in make_columns(spec) if name not in spec.truth]
    free = [name for name in names if name not in shared_with(spec)]
    base = _counts(spec, _fitted(spec, {}))
    slopes = {name: _counts(spec, _fitted(spec, {name: 1})) for name in free}
    formulas = {}
    for part, count in base.items():
        terms = {name: slopes[name][part] - count for name in free}
        constant = count - sum(slope * _size(spec, name) for name, slope in terms.items())
        shown = [f"{constant:,}"] + [f"{slope:,} V({name})" for name, slope in terms.items() if slope]
        formulas[part] = " + ".join(shown)
    return formulas, {}


def parameter_slopes(spec: Spec) -> dict[str, tuple[dict[str, int], int]]:
    """{column: ({parameter: growth per unit of its vocabulary}, its number of units in `fitted_to_nothing`)}.

    Only columns and parameters that grow are listed.
    """

    def sizes(columns: dict[str, Column]) -> dict[str, int]:
        with torch.device("meta"):
            network = build_network(spec, columns, read_files=False)
        return {name: one.numel() for name, one in network.named_parameters(remove_duplicate=False)}

    base, found = sizes(_fitted(spec, {})), {}
    for name in make_columns(spec):
        if name in spec.truth or name in shared_with(spec):
            continue
        more = sizes(_fitted(spec, {name: 1}))
        grown = {place: more[place] - count for place, count in base.items() if more[place] != count}
        if grown:
            found[name] = (grown, _size(spec, name))
    return found


def _counts(spec: Spec, columns: dict[str, Column]) -> dict[str, int]:
    with torch.device("meta"):
        network = build_network(spec, columns, read_files=False)
    parts = {f"encoder {name}": count_parameters(module) for name, module in network.encoders.items()}
    parts |= {f"decoder {name}": count_parameters(module) for name, module in network.decoders.items()}
    return {**parts, "together": count_parameters(network)}


def fitted_to_nothing(spec: Spec) -> dict[str, Column]:
    """Columns fitted to a few made-up units, for a network without data."""
    return _fitted(spec, {})


def _fitted(spec: Spec, extra: dict[str, int]) -> dict[str, Column]:
    """Columns fitted to a few made-up units, plus `extra` units for some columns."""
    columns = make_columns(spec)
    for name, column in columns.items():
        if name in spec.truth or name in shared_with(spec):
            continue
        decoder = spec.decoder.get(name)
        column.pretend((8 if decoder is None else decoder.part.fewest_units(decoder)) + extra.get(name, 0))
    for name, owner in shared_with(spec).items():
        columns[name].relearn(columns[owner].learned())
    return columns


def _size(spec: Spec, name: str) -> int:
    return int(getattr(_fitted(spec, {})[name], "size", 0))
