"""What is inferred from a file of pairs: types, units, metrics and settings."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest

from regard.errors import RegardError
from regard.fitting.pairs import infer, is_data_file

WORDS = ["fine", "bad", "long", "short", "loud", "slow"]
TEXTS = [" ".join(random.Random(n).choices(WORDS, k=4)) for n in range(60)]


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_what_is_data_and_what_is_a_name(here: Path) -> None:
    for name in ("words", "words.txt", "reverse.txt"):
        Path(name).write_text("a\tb\n")
        assert is_data_file(name)
    Path("reverse").write_text("a\tb\n")
    assert not is_data_file("reverse")  # a zoo name takes precedence
    assert is_data_file("d/a.en+e/b.de") and is_data_file("hf:wmt14:train") and is_data_file("missing.txt")
    assert not is_data_file("my.yaml") and not is_data_file("revrse")


def test_numbers_are_recognized(here: Path) -> None:
    Path("scores.tsv").write_text("".join(f"{text}\t{n / 7:.3f}\n" for n, text in enumerate(TEXTS)))
    found = infer("scores.tsv")
    assert found.spec.outputs["target"].type == "number" and found.spec.training.metric == "absolute_error"
    Path("stars.tsv").write_text("".join(f"{text}\t{1 + n % 5}\n" for n, text in enumerate(TEXTS)))
    assert infer("stars.tsv").spec.outputs["target"].type == "label"  # a few distinct integers are classes
    assert not infer("stars.tsv").warnings
    for file, wanted in (("scores.tsv", "label"), ("stars.tsv", "text")):  # as the messages recommend
        changed = infer(file, [f"outputs.target.type={wanted}"])
        assert changed.spec.outputs["target"].type == wanted and not changed.warnings
    with pytest.raises(RegardError, match="lable"):
        infer("stars.tsv", ["outputs.target.type=lable"])
    with pytest.raises(RegardError, match="source and target are the same column, '2'"):
        infer("stars.tsv", source="2", target="2")


def test_decimal_commas_are_numbers_and_percentages_are_text_with_a_warning(here: Path) -> None:
    def written(form: str) -> str:
        rows = (f"{text}\t{form.format(n)}\n" for n, text in enumerate(TEXTS))
        Path("a.tsv").write_text("".join(rows))
        return "a.tsv"

    found = infer(written("{},5")).spec.outputs["target"]
    assert (found.type, found.decimal) == ("number", "comma")  # type: ignore[attr-defined]
    thousands = infer(written("{},500"))
    assert thousands.spec.outputs["target"].type == "text" and "remove the commas" in str(
        thousands.warnings[0]
    )
    percent = infer(written("{}.5%"))
    assert percent.spec.outputs["target"].type == "text" and "remove the % signs" in percent.warnings[0]


@pytest.mark.parametrize(
    ("target", "metrics"),
    [
        ("guten Tag liebe Welt", ("bleu", "chrf")),
        ("G UW T AH N", ("token_error", "exact")),
        ("gut", ("cer", "exact")),
    ],
)
def test_metrics_are_named_by_what_is_written(here: Path, target: str, metrics: tuple[str, ...]) -> None:
    texts = [f"{target} {n}" if " " in target else f"{target}{n}" for n in range(30)]
    Path("a.tsv").write_text("".join(f"s{n}\t{text}\n" for n, text in enumerate(texts)))
    assert infer("a.tsv").spec.metrics == metrics


def test_lists_of_whole_numbers_are_symbols_and_other_targets_of_numbers_are_asked_about(here: Path) -> None:
    rows = [{"word": "ab" * (n % 4 + 1), "sums": [n, n + 1, 4], "means": [n, 4.5]} for n in range(40)]
    Path("numbers.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    found = infer("numbers.jsonl", source="word", target="sums").spec
    assert (found.outputs["target"].field, found.outputs["target"].unit) == ("sums", "word")
    with pytest.raises(RegardError, match=r"lists of numbers, such as '0 4.5'.*outputs=.*type.: .text.}"):
        infer("numbers.jsonl", source="word", target="means")
    written = infer("numbers.jsonl", ["outputs.target.type=text"], source="word", target="means").spec
    assert written.outputs["target"].unit == "word"


def test_a_batch_size_that_is_given_replaces_the_inferred_one(here: Path) -> None:
    Path("reviews.tsv").write_text("".join(f"{text}\t{'bad' in text}\n" for text in TEXTS))
    assert infer("reviews.tsv").spec.training.batch_rows == 16
    given = infer("reviews.tsv", ["training.batch_tokens=500"]).spec.training
    assert (given.batch_tokens, given.batch_rows) == (500, None)


@pytest.mark.parametrize("decoder", ["recurrent", "transformer"])
@pytest.mark.parametrize("encoder", ["transformer", "convolutional", "smoothed"])
def test_another_encoder_or_decoder_takes_the_inferred_options_that_it_has(
    here: Path, encoder: str, decoder: str
) -> None:
    here.joinpath("pairs.tsv").write_text("".join(f"ab{i}\tba{i}\n" for i in range(40)))
    spec = infer("pairs.tsv", [f"encoder.type={encoder}", f"decoder.type={decoder}"]).spec
    (reads,), (writes,) = spec.encoder.values(), spec.decoder.values()
    assert (reads.type, reads.dropout, writes.type, writes.dropout) == (encoder, 0.2, decoder, 0.2)


def test_a_column_about_words_is_about_the_source(here: Path) -> None:
    Path("tags.tsv").write_text("".join(f"{text}\t{text.upper()}\n" for text in TEXTS))
    assert infer("tags.tsv", ["outputs.target.type=tags"]).spec.outputs["target"].of == "source"
