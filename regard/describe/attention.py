"""The equations of an attention."""

from __future__ import annotations

from regard.spec import AttentionSpec

SCORES = {
    "additive": "e_tj = v·tanh(U {q} + W h_j)",
    "dot": "e_tj = {q}·h_j",
    "scaled-dot": "e_tj = {q}·h_j / √D",
    "general": "e_tj = {q}·W h_j",
    "linear": "e_tj = w·[{q}; h_j]",
}
SELECTIONS = {
    "uniform": "α_tj = 1/S",
    "softmax": "α_t = softmax(e_t)",
    "sigmoid": "α_tj = σ(e_tj)",
    "local": "α_t = softmax(e_t) within {window} of p_t, {centre}",
    "oracle": "α_t = the true alignment",
}
CENTRES = {
    "predicted": "p_t = S·σ(v·tanh(W {q})), times exp(−(j − p_t)² / 2(D/2)²), D = {window}",
    "monotonic": "p_t = t",
}


def attention_equations(attention: AttentionSpec, query: str) -> str:
    """score, select, read, as they are computed."""
    score = SCORES[attention.score].format(q=query)
    centre = CENTRES[attention.centre].format(q=query, window=attention.window)
    select = SELECTIONS[attention.select].format(window=attention.window, centre=centre)
    if attention.select in ("uniform", "oracle"):
        return f"{select}   c_t = Σ_j α_tj h_j"
    return f"{score}   {select}   c_t = Σ_j α_tj h_j"
