"""Soft parents and shared encoders on the board."""

from __future__ import annotations

from regard.describe.lines import Answer, encoder_lines
from regard.spec import ParentsSpec, SharedEncoderSpec


@encoder_lines.register(SharedEncoderSpec)
def _shared(encoder: SharedEncoderSpec) -> Answer:
    return [f"read by the encoder of {encoder.of}, the same weights"]


def parents_lines(parents: ParentsSpec | None) -> Answer:
    """What a memory's soft parents are; nothing where it has none."""
    if parents is None:
        return []
    if parents.select == "given":
        return ["memory [h_j; h_head(j)], the heads given with the data, h_0 a root symbol, learned"]
    arcs = {
        "additive": "s_rj = v·tanh(W b_r + U b_j + c)",
        "general": "s_rj = b_r·W b_j + w·b_r",
    }[parents.score]
    marginals = {
        "softmax": "p(r → j) = softmax_r(s_rj)",
        "projective": "p(r → j) = E[head(j) = r], p(tree) ∝ exp Σ_j s_head(j),j over projective trees (Eisner)",
        "spanning": "p(r → j) = E[head(j) = r], p(tree) ∝ exp Σ_j s_head(j),j over all trees (matrix-tree)",
    }[parents.select]
    return [
        f"{arcs}   b = bi{parents.cell}(h_0, h_1, …) of {parents.size} units in each direction, h_0 a root symbol",
        marginals,
        "memory [h_j; Σ_r p(r → j) h_r]: each position beside its soft parent",
    ]
