"""The tags decoder on the board."""

from __future__ import annotations

from regard.describe.lines import Answer, decoder_lines, loss_line, weighted
from regard.spec import TagsDecoderSpec


@decoder_lines.register(TagsDecoderSpec)
def _tags(decoder: TagsDecoderSpec) -> Answer:
    if not decoder.crf:
        return ["p(y_j) = softmax(V h_j + b) at each position"]
    allowed = (
        "" if decoder.constraints == "none" else f"; sequences that are not {decoder.constraints} have p = 0"
    )
    found = {"viterbi": "the most probable sequence (Viterbi)", "marginal": "argmax p(y_j) at each position"}
    return [
        "p(y) = exp(Σ_j (V h_j + b)[y_j] + Σ_j A[y_j, y_{j+1}]) / Z   Z over all sequences (forward algorithm)",
        f"found: {found[decoder.decode]}{allowed}",
    ]


@loss_line.register(TagsDecoderSpec)
def _loss(decoder: TagsDecoderSpec) -> str:
    if decoder.crf:
        return "−log p(y | x) of whole sequences, mean over the positions"
    return "−Σ_j log p(y_j | x), mean over the positions" + weighted(decoder.class_weights)
