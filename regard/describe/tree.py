"""The tree decoder on the board."""

from __future__ import annotations

from regard.describe.lines import Answer, column_line, decoder_lines, loss_line
from regard.spec import TreeDecoderSpec, TreeSpec


@column_line.register(TreeSpec)
def _column(column: TreeSpec, name: str) -> str:
    return f"{name}: a head for each token of {column.of}"


@decoder_lines.register(TreeDecoderSpec)
def _tree(decoder: TreeDecoderSpec) -> Answer:
    trees = (
        "projective trees (Eisner)" if decoder.structure == "projective" else "spanning trees (matrix-tree)"
    )
    found = {
        "map": "found: the most probable tree",
        "marginal": "found: the tree of most expected right heads, argmax Σ_j p(head(j), j)",
    }[decoder.decode]
    return [
        f"p(tree) = exp Σ_j s[head(j), j] / Z   Z over all {trees}",
        f"s[i, j] = a_iᵀ U d_j + u·a_i + v·d_j + b   a = f(A h), d = f(D h) of {decoder.size}, f leaky ReLU",
        f"p(r_j | arc) = softmax_r t[head(j), j, r], t biaffine of {decoder.relation_size}; {found}",
    ]


@loss_line.register(TreeDecoderSpec)
def _loss(decoder: TreeDecoderSpec) -> str:
    return "−log p(tree | x) − Σ_j log p(r_j | arc), mean over the words"
