"""All parts of a model put together."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from torch import nn

from regard.data.columns import Column
from regard.model.building.parts import build_decoder, build_encoder
from regard.model.network import Network, SamplingPlan
from regard.spec import BagEncoderSpec, FactsSpec, RecurrentDecoderSpec, Spec, attentions, story_of
from regard.spec.columns import TruthSpec


def build_network(spec: Spec, columns: Mapping[str, Column], *, read_files: bool = True) -> Network:
    """The network a spec describes, with fresh weights.

    read_files   False leaves pretrained vectors unread: the weights are about to be loaded or only counted
    """
    encoders = {
        name: build_encoder(spec.encoder[name], columns[name], read_files=read_files) for name in spec.inputs
    }
    for name, part in spec.encoder.items():
        if isinstance(part, BagEncoderSpec) and part.like is not None:
            encoders[name].embedding = encoders[part.like].tables[0].embedding
    decoders: dict[str, Any] = {}
    for name, decoder in spec.decoder.items():
        sources = {source: encoders[source] for source in decoder.over or tuple(spec.inputs)}
        decoders[name] = build_decoder(decoder, columns[name], sources, read_files=read_files)
    return Network(
        encoders,
        decoders,
        over={name: decoder.over or tuple(spec.inputs) for name, decoder in spec.decoder.items()},
        truths={name: truth_columns(spec, name) for name in spec.decoder},
        weights={name: decoder.weight for name, decoder in spec.decoder.items()},
        sampling={
            name: SamplingPlan(decoder.scheduled_sampling.share, decoder.scheduled_sampling.steps)
            for name, decoder in spec.decoder.items()
            if isinstance(decoder, RecurrentDecoderSpec) and decoder.scheduled_sampling
        },
    )


def truth_columns(spec: Spec, output: str) -> dict[str, str]:
    """{input: truth column} for every input whose alignment with this output the data know."""
    found: dict[str, str] = {}
    for name, truth in spec.truth.items():
        source, target = _between(truth, spec)
        wanted = [
            attention.truth
            for attention in attentions(spec.decoder[output])
            if attention.over in (None, source)
        ]
        if target == output and (source not in found or name in wanted):
            found[source] = name
    return found


def _between(truth: TruthSpec, spec: Spec) -> tuple[str, str]:
    """The input and the output a truth column is about."""
    if isinstance(truth, FactsSpec):
        return story_of(truth, spec), next(iter(spec.outputs))
    return truth.of or (next(iter(spec.inputs)), next(iter(spec.outputs)))


def count_parameters(module: nn.Module) -> int:
    return sum(parameter.numel() for parameter in module.parameters())
