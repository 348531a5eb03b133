"""Pretrained word vectors: files of GloVe, word2vec and fastText, plain and compressed, and folders of model2vec."""

from __future__ import annotations

import bz2
import gzip
import lzma
import zipfile
from pathlib import Path
from typing import Any

import pytest
import torch

import regard
from regard import RegardError
from regard.fitting.experiment import Experiment
from regard.storage.files import read_json
from regard.storage.tensors import write_tensors

from .small import build, spec

LINES = "a 1 2 3 4 5 6\nzebra 0 0 0 0 0 0\n"


def embedding(**options: Any) -> Any:
    encoder: Any = build(spec(encoder={"size": 8, "embedding": options})).network.encoders["source"]
    return encoder.embedding


def unit(table: Any, word: str = "a") -> list[float]:
    column: Any = build(spec(encoder={"size": 8})).columns["source"]
    found: list[float] = table.weight[column.vocabulary.id(word)].tolist()
    return found


def test_pretrained_vectors_are_used_and_kept(tmp_path: Path) -> None:
    file = tmp_path / "vectors.txt"
    file.write_text("2 6\n" + LINES, encoding="utf-8")
    model = build(spec(encoder={"size": 8, "embedding": {"vectors": str(file), "train": False}}))
    column: Any = model.columns["source"]
    encoder: Any = model.network.encoders["source"]
    known = column.vocabulary.id("a")
    assert encoder.embedding.weight[known].tolist() == [1, 2, 3, 4, 5, 6]
    assert encoder.embedding.fixed.nonzero().tolist() == [[known]]
    file.unlink()  # a saved model no longer needs the file
    model.save(tmp_path / "model")
    loaded: Any = regard.load(tmp_path / "model", device="cpu").network.encoders["source"]
    assert torch.equal(loaded.embedding.weight, encoder.embedding.weight)
    assert torch.equal(loaded.embedding.fixed, encoder.embedding.fixed)


def test_each_way_to_write_a_file_gives_the_same_vectors(tmp_path: Path) -> None:
    for name, packed in {
        "glove.txt": LINES.encode(),
        "word2vec.txt": f"2 6 \n{LINES}".replace("\n", " \n").encode(),
        "marked.vec": f"\ufeff2 6\n{LINES}".encode(),
        "windows.txt": LINES.replace("\n", "\r\n").encode(),
        "tabs.txt": LINES.replace(" ", "\t").encode(),
        "spaced.txt": f"{LINES}. . a@b 1 1 1 1 1 1\n".encode(),
        "glove.gz": gzip.compress(LINES.encode()),
        "glove.xz": lzma.compress(LINES.encode()),
        "glove.bz2": bz2.compress(LINES.encode()),
    }.items():
        (tmp_path / name).write_bytes(packed)
        assert unit(embedding(vectors=str(tmp_path / name))) == [1, 2, 3, 4, 5, 6], name
    with zipfile.ZipFile(tmp_path / "glove.zip", "w") as archive:
        archive.writestr("inside.txt", LINES)
    assert unit(embedding(vectors=str(tmp_path / "glove.zip"))) == [1, 2, 3, 4, 5, 6]
    assert embedding(vectors=str(tmp_path / "glove.zip" / "inside.txt")).size == 6


@pytest.mark.parametrize(
    ("text", "options", "expected"),
    [
        ("a 1 2 3\n", {"size": 6}, "vectors.txt:1: the vectors have 3 numbers, expected 6. Set  size: 3"),
        ("3 4\na 1 2 3 4\n", {"size": 6}, "vectors.txt:1: the vectors have 4 numbers, expected 6"),
        ("a 1 2 3\nb 1 2\n", {}, "vectors.txt:2: expected a word and 3 numbers, received 2 numbers"),
        ("a 1 2 3\nb 1 2 3 4\n", {}, "vectors.txt:2: expected a word and 3 numbers, received 4 numbers"),
        ("zebra 1 2\na 1 x\n", {}, "vectors.txt:2: number 2 of the line is 'x', expected a number"),
        ("a 1 nan\n", {}, "vectors.txt:1: a number of the line is infinite or not a number"),
        ("a 1 2\n\xe9 1 2\n", {}, "vectors.txt:2: 1 of 2 words are not UTF-8, the first one here. Convert"),
        ("zebra 1 2 3 4 5 6\n", {}, "none of the 8 units of source has a vector here"),
        ("", {}, "vectors.txt:1: this is no text of word vectors"),
        ("\x93NUMPY\0\0", {}, "vectors.txt:1: this is no text of word vectors"),
        ("a 1", {"train": "maybe"}, "encoder.embedding.train: expected a valid boolean"),
        ("a 1", {"frozen": True}, "encoder.embedding.frozen: unknown key 'frozen'"),
    ],
)
def test_bad_vector_files_are_told_with_their_line(
    text: str, options: dict[str, Any], expected: str, tmp_path: Path
) -> None:
    file = tmp_path / "vectors.txt"
    file.write_bytes(text.encode("latin1"))
    with pytest.raises(RegardError) as caught:
        embedding(vectors=str(file), **options)
    assert expected in str(caught.value)


