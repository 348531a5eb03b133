"""From a spec and columns to a Network: every part builds itself."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from torch import nn

from regard.data.columns import Column
from regard.nn.encoders import build_encoder, owner_of
from regard.nn.network import Network
from regard.spec import Spec


def build_network(spec: Spec, columns: Mapping[str, Column], *, read_files: bool = True) -> Network:
    """The network of a spec, with new weights.

    read_files   False: do not read pretrained vectors, because the weights will be loaded or only counted
    """
    shared = {name: owner for name, part in spec.encoder.items() if (owner := part.part.owner(part))}
    encoders = {
        name: build_encoder(part, columns[name], read_files=read_files)
        for name, part in spec.encoder.items()
        if name not in shared
    }
    for name, encoder in encoders.items():
        encoder.connect(spec.encoder[name], encoders)
    over = {name: decoder.over or tuple(spec.encoder) for name, decoder in spec.decoder.items()}
    decoders: dict[str, Any] = {}
    for name, decoder in spec.decoder.items():
        sources = {source: encoders[shared.get(source, source)] for source in over[name]}
        decoders[name] = decoder.part.build(decoder, columns[name], sources, read_files=read_files)
    return Network(
        encoders,
        decoders,
        over=over,
        truths={name: truth_columns(spec, name) for name in spec.decoder},
        shared=shared,
        trees=given_trees(spec),
        weights={name: decoder.weight for name, decoder in spec.decoder.items()},
    )


def tree_columns(columns: Mapping[str, Any]) -> dict[str, str]:
    """{input: the column of its tree}, for some columns of a spec."""
    return {column.of: name for name, column in columns.items() if column.part.can_be("tree")}


def given_trees(spec: Spec) -> dict[str, str]:
    """{input: tree column} for the inputs whose parents are given in the data."""
    given = {}
    for name, column in tree_columns(spec.inputs).items():
        parents = getattr(owner_of(spec, name), "parents", None)
        if parents is not None and "heads" in parents.select.part.needs:
            given[name] = column
    return given


def truth_columns(spec: Spec, output: str) -> dict[str, str]:
    """{input: truth column} for every input whose alignment with this output is in the data."""
    found: dict[str, str] = {}
    decoder = spec.decoder[output]
    for name, truth in spec.truth.items():
        pair = truth.part.between(truth, spec)
        if pair is None:
            continue
        source, target = pair
        wanted = [one.truth for one in decoder.part.attentions(decoder) if one.over in (None, source)]
        if target == output and (source not in found or name in wanted):
            found[source] = name
    return found


def count_parameters(module: nn.Module) -> int:
    return sum(parameter.numel() for parameter in module.parameters())
