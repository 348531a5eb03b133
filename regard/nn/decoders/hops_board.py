"""The equations of a memory network: hops one after another, or one chain over all of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from regard.nn.letters import Letters, linear, under
from regard.nn.symbols import LookSymbols, MemorySymbols, factor
from regard.nn.transitions import NEVER


def lines(options: Any, memories: Mapping[str, MemorySymbols], *, joint: bool) -> list[str]:
    """Equations from the story and the question to p(y)."""
    story, question = _memories(options, memories)
    dropout = [f"— dropout {options.dropout}"] if options.dropout else []
    head = f"k = 1 … {options.hops}"
    if not joint:
        return [head, *_one_by_one(options, story, question.summary), *dropout]
    head += f", ℓ = 2 … {options.hops}     — ℓ: the number of facts read" if _fewer(options) else ""
    return [head, *_together(options, story, question.summary), *dropout]


def letters(options: Any, memories: Mapping[str, MemorySymbols]) -> Letters:
    """The letters of the decoder's parameters."""
    look, score = _look(options, "u_k", _memories(options, memories)[0]), options.attention.score
    return {
        **under("attention.score", score.part.letters(score, look)),
        "queries.weight": "Q_k",
        "transitions.first.*.weight": "P_k",
        "transitions.second.*.weight": "R_k",
        "transitions.question.*.weight": "G_k",
        "transitions.distances": "D_k",
        "following.distances": "D_k",
        "carry.weight": "H_y",
        **linear("costs", "C_ℓ", "a_ℓ"),
        **linear("mix", "W_r", "b_r"),
        **linear("output", "V_y", "b_y"),
        "output.own": "V_y",
        "output.embedding.weight": "V_y",
    }


def loss_lines(options: Any, *, joint: bool) -> list[str]:
    """The loss of one row."""
    loss, notes, weight = "−log(p(y)[y])", [], "α_{k,ẑ_k}"
    if joint and _fewer(options):
        loss, weight = f"Σ_ℓ c_ℓ / {options.hops - 1} + Σ_ℓ (d_ℓ − c_ℓ)²", f"α_{{{options.hops},k,ẑ_k}}"
        notes = [
            "c_ℓ = −log(π_ℓ[y])     — no gradient flows from the second term into the hops or the question"
        ]
    if options.attention.guide:
        loss += f" − {factor(options.attention.guide)}Σ_k log({weight})"
        notes.append("— ẑ_k: the k-th true fact; the last one is repeated if there are fewer facts than hops")
    return [f"loss = {loss}", *notes]


def read_table(options: Any, memories: Mapping[str, MemorySymbols]) -> str:
    """The vectors with which the last hop reads the words of the story."""
    keys = _memories(options, memories)[0].embedding  # of the first table
    return keys.replace("_A", "_C") if "_A" in keys else keys.replace("_1", f"_{options.hops + 1}")


def tied_line(options: Any, memories: Mapping[str, MemorySymbols]) -> str:
    """The meaning of V_y if answers share the vectors of the story's words."""
    table = read_table(options, memories)
    return f"— V_y: {table} for answers that are words of the story, separate vectors for other answers"


def _memories(options: Any, memories: Mapping[str, MemorySymbols]) -> tuple[MemorySymbols, MemorySymbols]:
    """The story, which alone has separate keys, and the question."""
    story = options.attention.over or next(name for name, one in memories.items() if one.keys)
    question = options.query or next(name for name in memories if name != story)
    return memories[story], memories[question]


def _fewer(options: Any) -> bool:
    return bool(options.fewer and options.hops > 2)


def _look(options: Any, query: str, story: MemorySymbols) -> LookSymbols:
    return LookSymbols(query, story, step="k", count=str(options.hops), letters=("e", "α", "o"))