def test_a_wide_encoding_is_named(tmp_path: Path) -> None:
    (tmp_path / "vectors.txt").write_text(LINES, encoding="utf-16")
    with pytest.raises(RegardError, match=r"vectors\.txt:1: the file is UTF-16, expected UTF-8"):
        embedding(vectors=str(tmp_path / "vectors.txt"))


def test_unknown_units_share_the_vectors_of_their_n_grams(tmp_path: Path) -> None:
    rows = [{"source": "walk walked", "target": "x"}]
    (tmp_path / "v.txt").write_text("walk 2 0\nwalks 4 0\nfly 0 9\n", encoding="utf-8")
    options = {"embedding": {"vectors": str(tmp_path / "v.txt"), "unknown": "characters"}}
    described = spec(inputs={"source": {"type": "text"}}, encoder=options)
    model: Any = regard.Model.build(described, rows=rows)
    table, known = model.network.encoders["source"].embedding, model.columns["source"].vocabulary
    assert table.weight[known.id("walk")].tolist() == [2, 0]
    # <wal, walk, <walk …: each n-gram that “walked” shares is in both; their mean is 3.
    assert table.weight[known.id("walked")].tolist() == [3, 0]
    assert table.origin.built == 1


def test_the_vectors_of_pieces_give_those_of_words(tmp_path: Path) -> None:
    tokenizers = pytest.importorskip("tokenizers")
    pieces = {"[UNK]": 0, "a": 1, "##b": 2, "c": 3}
    words = tokenizers.Tokenizer(tokenizers.models.WordPiece(pieces, unk_token="[UNK]"))
    words.save(str(tmp_path / "tokenizer.json"))
    table = torch.tensor([[9.0, 9.0], [1.0, 2.0], [3.0, 6.0], [5.0, 5.0]])
    write_tensors(tmp_path / "model.safetensors", {"embeddings": table}, {})
    described = spec(inputs={"source": {"type": "text"}}, encoder={"embedding": {"vectors": str(tmp_path)}})
    model: Any = regard.Model.build(described, rows=[{"source": "ab c xyz", "target": "x"}])
    found, known = model.network.encoders["source"].embedding, model.columns["source"].vocabulary
    assert found.weight[known.id("ab")].tolist() == [2, 4]
    assert found.weight[known.id("c")].tolist() == [5, 5]
    assert known.id("xyz") not in found.origin.known


def test_words_of_one_piece_extend_a_model(tmp_path: Path) -> None:
    tokenizers = pytest.importorskip("tokenizers")
    pieces = {"[UNK]": 0, "a": 1, "##b": 2, "c": 3, "dog": 4, "d": 5, "!": 6}
    words = tokenizers.Tokenizer(tokenizers.models.WordPiece(pieces, unk_token="[UNK]"))
    words.save(str(tmp_path / "tokenizer.json"))
    table = torch.arange(14, dtype=torch.float32).reshape(7, 2)
    write_tensors(tmp_path / "model.safetensors", {"embeddings": table}, {})
    extended = {"vectors": str(tmp_path), "train": False, "extend": 3}
    described = spec(inputs={"source": {"type": "text"}}, encoder={"embedding": extended})
    model: Any = regard.Model.build(described, rows=[{"source": "ab xyz", "target": "x"}])
    weight, known = model.network.encoders["source"].embedding.weight, model.columns["source"].vocabulary
    assert weight[known.id("dog")].tolist() == [8, 9] and weight[known.id("ab")].tolist() == [3, 4]
    assert known.id("a") != 1 and known.id("c") != 1 and known.id("d") == known.id("!") == 1


