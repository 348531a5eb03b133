"""A Transformer in CTranslate2 writes what ours writes, with the same probabilities; what it cannot run is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

from regard.data.batch import BEGIN, PAD, UNKNOWN, Tokens
from regard.errors import RegardError
from regard.export import ctranslate2_model, ctranslate2_spec
from regard.nn import Embedding, MeanEncoder
from regard.nn.decoders.transformer import TransformerDecoder
from regard.nn.encoders.transformer import TransformerEncoder
from regard.nn.search import Greedy, Limits

NAMES = ["<pad>", "<unk>", "<s>", "</s>", *"abcdefgh"]


def model(**given: Any) -> tuple[TransformerEncoder, TransformerDecoder]:
    torch.manual_seed(2)
    shape = {"size": 16, "layers": 2, "heads": 2, "hidden": 24} | given
    encoder = TransformerEncoder(Embedding(len(NAMES), 16), **shape)
    decoder = TransformerDecoder(Embedding(len(NAMES), 16), {"source": encoder}, **shape)
    for module in (encoder, decoder):
        for parameter in module.parameters():
            torch.nn.init.normal_(parameter, std=0.4)
    with torch.no_grad():
        decoder.output.bias[[PAD, UNKNOWN, BEGIN]] = -50.0
    return encoder.eval(), decoder.eval()


@pytest.mark.parametrize("given", [{}, {"norm": "post"}, {"positions": "learned"}])
@torch.no_grad()
def test_greedy_outputs_and_their_scores_are_equal(given: dict[str, Any], tmp_path: Path) -> None:
    ctranslate2 = pytest.importorskip("ctranslate2")
    encoder, decoder = model(**given)
    ctranslate2_model(encoder, decoder, tmp_path, source=NAMES, target=NAMES)
    ids = torch.tensor([[4, 5, 6, 7], [8, 9, 0, 0], [10, 11, 4, 0]])
    source = Tokens(ids, torch.tensor([4, 2, 3]))
    found = decoder.predict({"source": encoder(source)}, Greedy(Limits(maximum=12)))
    written = [[NAMES[token] for token in found.content(row)] for row in range(3)]
    pieces = [[NAMES[token] for token in row if token] for row in ids.tolist()]
    translator = ctranslate2.Translator(str(tmp_path), compute_type="float32")
    theirs = translator.translate_batch(pieces, beam_size=1, max_decoding_length=12)
    assert [one.hypotheses[0] for one in theirs] == written
    for row, scores in enumerate(translator.score_batch(pieces, written)):
        ours = found.token_scores[row, 0, : len(scores.log_probs)]
        torch.testing.assert_close(ours, torch.tensor(scores.log_probs), atol=1e-4, rtol=1e-4)


def test_what_ctranslate2_cannot_run_is_refused() -> None:
    encoder, decoder = model(distances=3)
    with pytest.raises(RegardError, match="scores distances"):
        ctranslate2_spec(encoder, decoder, source=NAMES, target=NAMES)
    with pytest.raises(RegardError, match="the encoder is no Transformer"):
        ctranslate2_spec(MeanEncoder(Embedding(12, 16)), decoder, source=NAMES, target=NAMES)
