"""All parts of a model put together."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from torch import nn

from regard.data.columns import Column
from regard.model.building.parents import with_parents
from regard.model.building.parts import build_decoder, build_encoder
from regard.model.network import Network, SamplingPlan
from regard.spec import (
    AlignmentSpec,
    BagEncoderSpec,
    FactsSpec,
    PlacesSpec,
    PositionsSpec,
    RecurrentDecoderSpec,
    SharedEncoderSpec,
    Spec,
    TreeSpec,
    attentions,
    places_between,
    story_of,
    trees_of,
)


def build_network(spec: Spec, columns: Mapping[str, Column], *, read_files: bool = True) -> Network:
    """The network a spec describes, with fresh weights.

    read_files   False leaves pretrained vectors unread: the weights are about to be loaded or only counted
    """
    shared = {name: part.of for name, part in spec.encoder.items() if isinstance(part, SharedEncoderSpec)}
    encoders = {
        name: with_parents(build_encoder(part, columns[name], read_files=read_files), part)
        for name, part in spec.encoder.items()
        if name not in shared
    }
    for name, part in spec.encoder.items():
        if isinstance(part, BagEncoderSpec) and part.like is not None:
            encoders[name].embedding = encoders[part.like].tables[0].embedding
    decoders: dict[str, Any] = {}
    for name, decoder in spec.decoder.items():
        sources = {
            source: encoders[shared.get(source, source)] for source in decoder.over or tuple(spec.encoder)
        }
        decoders[name] = build_decoder(decoder, columns[name], sources, read_files=read_files)
    return Network(
        encoders,
        decoders,
        over={name: decoder.over or tuple(spec.encoder) for name, decoder in spec.decoder.items()},
        truths={name: truth_columns(spec, name) for name in spec.decoder},
        shared=shared,
        trees=given_trees(spec),
        weights={name: decoder.weight for name, decoder in spec.decoder.items()},
        sampling={
            name: SamplingPlan(decoder.scheduled_sampling.share, decoder.scheduled_sampling.steps)
            for name, decoder in spec.decoder.items()
            if isinstance(decoder, RecurrentDecoderSpec) and decoder.scheduled_sampling
        },
    )


def given_trees(spec: Spec) -> dict[str, str]:
    """{input: tree column} of the inputs whose parents are given."""
    given = {}
    for name, column in trees_of(spec).items():
        encoder = spec.encoder[name]
        owner = spec.encoder[encoder.of] if isinstance(encoder, SharedEncoderSpec) else encoder
        if isinstance(owner, PositionsSpec) and owner.parents is not None and owner.parents.select == "given":
            given[name] = column
    return given


def truth_columns(spec: Spec, output: str) -> dict[str, str]:
    """{input: truth column} for every input whose alignment with this output the data know."""
    found: dict[str, str] = {}
    for name, truth in spec.truth.items():
        if isinstance(truth, TreeSpec):
            continue
        source, target = _between(truth, spec)
        wanted = [
            attention.truth
            for attention in attentions(spec.decoder[output])
            if attention.over in (None, source)
        ]
        if target == output and (source not in found or name in wanted):
            found[source] = name
    return found


def _between(truth: AlignmentSpec | FactsSpec | PlacesSpec, spec: Spec) -> tuple[str, str]:
    """The input and the output a truth column is about."""
    if isinstance(truth, FactsSpec):
        return story_of(truth, spec), next(iter(spec.outputs))
    if isinstance(truth, PlacesSpec):
        return places_between(truth, spec)
    return truth.of or (next(iter(spec.inputs)), next(iter(spec.outputs)))


def count_parameters(module: nn.Module) -> int:
    return sum(parameter.numel() for parameter in module.parameters())
