"""Pretrained encoders of transformers: a tiny BERT with random weights, written by the tests."""

from __future__ import annotations

import shutil
import socket
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

import regard
from regard import RegardError
from regard.fitting.experiment import Experiment
from regard.storage.files import read_json
from regard.testing.tiny import write_tiny_encoder

pytestmark = pytest.mark.skipif(
    find_spec("transformers") is None or find_spec("peft") is None,
    reason="transformers or peft is not installed",
)

ROWS = [
    (f"The {a} cat, {b}!", "yes" if a == "big" else "no")
    for a in ("big", "small")
    for b in ("sat", "ran", "flew")
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("pretrained")
    write_tiny_encoder(made / "encoder", ["cat", "sat"])
    text = "".join(f"{source}\t{target}\n" for source, target in ROWS)
    (made / "rows.tsv").write_text("source\ttarget\n" + text, encoding="utf-8")
    return made


@pytest.fixture(autouse=True)
def _offline(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: Any, **__: Any) -> None:
        raise AssertionError("a request")

    monkeypatch.setattr(socket.socket, "connect", refused)
    monkeypatch.setattr(socket, "getaddrinfo", refused)


def described(folder: Path, **encoder: Any) -> regard.Spec:
    rows = str(folder / "rows.tsv")
    return regard.Spec(
        inputs={"source": {"type": "text", "split": "punctuation"}},
        outputs={"target": {"type": "label"}},
        encoder={"type": "pretrained", "model": str(folder / "encoder"), **encoder},
        decoder={"type": "label", "attention": {"score": "additive"}},
        training={"epochs": 4, "lr": 0.03},
        data={"train": rows, "dev": rows, "references": False},
        metrics=["accuracy", "loss"],
    )


def built(folder: Path, **encoder: Any) -> Any:
    rows = [{"source": source, "target": target} for source, target in ROWS]
    return regard.Model.build(described(folder, **encoder), rows=rows).eval()


def collated(model: Any, *texts: str) -> Any:
    from regard.data.ragged import Ragged

    column = model.columns["source"]
    return column.collate_texts(Ragged.of([column.encode(text) for text in texts]), texts)


@pytest.mark.parametrize("train", ["frozen", "lora", "full"])
def test_a_run_learns_is_sealed_and_resumes_to_the_same_bits(
    train: str, folder: Path, tmp_path: Path
) -> None:
    shutil.copytree(folder, tmp_path / "data")
    spec = described(tmp_path / "data", train=train, **({"layers": "mix"} if train == "frozen" else {}))
    before = built(tmp_path / "data", train=train).evaluate(data=str(folder / "rows.tsv"))
    whole = Experiment(spec, tmp_path / "whole", device="cpu", quiet=True).train()
    assert whole.metrics["scores"]["dev"]["loss"]["value"] < before.scores["loss"].value - 0.02
    first = Experiment(spec.changed("training.epochs=2"), tmp_path / "part", device="cpu", quiet=True)
    first.train()
    shutil.rmtree(tmp_path / "data" / "encoder")  # the run contains all that it needs
    resumed = Experiment.resume(tmp_path / "part", overrides=["training.epochs=4"], device="cpu", quiet=True)
    resumed.train()
    loaded: Any = regard.load(tmp_path / "part", device="cpu")
    for name, weight in whole.network.state_dict().items():
        assert torch.equal(weight, loaded.network.state_dict()[name]), name
    trained = {
        name for name, one in whole.network.named_parameters() if one.requires_grad and ".body." in name
    }
    assert bool(trained) == (train != "frozen") and all("lora_" in name for name in trained) == (
        train != "full"
    )
    record = read_json(tmp_path / "part" / "metrics.json")["pretrained"]["encoder.source"]
    assert record["license"] == "apache-2.0" and record["files"]["model.safetensors"]["digest"]
    assert "its license: apache-2.0" in (tmp_path / "part" / "card.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("train", ["frozen", "lora"])
def test_fixed_weights_are_written_once(
    train: str, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spec = described(folder, train=train).changed("training.ema=0.9", "training.average=2")
    whole = Experiment(spec, tmp_path / "whole", device="cpu", quiet=True).train()
    assert not (tmp_path / "whole" / "state" / "fixed.safetensors").exists()  # so few are in each checkpoint
    part = tmp_path / "part"
    Experiment(spec.changed("training.epochs=1"), part, device="cpu", quiet=True).train()
    monkeypatch.setattr("regard.training.checkpoint.LEAST_BYTES", 1)
    Experiment.resume(part, overrides=["training.epochs=3"], device="cpu", quiet=True).train()
    fixed = set(load_file(part / "state" / "fixed.safetensors"))
    before = (part / "state" / "fixed.safetensors").stat().st_mtime_ns
    Experiment.resume(part, overrides=["training.epochs=4"], device="cpu", quiet=True).train()
    assert (part / "state" / "fixed.safetensors").stat().st_mtime_ns == before
    frozen = {name for name, one in whole.network.named_parameters() if not one.requires_grad}
    assert fixed == frozen and any("word_embeddings" in name for name in fixed)
    state = load_file(part / "state" / "training.safetensors")
    assert not {name.partition("/")[2] for name in state} & fixed
    newest = sorted((part / "state" / "kept").iterdir())[-1]
    assert set(load_file(newest)) == set(whole.network.state_dict()) - fixed
    loaded: Any = regard.load(part, device="cpu")
    for name, weight in whole.network.state_dict().items():
        assert torch.equal(weight, loaded.network.state_dict()[name]), name
    (part / "state" / "fixed.safetensors").unlink()
    with pytest.raises(RegardError, match="the weights that are not trained are missing"):
        Experiment.resume(part, overrides=["training.epochs=5"], device="cpu", quiet=True).train()


def test_a_word_is_the_mean_of_its_pieces(folder: Path) -> None:
    model = built(folder)
    values = model.network.encoders["source"](collated(model, "cat dog!", "cat")).values
    from transformers import AutoModel

    body = AutoModel.from_pretrained(str(folder / "encoder")).eval()
    tokenizer = model.columns["source"].tokenizer
    assert tokenizer.encode("cat dog!").tokens == ["[CLS]", "cat", "d", "##o", "##g", "!", "[SEP]"]
    with torch.no_grad():
        states = body(input_ids=torch.tensor([tokenizer.encode("cat dog!").ids])).last_hidden_state[0]
    expected = torch.stack([states[1], states[2:5].mean(0), states[5]])
    torch.testing.assert_close(values[0], expected)
    assert values.shape == (2, 3, 8) and not values[1, 1:].any()
    first = built(folder, pool="first").network.encoders["source"](collated(model, "cat dog!")).values
    torch.testing.assert_close(first[0, 1], states[2])


def test_cached_features_are_those_computed(folder: Path) -> None:
    model = built(folder, layers="mix")
    encoder = model.network.encoders["source"]
    batch = collated(model, *(source for source, _ in ROWS))
    computed = encoder(batch).values
    assert encoder.cache is None
    encoder.train()
    calls: list[int] = []
    encoder.body.register_forward_hook(lambda *_: calls.append(1))
    first, again = (
        encoder(batch).values,
        encoder(collated(model, *(source for source, _ in ROWS[::-1]))).values,
    )
    assert len(calls) == len(ROWS) == len(encoder.cache)
    torch.testing.assert_close(first, computed)
    assert torch.equal(again.flip(0), first)


def test_a_long_text_is_read_in_windows(folder: Path) -> None:
    model = built(folder)
    text = " ".join(["cat sat"] * 40)  # 80 pieces, and the encoder has 40 positions
    batch = collated(model, text, "cat")
    assert batch.cut.rows.tolist() == [0, 0, 0, 0, 1]
    values = model.network.encoders["source"](batch).values
    assert bool(values[0].any(-1).all())
    torch.testing.assert_close(values[0, :20], values[0, 20:40])  # each window begins anew
    model.network.encoders["source"].train()
    torch.testing.assert_close(model.network.encoders["source"](batch).values, values)


def test_its_own_attention_is_by_word(folder: Path) -> None:
    model = built(folder)
    looks = model.network.encoders["source"].self_looks(collated(model, "The cat dog!"))["encoder layer 1"]
    from transformers import AutoModel

    body = AutoModel.from_pretrained(str(folder / "encoder"), attn_implementation="eager").eval()
    with torch.no_grad():  # [CLS] T ##h ##e cat d ##o ##g ! [SEP]
        ids = torch.tensor([model.columns["source"].tokenizer.encode("The cat dog!").ids])
        weights = body(input_ids=ids, output_attentions=True).attentions[0][0, 0]
    given = torch.stack(
        [weights[5:8, 1:4].sum(), weights[5:8, 4].sum(), weights[5:8, 5:8].sum(), weights[5:8, 8].sum()]
    )
    torch.testing.assert_close(looks[0, 0, 2], given / given.sum())
    assert "encoder layer 2" in str(model.predict("The cat dog!").trace.to_dict())


def test_a_masked_word_is_unknown(folder: Path) -> None:
    model = built(folder)
    plain, other = model.predict("The big cat"), model.predict("The [MASK] cat")
    batch = collated(model, "The big cat").cut.forgotten(0, [1], 3)
    assert plain.score != other.score
    assert batch.ids.tolist()[0][4:7] == [4, 4, 4] and batch.keys == (0,)


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"model": "nowhere"}, "nowhere: there is no such folder"),
        ({"model": "hf:owner/absent"}, "Fetch it once: hf download owner/absent"),
        ({"rank": 4}, "rank has no effect: it belongs to train: lora"),
        ({"train": "half"}, "'half' is not one of frozen, lora, full"),
    ],
)
def test_mistakes_have_a_remedy(options: dict[str, Any], expected: str, folder: Path) -> None:
    with pytest.raises(RegardError) as caught:
        built(folder, **options)
    assert expected in str(caught.value)


def test_a_folder_without_a_tokenizer_is_refused(folder: Path, tmp_path: Path) -> None:
    shutil.copytree(folder / "encoder", tmp_path / "encoder")
    (tmp_path / "encoder" / "tokenizer.json").unlink()
    with pytest.raises(RegardError, match=r"the model has no tokenizer\.json\. Write it once"):
        built(folder, model=str(tmp_path / "encoder"))