def test_a_run_is_sealed_and_records_its_vectors(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file, rows = tmp_path / "v.txt", tmp_path / "rows.tsv"
    file.write_text("red 1 2\nblue 3 4\nBIG 5 6\n", encoding="utf-8")
    rows.write_text("source\ttarget\n" + "red blue odd\tx y\nblue blue\ty\n" * 8, encoding="utf-8")
    described = {
        "inputs": {"source": {"type": "text"}},
        "outputs": {"target": {"type": "text"}},
        "encoder": {"size": 4, "embedding": {"vectors": str(file), "train": False}},
        "decoder": {"size": 4, "embedding": 4},
        "training": {"epochs": 2, "optimizer": "adamw", "weight_decay": 0.5, "lr": 0.1},
        "data": {"train": str(rows), "dev": str(rows)},
    }
    Experiment(regard.Spec(**described), tmp_path / "run", device="cpu").train()
    told = " ".join(capsys.readouterr().out.split())
    assert (
        "encoder.source: 2 of 3 units (66.7 %) and 80.0 % of the text (dev 80.0 %) have a vector in" in told
    )
    record = read_json(tmp_path / "run" / "metrics.json")["pretrained"]["encoder.source"]
    assert (record["covered"], record["words"], record["bytes"]) == (2, 3, 25)
    file.unlink()
    model: Any = regard.load(tmp_path / "run", device="cpu")
    table, known = model.network.encoders["source"].embedding.weight, model.columns["source"].vocabulary
    assert table[known.id("red")].tolist() == [1, 2] and table[known.id("blue")].tolist() == [3, 4]
    resumed = Experiment.resume(tmp_path / "run", overrides=["training.epochs=3"], device="cpu", quiet=True)
    resumed.train()
    table = resumed.model.network.encoders["source"].embedding.weight
    assert table[known.id("red")].tolist() == [1, 2]
    assert read_json(tmp_path / "run" / "metrics.json")["pretrained"]["encoder.source"] == record


def test_words_beyond_the_training_texts_have_their_vectors(tmp_path: Path) -> None:
    file, rows, dev = tmp_path / "v.txt", tmp_path / "rows.tsv", tmp_path / "dev.tsv"
    file.write_text("3 2\nred 1 2\ngreen 3 4\nlate 5 6\n", encoding="utf-8")
    rows.write_text("source\ttarget\n" + "red odd\tx\nodd red odd\ty\n" * 4, encoding="utf-8")
    dev.write_text("source\ttarget\n" + "red green late never\tx\n", encoding="utf-8")
    described: dict[str, Any] = {
        "inputs": {"source": {"type": "text"}},
        "outputs": {"target": {"type": "label"}},
        "encoder": {"size": 4, "embedding": {"vectors": str(file), "train": False, "extend": 2}},
        "training": {"epochs": 1, "optimizer": "adamw", "weight_decay": 0.5, "lr": 0.1},
        "data": {"train": str(rows), "dev": str(dev)},
    }
    Experiment(regard.Spec(**described), tmp_path / "run", device="cpu", quiet=True).train()
    record = read_json(tmp_path / "run" / "metrics.json")["pretrained"]["encoder.source"]
    assert (record["covered"], record["units"]) == (2, 3) and record["splits"] == {"dev": 0.5}
    file.unlink()
    model: Any = regard.load(tmp_path / "run", device="cpu")
    column, table = model.columns["source"], model.network.encoders["source"].embedding.weight
    assert table[column.vocabulary.id("green")].tolist() == [3, 4]
    assert column.vocabulary.id("late") == column.vocabulary.id("never") == 1
    scores = {word: model.predict(f"{word} odd").probabilities for word in ("green", "late", "never")}
    assert scores["green"] != scores["never"] and scores["late"] == scores["never"]


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"train": True}, "extend needs vectors that stay as they are. Set  train: false"),
        ({"unit": "char"}, "extend needs an input of whole words"),
        ({"shared": True}, "shared with an output"),
    ],
)
def test_vectors_that_cannot_be_extended(tmp_path: Path, changes: dict[str, Any], told: str) -> None:
    (tmp_path / "v.txt").write_text(LINES, encoding="utf-8")
    vectors = {"vectors": str(tmp_path / "v.txt"), "train": changes.get("train", False), "extend": 2}
    outputs = {"target": {"type": "text", **({"shared": "source"} if "shared" in changes else {})}}
    with pytest.raises(RegardError, match=told):
        regard.Spec(
            inputs={"source": {"type": "text", "unit": changes.get("unit", "word")}},
            outputs=outputs,
            encoder={"size": 4, "embedding": vectors},
        )
