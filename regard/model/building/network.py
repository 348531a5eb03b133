"""All parts of a model put together."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from torch import nn

from regard.data.columns import Column
from regard.model.building.parts import build_decoder, build_encoder
from regard.model.network import Network, SamplingPlan
from regard.spec import RecurrentDecoderSpec, Spec, attentions


def build_network(spec: Spec, columns: Mapping[str, Column], *, read_files: bool = True) -> Network:
    """The network a spec describes, with fresh weights.

    read_files   False leaves pretrained vectors unread: the weights are about to be loaded or only counted
    """
    encoders = {
        name: build_encoder(spec.encoder[name], columns[name], read_files=read_files) for name in spec.inputs
    }
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
        source, target = truth.of or (next(iter(spec.inputs)), next(iter(spec.outputs)))
        wanted = [
            attention.truth
            for attention in attentions(spec.decoder[output])
            if attention.over in (None, source)
        ]
        if target == output and (source not in found or name in wanted):
            found[source] = name
    return found


def count_parameters(module: nn.Module) -> int:
    return sum(parameter.numel() for parameter in module.parameters())
