"""The measures by name: those that are compared with random, those that tell a change, and rank correlations."""

from __future__ import annotations

ATTENTION, RANDOM, LEAVE, GRADIENT = "attention", "random", "leave-one-out", "gradient"
"""The methods that order positions."""
HIGHER = {
    "comprehensiveness": True,
    "sufficiency": False,
    "normalized AOPC": True,
    "soft comprehensiveness": True,
    "soft sufficiency": True,
    "first removal": True,
    "raises": True,
    "most harmful": True,
}
"""The measures that are compared with random, and whether more is better."""
CHANGES = ("uniform TVD", "uniform JSD", "permuted TVD", "permuted JSD")
"""How much the output changes when other weights replace the attention."""
CORRELATIONS = ("τ leave-one-out", "τ gradient")
WARNING = (
    "Rank correlation (Kendall's τ) between attention and another ranking says whether the two agree, not which of "
    "them is right; it is low for long tails of unimportant positions. Do not rank models by it."
)
