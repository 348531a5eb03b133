"""The align decoder on the board."""

from __future__ import annotations

from regard.describe.lines import Answer, decoder_lines, loss_line, weighted
from regard.spec import AlignDecoderSpec


@decoder_lines.register(AlignDecoderSpec)
def _align(decoder: AlignDecoderSpec) -> Answer:
    texts = f"{decoder.over[0]} and {decoder.over[1]}" if decoder.over else "the two texts"
    seen = "[{0}; {1}]" if decoder.compare == "concatenation" else "[{0}; {1}; |{0} − {1}|; {0} ⊙ {1}]"
    notes = f"D = {decoder.size}, F a matrix, G and H of two relu layers"
    return [
        f"a_i, b_j the positions of {texts}",
        "attend: e_ij = F a_i·F b_j / √D   β_i = Σ_j softmax_j(e_ij) b_j   α_j = Σ_i softmax_i(e_ij) a_i",
        f"compare: v_i = G({seen.format('a_i', 'β_i')})   w_j = G({seen.format('b_j', 'α_j')})",
        "aggregate: p(y) = softmax(V H([Σ_i v_i; Σ_j w_j]) + c)",
        notes + (f", dropout {decoder.dropout}" if decoder.dropout else ""),
    ]


@loss_line.register(AlignDecoderSpec)
def _loss(decoder: AlignDecoderSpec) -> str:
    return "−log p(y | a, b)" + weighted(decoder.class_weights)
