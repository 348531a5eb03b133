"""Configurations of other tools become valid specs; what has no counterpart is listed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from regard import Model, Spec
from regard.errors import RegardError
from regard.spec.foreign import convert

Command = Callable[..., tuple[int, str, str]]

JOEY = """
name: small
data:
  {train: train, dev: dev, src: {lang: de, level: word, lowercase: true, voc_limit: 90, voc_min_freq: 2},
   trg: {lang: en, level: char, voc_min_freq: 1}}
testing: {beam_size: 4, beam_alpha: 0.6, max_output_length: 20}
training:
  {optimizer: adam, adam_betas: [0.9, 0.98], learning_rate: 0.5, batch_size: 300, batch_type: token, epochs: 3,
   scheduling: noam, learning_rate_factor: 2, learning_rate_warmup: 100, label_smoothing: 0.1,
   use_cuda: false, normalization: tokens}
model:
  tied_softmax: true
  encoder: {type: transformer, num_layers: 2, num_heads: 2, embeddings: {embedding_dim: 16},
            hidden_size: 16, ff_size: 32, dropout: 0.1}
  decoder: {type: transformer, num_layers: 1, num_heads: 2, embeddings: {embedding_dim: 16},
            hidden_size: 16, ff_size: 32, dropout: 0.1}
"""
YOYO = """
class_path: yoyodyne.models.PointerGeneratorLSTMModel
init_args:
  source_encoder:
    class_path: yoyodyne.models.modules.LSTMEncoder
    init_args: {dropout: "${init_args.decoder_dropout}", hidden_size: 24, layers: 2}
  decoder_dropout: 0.25
  decoder_hidden_size: 20
  decoder_layers: 2
  embedding_size: 12
  optimizer: {class_path: torch.optim.Adadelta, init_args: {lr: 1}}
"""
RNN = """
data: {src: de, trg: en, train: train, dev: dev, level: word}
training: {optimizer: adadelta, batch_size: 8, epochs: 1, clip_grad_norm: 1.0, scheduling: plateau, patience: 3}
model:
  encoder: {type: recurrent, rnn_type: gru, hidden_size: 8, num_layers: 1, embeddings: {embedding_dim: 6}}
  decoder: {type: recurrent, rnn_type: gru, hidden_size: 8, num_layers: 1, embeddings: {embedding_dim: 6},
            attention: luong, init_hidden: zero, input_feeding: true}
"""


def written(folder: Path, text: str) -> Path:
    path = folder / "theirs.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def test_a_transformer_of_joeynmt(tmp_path: Path) -> None:
    found = convert(written(tmp_path, JOEY))
    spec = found.spec
    assert spec["inputs"]["source"] == {
        "type": "text",
        "unit": "word",
        "vocabulary": 90,
        "min_count": 2,
        "case": "lower",
    }
    assert spec["encoder"] | {"heads": 2, "hidden": 32, "layers": 2, "size": 16} == spec["encoder"]
    assert spec["decoder"]["tie"] == "output" and spec["decoder"]["label_smoothing"] == 0.1
    assert spec["training"]["lr"] == pytest.approx(2 / (16 * 100) ** 0.5)  # factor · size^−½ · warmup^−½
    assert spec["data"] == {"train": "train.de+train.en", "dev": "dev.de+dev.en"}
    assert found.left == ["training.normalization: tokens"]
    assert yaml.safe_load(found.text()) == spec


def test_a_recurrent_model_of_joeynmt_trains(tmp_path: Path) -> None:
    found = convert(written(tmp_path, RNN))
    assert found.spec["attention"] == {"score": "general", "state": "current", "feed": True}
    assert found.spec["decoder"]["condition"] == ["attention"]
    assert found.left == ["training.optimizer: adadelta (adam takes its place)"]
    model = Model.build(Spec(**found.spec), rows=[{"source": "ein hund", "target": "a dog"}] * 4)
    assert model.network.training is not None and sum(one.numel() for one in model.network.parameters()) > 0


def test_a_pointer_generator_of_yoyodyne(tmp_path: Path) -> None:
    found = convert(written(tmp_path, YOYO))
    assert found.spec["encoder"] == {
        "type": "recurrent",
        "cell": "lstm",
        "size": 24,
        "bidirectional": True,
        "layers": 2,
        "dropout": 0.25,
        "embedding": 12,
    }
    assert found.spec["decoder"]["copy"] == "source"
    assert found.left == ["optimizer: adadelta (adam takes its place, with its own learning rate)"]


WARM = """
class_path: yoyodyne.models.TransformerModel
init_args:
  source_encoder: {class_path: yoyodyne.models.modules.TransformerEncoder, init_args: {embedding_size: 16}}
  embedding_size: 16
  scheduler: {class_path: yoyodyne.schedulers.WarmupInverseSquareRoot, init_args: {warmup_epochs: 10}}
"""


def test_epochs_of_a_warmup_become_updates(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    found = convert(written(tmp_path, WARM))
    assert found.spec["training"]["schedule"] == {"type": "inverse-sqrt", "warmup": 1000}
    assert len(found.left) == 1 and "100 are assumed" in found.left[0]
    Path("train.tsv").write_text("a\tb\n" * 70, encoding="utf-8")  # 3 batches of 32 rows
    found = convert(written(tmp_path, WARM))
    assert found.spec["training"]["schedule"] == {"type": "inverse-sqrt", "warmup": 30}
    assert not found.left


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: [", "cannot be read"),
        ("just text", "no configuration"),
        ("inputs: {a: {type: text}}", "neither JoeyNMT nor yoyodyne"),
        ("class_path: yoyodyne.models.Unheard", "no part here corresponds to class_path"),
        (
            "{data: {src: de}, model: {encoder: {type: recurrent}}, training: {batch_size: [1]}}",
            "unexpected value|batch",
        ),
    ],
)
def test_what_cannot_be_converted_is_said(text: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(RegardError, match=message):
        convert(written(tmp_path, text))


def test_the_command(tmp_path: Path, regard: Command) -> None:
    code, out, _ = regard("init", "--from", str(written(tmp_path, YOYO)))
    assert code == 0 and yaml.safe_load(out)["decoder"]["copy"] == "source"
    assert regard("init")[0] == 2
    assert regard("init", "--from", str(tmp_path / "absent.yaml"))[0] == 2
