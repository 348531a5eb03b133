"""A tiny pretrained encoder with random weights, in the format of transformers."""

from __future__ import annotations

import atexit
import json
import shutil
import tempfile
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import torch

from regard.storage.tensors import write_tensors

SIZE, HIDDEN, LAYERS, HEADS = 8, 16, 2, 2
PIECES = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")


def _folder() -> Path:
    """A new folder, which is removed when the process ends."""
    folder = tempfile.mkdtemp(prefix="regard-tiny-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return Path(folder)


@cache
def tiny_encoder() -> str:
    """A folder with such an encoder, one for each process; its pieces are letters."""
    folder = _folder()
    write_tiny_encoder(folder)
    return str(folder)


def write_tiny_encoder(
    folder: Path, words: Sequence[str] = (), *, positions: int = 40, seed: int = 0
) -> None:
    """Write a BERT of two layers. words: words that are one piece; others are cut into letters."""
    folder.mkdir(parents=True, exist_ok=True)
    letters = [chr(code) for code in range(33, 127)]
    pieces = [*PIECES, *letters, *(f"##{one}" for one in letters), *words]
    ids: dict[str, Any] = {piece: number for number, piece in enumerate(dict.fromkeys(pieces))}
    config = {
        "model_type": "bert",
        "architectures": ["BertModel"],
        "vocab_size": len(ids),
        "hidden_size": SIZE,
        "num_hidden_layers": LAYERS,
        "num_attention_heads": HEADS,
        "intermediate_size": HIDDEN,
        "max_position_embeddings": positions,
        "type_vocab_size": 2,
        "pad_token_id": 0,
    }
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
    (folder / "tokenizer.json").write_text(json.dumps(_tokenizer(ids)), encoding="utf-8")
    (folder / "README.md").write_text("---\nlicense: apache-2.0\n---\nA tiny encoder.\n", encoding="utf-8")
    write_tensors(folder / "model.safetensors", _weights(len(ids), positions, seed), {"format": "pt"})


def _tokenizer(ids: dict[str, int]) -> dict[str, object]:
    special = [{"id": ids[one], "content": one, "special": True} for one in PIECES]
    flags = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False}
    enclosed = [
        {"SpecialToken": {"id": "[CLS]", "type_id": 0}},
        {"Sequence": {"id": "A", "type_id": 0}},
        {"SpecialToken": {"id": "[SEP]", "type_id": 0}},
    ]
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [{**one, **flags} for one in special],
        "normalizer": {
            "type": "BertNormalizer",
            "clean_text": True,
            "handle_chinese_chars": True,
            "strip_accents": None,
            "lowercase": False,
        },
        "pre_tokenizer": {"type": "BertPreTokenizer"},
        "post_processor": {
            "type": "TemplateProcessing",
            "single": enclosed,
            "pair": enclosed,
            "special_tokens": {
                one: {"id": one, "ids": [ids[one]], "tokens": [one]} for one in ("[CLS]", "[SEP]")
            },
        },
        "decoder": {"type": "WordPiece", "prefix": "##", "cleanup": True},
        "model": {
            "type": "WordPiece",
            "unk_token": "[UNK]",
            "continuing_subword_prefix": "##",
            "max_input_chars_per_word": 100,
            "vocab": ids,
        },
    }


def _weights(pieces: int, positions: int, seed: int) -> dict[str, torch.Tensor]:
    generator = torch.Generator().manual_seed(seed)
    shapes: dict[str, tuple[int, ...]] = {
        "embeddings.word_embeddings.weight": (pieces, SIZE),
        "embeddings.position_embeddings.weight": (positions, SIZE),
        "embeddings.token_type_embeddings.weight": (2, SIZE),
        "embeddings.LayerNorm": (SIZE,),
    }
    for layer in range(LAYERS):
        at = f"encoder.layer.{layer}"
        for name in ("query", "key", "value"):
            shapes[f"{at}.attention.self.{name}"] = (SIZE, SIZE)
        shapes |= {f"{at}.attention.output.dense": (SIZE, SIZE), f"{at}.attention.output.LayerNorm": (SIZE,)}
        shapes |= {f"{at}.intermediate.dense": (HIDDEN, SIZE), f"{at}.output.dense": (SIZE, HIDDEN)}
        shapes[f"{at}.output.LayerNorm"] = (SIZE,)
    found: dict[str, torch.Tensor] = {}
    for name, shape in shapes.items():
        if name.endswith(".weight"):
            found[name] = torch.randn(shape, generator=generator) * 0.5
        elif name.endswith("LayerNorm"):
            found |= {f"{name}.weight": torch.ones(shape), f"{name}.bias": torch.zeros(shape)}
        else:
            found[f"{name}.weight"] = torch.randn(shape, generator=generator) * shape[1] ** -0.5
            found[f"{name}.bias"] = torch.zeros(shape[0])
    return found


@cache
def tiny_speech_encoder() -> str:
    """A folder with a tiny wav2vec2, one for each process."""
    folder = _folder()
    write_tiny_speech_encoder(folder, "wav2vec2")
    return str(folder)


def write_tiny_speech_encoder(folder: Path, kind: str, *, seed: int = 0) -> None:
    """Write a Whisper that reads one second, or a wav2vec2 with random weights; needs transformers."""
    import transformers

    layers: dict[str, Any] = {
        "num_hidden_layers": 1,
        "num_attention_heads": HEADS,
        "intermediate_size": HIDDEN,
    }
    waves: dict[str, Any] = {
        "conv_dim": [4, 4],
        "conv_stride": [16, 20],
        "conv_kernel": [20, 20],
        "num_feat_extract_layers": 2,
    }
    places: dict[str, Any] = {"num_conv_pos_embeddings": 4, "num_conv_pos_embedding_groups": 2}
    mels: dict[str, Any] = {
        "num_mel_bins": 16,
        "max_source_positions": 50,
        "max_target_positions": 4,
        "vocab_size": 8,
    }
    wide: dict[str, Any] = {
        "d_model": SIZE,
        "encoder_layers": 1,
        "encoder_attention_heads": HEADS,
        "encoder_ffn_dim": HIDDEN,
    }
    other: dict[str, Any] = {"decoder_layers": 1, "decoder_attention_heads": HEADS, "decoder_ffn_dim": HIDDEN}
    ids: dict[str, Any] = {
        "pad_token_id": 0,
        "bos_token_id": 1,
        "eos_token_id": 2,
        "decoder_start_token_id": 1,
    }
    if kind == "whisper":
        config: Any = transformers.WhisperConfig(**mels, **wide, **other, **ids)
    else:
        config = transformers.Wav2Vec2Config(hidden_size=SIZE, **layers, **waves, **places)
    before = torch.get_rng_state()
    torch.manual_seed(seed)
    made = transformers.AutoModel.from_config(config)
    torch.set_rng_state(before)
    made.eval().save_pretrained(str(folder))
