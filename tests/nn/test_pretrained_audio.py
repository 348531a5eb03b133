"""Pretrained encoders of audio: a tiny Whisper and a tiny wav2vec2 with random weights."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import regard
from regard import RegardError
from regard.testing.tiny import write_tiny_speech_encoder

pytestmark = pytest.mark.skipif(find_spec("transformers") is None, reason="transformers is not installed")

RATE = 16_000


@pytest.fixture(scope="module", params=["whisper", "wav2vec2"])
def folder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("speech") / request.param
    write_tiny_speech_encoder(made, request.param)
    return made


def sound(seconds: float, pitch: float) -> tuple[Any, int]:
    return np.sin(np.arange(int(seconds * RATE)) * pitch).astype(np.float32) * 0.3, RATE


ROWS = [{"sound": sound(0.3 + 0.02 * n, 0.1 + 0.3 * (n % 2)), "target": "ab"[n % 2]} for n in range(6)]


def built(folder: Path, **encoder: Any) -> Any:
    spec = regard.Spec(
        inputs={"sound": {"type": "audio", "mels": 16}},
        outputs={"target": {"type": "label"}},
        encoder={"type": "pretrained-audio", "model": str(folder), **encoder},
        decoder={"type": "label", "attention": {"score": "additive"}},
    )
    torch.manual_seed(0)
    return regard.Model.build(spec, rows=ROWS).eval()


def batch(model: Any) -> Any:
    column = model.columns["sound"]
    return column.collate([column.encode(column.written(row["sound"])) for row in ROWS])


def test_the_memory_is_that_of_the_library(folder: Path) -> None:
    model = built(folder)
    memory = model.network.encoders["sound"](batch(model))
    import transformers

    body = transformers.AutoModel.from_pretrained(str(folder)).eval()
    for row in (0, 3):
        samples = ROWS[row]["sound"][0]
        with torch.no_grad():
            if folder.name == "whisper":
                extractor = transformers.WhisperFeatureExtractor(feature_size=16, chunk_length=1)
                features = extractor(samples, sampling_rate=RATE, return_tensors="pt").input_features
                states = body.encoder(features).last_hidden_state[0, : -(-len(samples) // 320)]
            else:
                made = transformers.Wav2Vec2FeatureExtractor()(
                    samples, sampling_rate=RATE, return_tensors="pt"
                )
                states = body(made.input_values).last_hidden_state[0]
        assert int(memory.mask[row].sum()) == len(states)
        torch.testing.assert_close(memory.values[row, : len(states)], states, rtol=1e-3, atol=1e-3)
    assert memory.layout == "frames"


def test_cached_states_are_those_computed_and_a_model_is_sealed(folder: Path, tmp_path: Path) -> None:
    model = built(folder, layers="mix")
    encoder, seen = model.network.encoders["sound"], batch(model)
    computed, runs = encoder(seen).values, []
    encoder.body.register_forward_hook(lambda *_: runs.append(1))
    encoder.train()
    assert torch.equal(encoder(seen).values, computed) and torch.equal(encoder(seen).values, computed)
    assert len(runs) == len(ROWS)
    model.eval().save(tmp_path / "model")
    for file in folder.iterdir():
        file.rename(tmp_path / file.name)
    try:
        loaded = regard.load(tmp_path / "model", device="cpu")
        asked = {"sound": ROWS[0]["sound"]}
        assert loaded.predict(asked).score == pytest.approx(model.predict(asked).score, rel=1e-4)
    finally:
        for name in ("config.json", "model.safetensors"):
            (tmp_path / name).rename(folder / name)


@pytest.mark.parametrize("train", ["lora", "full"])
def test_what_is_trained_changes(train: str, folder: Path) -> None:
    pytest.importorskip("peft")
    model = built(folder, train=train)
    encoder = model.network.encoders["sound"].train()
    encoder(batch(model)).values.square().sum().backward()
    moved = {name for name, one in encoder.body.named_parameters() if one.grad is not None and one.grad.any()}
    assert moved and all("lora_" in name for name in moved) == (train == "lora")


def test_another_rate_is_refused(folder: Path) -> None:
    with pytest.raises(RegardError, match="reads audio of 16,000 Hz, and sound has 8,000"):
        built(folder).spec.changed("inputs.sound.rate=8000")
