"""The models that `transformer.py` times: ours, plain modules of torch, and ours converted for CTranslate2."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from regard.data.batch import BEGIN, END, PAD, UNKNOWN, Tokens
from regard.nn import Embedding
from regard.nn.decoders.transformer import TransformerDecoder
from regard.nn.encoders.transformer import TransformerEncoder
from regard.nn.search import Hypotheses, Search

SIZE, HEADS, LAYERS, VOCABULARY, DROPOUT = 256, 8, 4, 8_000, 0.1
NAMES = ["<pad>", "<unk>", "<s>", "</s>", *(f"w{number}" for number in range(4, VOCABULARY))]


class Ours(nn.Module):
    """Random weights whose outputs are about as sharp as those of a trained model."""

    def __init__(self, *, norm: str = "pre", dropout: float = DROPOUT) -> None:
        super().__init__()
        shape: dict[str, Any] = {
            "size": SIZE,
            "layers": LAYERS,
            "heads": HEADS,
            "norm": norm,
            "dropout": dropout,
        }
        self.encoder = TransformerEncoder(Embedding(VOCABULARY, SIZE), **shape)
        self.decoder = TransformerDecoder(Embedding(VOCABULARY, SIZE), {"src": self.encoder}, **shape)
        with torch.no_grad():
            self.decoder.output.weight.mul_(4.0)
            self.decoder.output.bias[[PAD, UNKNOWN, BEGIN]] = -50.0  # a trained model never writes them

    def loss(self, source: Tokens, target: Tokens) -> Tensor:
        return self.decoder.loss({"src": self.encoder(source)}, target).mean

    @torch.inference_mode()
    def search(self, source: Tokens, search: Search) -> Hypotheses:
        return self.decoder.predict({"src": self.encoder(source)}, search)


class Plain(nn.Module):
    """`nn.Transformer` with embeddings, sinusoidal positions and an output layer."""

    positions: Tensor

    def __init__(self, longest: int = 64) -> None:
        super().__init__()
        self.source, self.target = nn.Embedding(VOCABULARY, SIZE), nn.Embedding(VOCABULARY, SIZE)
        self.layers = nn.Transformer(
            SIZE, HEADS, LAYERS, LAYERS, 4 * SIZE, DROPOUT, batch_first=True, norm_first=True
        )
        self.output, self.dropout = nn.Linear(SIZE, VOCABULARY), nn.Dropout(DROPOUT)
        angles = torch.arange(longest)[:, None] * 10_000 ** (-torch.arange(0, SIZE, 2) / SIZE)
        self.register_buffer("positions", torch.stack([angles.sin(), angles.cos()], -1).flatten(1))
        self.register_buffer(
            "later", nn.Transformer.generate_square_subsequent_mask(longest, dtype=torch.bool)
        )

    def forward(self, source: Tensor, previous: Tensor, following: Tensor) -> Tensor:
        """The loss; source, previous and following tokens (B, T), padded with PAD."""
        padding, count = source == PAD, previous.shape[1]
        x = self.dropout(self.source(source) * SIZE**0.5 + self.positions[: source.shape[1]])
        y = self.dropout(self.target(previous) * SIZE**0.5 + self.positions[:count])
        found = self.layers(
            x,
            y,
            tgt_mask=self.later[:count, :count],
            src_key_padding_mask=padding,
            memory_key_padding_mask=padding,
            tgt_is_causal=True,
        )
        return nn.functional.cross_entropy(
            self.output(found).flatten(0, 1), following.flatten(), ignore_index=PAD
        )


def sources(rows: int, seed: int = 0) -> Tokens:
    """Random sentences of 10 to 30 tokens."""
    generator = torch.Generator().manual_seed(seed)
    ids = torch.randint(4, VOCABULARY, (rows, 30), generator=generator)
    lengths = torch.randint(10, 31, (rows,), generator=generator)
    lengths[0] = 30
    return Tokens(ids.masked_fill(torch.arange(30) >= lengths[:, None], PAD), lengths)


def forced(target: Tokens) -> tuple[Tensor, Tensor]:
    """Previous and following tokens (B, T + 1)."""
    rows = len(target.ids)
    begin, pad = target.ids.new_full((rows, 1), BEGIN), target.ids.new_full((rows, 1), PAD)
    following = torch.cat([target.ids, pad], 1).scatter(1, target.lengths[:, None], END)
    return torch.cat([begin, target.ids], 1), following


class Converted:
    """Our weights in CTranslate2."""

    def __init__(self, ours: Ours, folder: Path, device: str, kind: str, threads: int) -> None:
        import ctranslate2  # type: ignore[import-not-found, import-untyped, unused-ignore]

        from regard.export import ctranslate2_model

        if not (folder / "model.bin").exists():
            ctranslate2_model(ours.encoder, ours.decoder, folder, source=NAMES, target=NAMES)
        self.translator = ctranslate2.Translator(
            str(folder), device=device, compute_type=kind, intra_threads=threads, inter_threads=1
        )

    def search(self, pieces: list[list[str]], beam: int, least: int, most: int, *, best: int = 1) -> Any:
        """The `best` outputs of at least `least` tokens and at most `most` with END."""
        return self.translator.translate_batch(
            pieces,
            beam_size=beam,
            min_decoding_length=least,
            max_decoding_length=most,
            length_penalty=0.0,
            num_hypotheses=best,
            return_end_token=True,
        )

    def token_scores(self, pieces: list[list[str]], written: list[list[str]]) -> list[list[float]]:
        """log p of every token of given outputs, END included."""
        return [one.log_probs for one in self.translator.score_batch(pieces, written)]


def spelled(tokens: Tokens) -> list[list[str]]:
    rows = zip(tokens.ids.tolist(), tokens.lengths.tolist(), strict=True)
    return [[NAMES[number] for number in ids[:length]] for ids, length in rows]
