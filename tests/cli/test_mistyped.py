"""A mistyped command is refused with its place, its cause and its remedy, in the words that were typed."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

import regard
import regard.cli

SPEC: dict[str, Any] = {
    "inputs": {"source": {"type": "text", "unit": "char"}},
    "encoder": {"size": 4, "embedding": 4},
}
TEXT: dict[str, Any] = {
    "outputs": {"target": {"type": "text", "unit": "char"}},
    "decoder": {"size": 4},
}
ROW = {"source": "ab", "target": "ba"}


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two runs, `text` and `label`, beside a table and a file of keys whose second line no header can hold."""
    folder = tmp_path_factory.mktemp("place")
    for name, more in (("text", TEXT), ("label", {"outputs": {"target": {"type": "label"}}})):
        regard.Model.build(regard.Spec(**SPEC, **more), rows=[ROW]).save(folder / name)
    (folder / "words.tsv").write_text("".join(f"a{i}\tb{i}\n" for i in range(20)))
    (folder / "keys").write_text("abc\nd\te\n")
    return folder


@pytest.mark.parametrize(
    ("command", "says"),
    [
        ("sweep words.tsv --vary encoder.size=a..b", "'a..b' is no range of numbers. Write LOW..HIGH"),
        ("sweep words.tsv --vary encoder.size=nan..8", "'nan..8' is no range of numbers. Write LOW..HIGH"),
        ("sweep words.tsv --vary encoder.size=8..9:-1", "the step -1 does not fit between 8 and 9. Write a step"),
        ("sweep words.tsv --vary encoder.size=1..1e400", "a range ends at a finite number, received 1..1e400."),
        ("sweep words.tsv --vary encoder.size=8..9 --metric blue", "--metric: there is no metric 'blue'. Did you"),
        ("sweep words.tsv --vary encoder.size=8..9 --device gpu", "'gpu' cannot be used: expected cpu, cuda, "),
        ("export text --of targe", "The outputs are target. Use --of target"),
        ("export text --to ctranslate2", "the encoder is no Transformer. To see which formats can hold it: --check"),
        ("export text --check -o out", "-o has no effect: --check writes nothing. Leave out one of them."),
        ("predict text -f words.tsv -o words.tsv/", "words.tsv: this is a file, expected a folder. Choose another"),
        ("predict text -f ftp:/x", "ftp://x: the file cannot be fetched"),
        ("predict text ab --regex ([", "--regex '([': a [ is not closed"),
        ("predict label ab --must Z --never Y", "--must Z --never Y has no effect: this model answers without a"),
        ("predict text ab --set encoder.size=9", "--set encoder.size=9: the trained weights do not fit this"),
        ("predict text ab --set inputs.source.unit=word", "--set inputs.source.unit=word: this setting has no effect"),
        ("train words.tsv --set training.metric=blue", "training.metric: there is no metric 'blue'. Did you mean"),
        ("train words.tsv --set encoder={type: pretrained}", "Add model: a folder of transformers"),
        ("serve text --key-file nowhere", "nowhere: the file of keys cannot be read: No such file or directory. Name"),
        ("serve text --key-file keys", "keys:2: a key is empty or has characters that a header cannot have. Use"),
        ("serve text --log-inputs --port 0", "--log-inputs has no effect: nothing is logged. Name a file"),
        ("serve text --max-wait inf", "--max-wait: received inf, expected a finite number from 0."),
        ("ask http://127.0.0.1:99999 ab", "the port is no number from 0 to 65535. Write it as http://127.0.0.1:8000"),
    ],
)  # fmt: skip
def test_the_place_the_cause_and_the_remedy_are_said(
    command: str,
    says: str,
    place: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    for package, commands in {
        "optuna": "sweep",
        "starlette": "serve",
        "fsspec": "ftp",
        "onnx": "export",
    }.items():
        if commands in command:
            pytest.importorskip(package)
    words = command.replace("type: ", "type:\0").split()
    monkeypatch.chdir(place)
    monkeypatch.setattr(sys, "argv", ["regard", *(word.replace("\0", " ") for word in words)])
    before = {path: path.stat().st_mtime_ns for path in place.rglob("*")}
    with pytest.raises(SystemExit) as ended:
        regard.cli.main()
    assert ended.value.code == 2
    assert says in " ".join(capsys.readouterr().err.split())
    assert {path: path.stat().st_mtime_ns for path in place.rglob("*") if "cache" not in str(path)} == before


def test_a_setting_that_was_trained_may_be_repeated(place: Path) -> None:
    same = regard.Model.load(place / "text", overrides=["inputs.source.unit=char", "encoder.size=4"])
    assert same.predict("ab").text == regard.Model.load(place / "text").predict("ab").text
