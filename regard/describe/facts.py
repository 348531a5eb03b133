"""Memory networks on the board."""

from __future__ import annotations

from regard.describe.encoders import embedding_words
from regard.describe.lines import Answer, column_line, decoder_lines, encoder_lines, loss_line
from regard.spec import BagEncoderSpec, FactsDecoderSpec, FactsSpec, StoryEncoderSpec, StorySpec

SCORES = {
    "additive": "v·tanh(U {q} + W m_i)",
    "dot": "{q}·m_i",
    "scaled-dot": "{q}·m_i / √D",
    "general": "{q}·W m_i",
    "linear": "w·[{q}; m_i]",
}
SELECTIONS = {
    "softmax": "α_k = softmax(e_k)",
    "sigmoid": "α_ki = σ(e_ki)",
    "uniform": "α_ki = 1/S",
}
ENDS = {"last": "r = o_K", "sum": "r = u_{K+1}", "all": "r = relu(W [u; o_1; …; o_K] + b)"}
FEWER = "α_ki = p(z_k = i | the last L hops)   L = argmin_L (N u + b)_L + {:g} L"
POSITION = "l_jd = (1 − j/n) − (d/D)(1 − 2j/n)"


@column_line.register(StorySpec)
def _story_column(column: StorySpec, name: str) -> str:
    return f"{name}: sentences of words"


@column_line.register(FactsSpec)
def _facts_column(column: FactsSpec, name: str) -> str:
    return f"{name}: the sentences that lead to the answer"


@encoder_lines.register(BagEncoderSpec)
def _bag(encoder: BagEncoderSpec) -> Answer:
    same = f", those of the keys of {encoder.like}" if encoder.like else ""
    if encoder.position:
        return [f"u = Σ_j l_j ⊙ e(x_j)   {POSITION}   {embedding_words(encoder)}{same}"]
    return [f"u = Σ_j e(x_j)   {embedding_words(encoder)}{same}"]


@encoder_lines.register(StoryEncoderSpec)
def _story(encoder: StoryEncoderSpec) -> Answer:
    if encoder.sentence == "recurrent":
        sentence = "a(x) = [→h_n; ←h_1] of a gru over the words e(x_j); c likewise, with weights of its own"
    elif encoder.position:
        sentence = f"a(x) = Σ_j l_j ⊙ e_A(x_j)   c(x) = Σ_j l_j ⊙ e_C(x_j)   {POSITION}"
    else:
        sentence = "a(x) = Σ_j e_A(x_j)   c(x) = Σ_j e_C(x_j)"
    noise = f", in training {encoder.time_noise:.0%} of the ages moved" if encoder.time_noise else ""
    tied = f"; a_{{k+1}} = c_k, k = 1 … {encoder.hops}" if encoder.tie == "adjacent" else ""
    return [
        f"m_i = a(x_i) + T_A[S − i]   c_i = c(x_i) + T_C[S − i]   {sentence}",
        f"{embedding_words(encoder)}, {encoder.ages} ages{noise}{tied}",
    ]


@decoder_lines.register(FactsDecoderSpec)
def _facts(decoder: FactsDecoderSpec) -> Answer:
    joint = decoder.attention.select == "facts"
    score = SCORES[decoder.attention.score].format(q="Q_k u" if joint else "u_k")
    if joint:
        lines = [
            f"p(z_1 … z_K) ∝ exp(Σ_k e_k[z_k] + Σ_k θ_k[z_k, z_{{k+1}}])   e_ki = {score}   "
            "θ_k[i, j] = (P_k m_i + G_k u)·(R_k m_j + d_k[j − i])"
            + ("" if decoder.stay else "   θ_k[i, i] = −∞"),
            (
                "α_ki = Σ_L p(L) p(z_k = i | the last L hops)   p(L) = softmax(N u + b)"
                if decoder.fewer
                else "α_ki = p(z_k = i)"
            )
            + "   o_k = Σ_i α_ki c_i",
        ]
        end = ENDS[decoder.read].replace("u_{K+1}", "u + Σ_k o_k")
    else:
        lines = [
            f"u_1 = u   e_ki = {score}   {SELECTIONS[decoder.attention.select]}   o_k = Σ_i α_ki c_i   "
            "u_{k+1} = H u_k + o_k"
        ]
        end = ENDS[decoder.read]
    return [*lines, f"p(y) = softmax(V r + b)   {end}   K = {decoder.hops}"]


@loss_line.register(FactsDecoderSpec)
def _loss(decoder: FactsDecoderSpec) -> str:
    line = "−log p(y | story, question)"
    if decoder.fewer and decoder.attention.select == "facts":
        line = f"mean over L = 2 … {decoder.hops} of c_L = −log p_L(y | story, question)   + Σ_L ((N u + b)_L − c_L)²"
    if decoder.attention.guide:
        line += f"   + {decoder.attention.guide:g} · (−Σ_k log α_k[z_k]), z the true facts"
    return line
