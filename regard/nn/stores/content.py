"""Content-based addressing: the similarity of each slot to a key."""

from __future__ import annotations

from torch import Tensor

from regard.nn.products import pair_products

EPSILON = 1e-6
"""Added under the roots of the norms: an empty slot has similarity 0 to every key, and a gradient."""
WRITTEN_EPSILON = "0.000001"


def cosine(keys: Tensor, slots: Tensor) -> Tensor:
    """(B, K, N): κ·m / (√(κ·κ + ε) √(m·m + ε)) of keys (B, K, W) and slots (B, N, W)."""
    keys = keys * (keys.square().sum(-1, keepdim=True) + EPSILON).rsqrt()
    lengths = (slots.square().sum(-1) + EPSILON).rsqrt()  # (B, N)
    return pair_products(keys, slots) * lengths.unsqueeze(1)


def content_weights(keys: Tensor, strengths: Tensor, slots: Tensor) -> Tensor:
    """(B, K, N): softmax(β cos(κ, m)) of keys (B, K, W) and strengths β (B, K)."""
    return (strengths.unsqueeze(-1) * cosine(keys, slots)).softmax(-1)


def content_line(weights: str, key: str, strength: str, slot: str, index: str) -> str:
    """The equation of `content_weights`."""
    return (
        f"{weights} = softmax_{index}({strength} ({key}·{slot}) / √({key}·{key} + ε) / √({slot}·{slot} + ε))"
    )
