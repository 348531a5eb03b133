"""The tags decoder on the board."""

from __future__ import annotations

from regard.describe.lines import Answer, decoder_lines, loss_line, weighted
from regard.spec import TagsDecoderSpec


@decoder_lines.register(TagsDecoderSpec)
def _tags(decoder: TagsDecoderSpec) -> Answer:
    return ["p(y_j) = softmax(V h_j + b) at each position"]


@loss_line.register(TagsDecoderSpec)
def _loss(decoder: TagsDecoderSpec) -> str:
    return "−Σ_j log p(y_j | x), mean over the positions" + weighted(decoder.class_weights)
