"""The equations of an attention."""

from __future__ import annotations

from regard.spec import AttentionSpec, HardSpec

SCORES = {
    "additive": "e_tj = v·tanh(U {q} + W h_j)",
    "dot": "e_tj = {q}·h_j",
    "scaled-dot": "e_tj = {q}·h_j / √D",
    "general": "e_tj = {q}·W h_j",
    "linear": "e_tj = w·[{q}; h_j]",
    "location": "f_t = F * α_{{t−1}}   e_tj = v·tanh(U {q} + W h_j + V f_tj)",
}
SELECTIONS = {
    "uniform": "α_tj = 1/S",
    "softmax": "α_t = softmax(e_t)",
    "hard": "α_t = softmax(e_t)   z_t ~ α_t",
    "sigmoid": "α_tj = σ(e_tj)",
    "segments": "p(z_t) ∝ exp(Σ_j e_tj z_tj + Σ_j b[z_tj, z_t,j+1]), z_tj ∈ {{0, 1}}   α_tj = p(z_tj = 1)",
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
    read = (
        "c_t = h_z, written with the " + attention.hard.read
        if attention.select == "hard"
        else "c_t = Σ_j α_tj h_j"
    )
    if attention.select in ("sigmoid", "segments") and attention.normalize:
        read += f" / γ_t, γ_t = Σ_j α_tj / {attention.normalize:g}"
    return f"{score}   {select}   {read}"


def looking_terms(attention: AttentionSpec) -> str:
    """What the looks of a text cost, beside its words."""
    terms = ""
    if attention.coverage:
        terms += f"   + {attention.coverage:g} · Σ_j (1 − Σ_t α_tj)²"
    if attention.select == "hard":
        lasting = "…" if attention.state == "previous" or attention.feed else ""
        terms += f"   + {attention.hard.reward:g} · Σ_t (−log p(y_t{lasting} | z) − b) log α_tz"
        terms += f"   − {attention.hard.entropy:g} · Σ_t H(α_t)"
    return terms


def drawing_line(hard: HardSpec) -> str:
    """Which rows draw in training, and from when on."""
    line = f"z_t is drawn in a row with probability {1 - hard.expected:g}"
    line += ", else c_t = Σ_j α_tj h_j" if hard.expected else ""
    return line + (f"; in the first {hard.warmup:,} batches in none" if hard.warmup else "")


def penalty_term(attention: AttentionSpec) -> str:
    """What the attention adds to the loss of a whole update, or nothing."""
    return f"   + {attention.decay:g} · ‖b‖²" if attention.select == "segments" and attention.decay else ""