def _one_by_one(options: Any, story: MemorySymbols, question: str) -> list[str]:
    attention, last = options.attention, options.hops
    carried = "u_{k−1}" if options.carry == "add" else "H_y u_{k−1}"
    look = _look(options, "u_k", story)
    ends = {
        "last": f"o_{last}",
        "sum": f"u_{last + 1}",
        "all": f"relu(W_r [{question}; o_1; …; o_{last}] + b_r)",
    }
    scored = attention.score.part.equations(attention.score, look) if attention.select.part.learns else []
    return [
        f"u_1 = {question}",
        *scored,
        *attention.select.part.equations(attention.select, look),
        *attention.select.part.read_equations(attention.select, look),
        f"u_k = {carried} + o_{{k−1}}     for k = 2 … {last + 1}",
        f"r = {ends[options.read]}",
        "p(y) = softmax(V_y r + b_y)",
    ]


def _together(options: Any, story: MemorySymbols, question: str) -> list[str]:
    attention = options.attention
    look = _look(options, question if options.carry == "add" else f"Q_k {question}", story)
    scored = attention.score.part.equations(attention.score, look)
    if _fewer(options):
        return [*scored, _transitions(options, story, question), *_fewer_facts(options, story, question)]
    ends = {
        "last": f"o_{options.hops}",
        "sum": f"{question} + Σ_k o_k",
        "all": f"relu(W_r [{question}; o_1; …; o_{options.hops}] + b_r)",
    }
    return [
        *scored,
        _transitions(options, story, question),
        *attention.select.part.equations(attention.select, look),
        *attention.select.part.read_equations(attention.select, look),
        f"r = {ends[options.read]}",
        "p(y) = softmax(V_y r + b_y)",
    ]


def _transitions(options: Any, story: MemorySymbols, question: str) -> str:
    """The score of fact j following fact i (`Transitions`)."""
    j, reach = story.index, options.reach
    after = story.key.replace("_k", "_{k+1,") + "}" if "_k" in story.key else story.key
    before = f"{story.key.removesuffix(j)}i"
    distance = f"D_k[max(−{reach}, min({reach}, {j} − i))]"
    never = "" if options.stay else f" − {-NEVER:g} [i = {j}]"
    if options.carry == "add":
        return _following(options, story, after, never)
    return f"θ_k(i, {j}) = (P_k {before} + G_k {question})·(R_k {after} + {distance}){never}"


def _following(options: Any, story: MemorySymbols, after: str, never: str) -> str:
    """The score of fact j with the vector read from fact i as the query (`Following`)."""
    j, reach = story.index, options.reach
    read = f"{story.values.removesuffix(j)}i"
    return f"θ_k(i, {j}) = {read}·{after} + D_k[max(−{reach}, min({reach}, {j} − i))]{never}"


def _fewer_facts(options: Any, story: MemorySymbols, question: str) -> list[str]:
    """Chains over the last ℓ hops for every ℓ, one of which the question selects."""
    j, last = story.index, options.hops
    energies = f"Σ_{{k: k > {last} − ℓ}} e_{{k,z_k}}"
    follows = f"Σ_{{k: {last} − ℓ < k < {last}}} θ_k(z_k, z_{{k+1}})"
    ends = {
        "last": f"o_{{ℓ,{last}}}",
        "sum": f"{question} + Σ_k o_ℓk",
        "all": f"relu(W_r [{question}; o_ℓ1; …; o_{{ℓ,{last}}}] + b_r)",
    }
    return [
        f"z ∈ {{1 … {story.length}}}^{last}     — z_k: the fact that hop k chooses",
        f"ψ_ℓ(z) = {energies} + {follows}     — the last ℓ hops",
        f"α_ℓk{j} = [k > {last} − ℓ] Σ_{{z: z_k = {j}}} exp(ψ_ℓ(z)) / Σ_z exp(ψ_ℓ(z))     — by forward-backward",
        f"o_ℓk = Σ_{j} α_ℓk{j} {story.values}",
        f"r_ℓ = {ends[options.read]}",
        "π_ℓ = softmax(V_y r_ℓ + b_y)",
        f"d_ℓ = C_ℓ·{question} + a_ℓ     — the expected loss of the answer from ℓ facts",
        f"L = argmin_ℓ(d_ℓ + {options.hop_cost:g} ℓ)",
        "p(y) = π_L",
    ]
