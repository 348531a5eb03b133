"""Users' files, from `regard train FILE` to `evaluate` and `predict`."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml

import regard as package
from regard.errors import RegardError
from regard.fitting.pairs import infer

Run = Callable[..., tuple[int, str, str]]
QUICK = [
    "training.steps=2",
    "encoder.size=4",
    "encoder.embedding=4",
    "data.hold_out=0.3",
]
TEXT = [*QUICK, "decoder.size=4", "decoder.embedding=4", "search.max_length=4", "search.method=greedy"]


def settings(changes: Sequence[str]) -> list[str]:
    return [part for change in changes for part in ("--set", change)]


def reviews(count: int = 40) -> list[tuple[str, str]]:
    generator = random.Random(3)
    words = ["fine", "bad", "long", "short", "loud", "slow"]
    return [(" ".join(generator.choices(words, k=4)), generator.choice(["pos", "neg"])) for _ in range(count)]


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("REGARD_CACHE", str(tmp_path / "cache"))
    return tmp_path


def test_a_table_with_a_header_of_its_own_and_further_columns(regard: Run, here: Path) -> None:
    rows = reviews()
    lines = [f"{number};{text};{label}" for number, (text, label) in enumerate(rows)]
    Path("reviews.csv").write_text("id;comment;mood\n" + "\n\n".join(lines) + "\n", encoding="utf-16")
    code, _, err = regard("train", "reviews.csv", "--device", "cpu")
    assert code == 2
    assert "reviews.csv: the file has 3 columns; which are used? There are id, comment, mood." in err
    assert "regard train reviews.csv --source comment --target mood" in err
    chosen = ["--source", "comment", "--target", "3"]
    code, out, err = regard("train", "reviews.csv", *chosen, "--device", "cpu", *settings(QUICK))
    assert code == 0, err
    assert "source: comment, target: mood (the first line is a header)" in out
    assert "source: text by word; target: label" in out and "--set inputs.source.unit=" in out
    assert "accuracy" in out and "--set metrics=" in out
    assert "30 % of the distinct inputs are held out; test: none" in out and "--set data.dev=FILE" in out
    assert f"{here / 'reviews.csv'}: the cells are separated by semicolons" in out
    assert f"{here / 'reviews.csv'}: 39 blank lines were skipped." in out
    assert package.load("runs/reviews", device="cpu").columns["target"].classes == ["neg", "pos"]
    assert yaml.safe_load(Path("runs/reviews/spec.yaml").read_text())["data"]["train"] == str(
        here / "reviews.csv"
    )
    Path("elsewhere").mkdir()
    Path("new.tsv").write_text("mood\tcomment\npos\tfine long slow bad\nneg\tbad\nodd\tloud\n")
    # Columns are matched by name in any order; a label that training never saw is an error.
    code, out, err = regard(
        "evaluate", "runs/reviews", "--data", "new.tsv", "--device", "cpu", "--json", "m.json"
    )
    assert code == 0, err
    assert "1 of 3 rows has a class that training never saw (odd): counted as errors" in out
    measured = next(iter(json.loads(Path("m.json").read_text())["models"].values()))
    assert measured["scores"]["accuracy"]["n"] == 3
    assert measured["scores"]["accuracy"]["value"] <= 2 / 3


def test_evaluate_falls_back_to_dev_from_any_folder_and_tells_of_changes(
    regard: Run, here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = Path("reviews.tsv")
    path.write_text("".join(f"{text}\t{label}\n" for text, label in reviews()))
    assert regard("train", "reviews.tsv", "--device", "cpu", *settings(QUICK))[0] == 0
    Path("elsewhere").mkdir()
    monkeypatch.chdir(here / "elsewhere")
    code, out, err = regard("evaluate", "../runs/reviews", "--device", "cpu")
    assert code == 0, err
    assert out.startswith("dev") and "the data have no test split: measured on dev" in out
    assert "has changed" not in out
    (here / path).write_text((here / path).read_text() + "loud loud loud\tpos\n")
    code, out, err = regard("evaluate", "../runs/reviews", "--device", "cpu")
    assert code == 0, err
    assert f"{here / path} has changed since the model was trained." in out
    found = package.load("../runs/reviews", device="cpu").evaluate()
    assert found.split == "dev" and any("has changed" in remark for remark in found.remarks)


def test_a_text_file_without_extension_in_other_folders(regard: Run) -> None:
    for folder, name, place in (("d", "a.en", 0), ("e", "b", 1)):
        Path(folder).mkdir()
        Path(folder, name).write_text("".join(f"{row[place]} x\n" for row in reviews()))
    Path("words.txt").write_text("".join(f"{text}|{label}\n" for text, label in reviews()))
    for what in ("d/a.en+e/b", "words.txt"):
        code, _, err = regard("train", what, "--device", "cpu", *settings(QUICK))
        assert code == 0, err
    code, _, err = regard("train", "missing.txt")
    assert code == 2 and "missing.txt: there is no such file" in err


def test_json_lines_with_nested_null_and_missing_fields(regard: Run) -> None:
    rows = [{"id": n, "translation": {"en": text, "de": label}} for n, (text, label) in enumerate(reviews())]
    path = Path("pairs.jsonl")
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    code, _, err = regard("train", "pairs.jsonl")
    assert code == 2 and "There are id, translation.en, translation.de." in err
    chosen = ["--source", "translation.en", "--target", "translation.de", "--device", "cpu"]
    code, out, err = regard("train", "pairs.jsonl", *chosen, *settings(QUICK))
    assert code == 0, err
    bad = [*rows[:4], {"id": 4, "translation": {"en": None, "de": "pos"}}, {"id": 5}, *rows[6:]]
    path.write_text("".join(json.dumps(row) + "\n" for row in bad))
    for command in (
        ["train", "pairs.jsonl", *chosen, "-o", "runs/b"],
        ["evaluate", "runs/pairs", "--data", "pairs.jsonl", "--device", "cpu"],
    ):
        code, _, err = regard(*command)
        assert code == 2 and "pairs.jsonl:5: translation.en is missing." in err
    code, _, err = regard("predict", "runs/pairs", "-f", "pairs.jsonl", "--device", "cpu")
    assert code == 2 and "pairs.jsonl:5: translation.en is missing." in err
    assert "Every row needs translation.en." in err
    skipping = ["--bad-rows", "skip", "--device", "cpu"]
    code, out, err = regard("predict", "runs/pairs", "-f", "pairs.jsonl", *skipping)
    assert code == 0 and len(out.splitlines()) == len(rows) - 2
    assert "2 inputs were left out:" in err and "pairs.jsonl:5" in err and "pairs.jsonl:6" in err
    with pytest.raises(RegardError, match=r"pairs\.jsonl:5: translation\.en is missing"):
        package.load("runs/pairs", device="cpu").evaluate(data="pairs.jsonl")
    code, _, err = regard("train", "pairs.jsonl", "--source", "translation.fr", "--target", "id")
    assert code == 2 and "there is no column 'translation.fr'" in err and "translation.de" in err


def test_a_field_that_no_row_has_is_named(regard: Run) -> None:
    Path("a.jsonl").write_text("".join(json.dumps({"text": t, "label": c}) + "\n" for t, c in reviews()))
    document = {
        "inputs": {"txt": {"type": "text"}},
        "outputs": {"label": {"type": "label"}},
        "data": {"train": "a.jsonl"},
    }
    Path("my.yaml").write_text(yaml.safe_dump(document))
    code, _, err = regard("train", "my.yaml", "--device", "cpu")
    assert code == 2 and "a.jsonl: no row has the field 'txt'. The rows have text, label" in " ".join(
        err.split()
    )
    document["inputs"] = {"text": {"type": "text"}}
    document["outputs"] = {"lable": {"type": "label"}}
    Path("my.yaml").write_text(yaml.safe_dump(document))
    code, _, err = regard("train", "my.yaml", "--device", "cpu")
    assert code == 2 and "no row to train on has the field 'lable'" in err


def test_an_empty_dev_file_is_named(regard: Run, here: Path) -> None:
    Path("a.tsv").write_text("".join(f"{text}\t{label}\n" for text, label in reviews()))
    Path("dev.tsv").write_text("")
    code, _, err = regard("train", "a.tsv", "--device", "cpu", *settings([*QUICK, "data.dev=dev.tsv"]))
    assert code == 2 and f"{here / 'dev.tsv'}: there are no rows to use." in err


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ("", "target is empty"),
        ("n/a", "target is 'n/a', expected a number"),
        ("1e400", "target is 1e400, expected a finite number"),
        ("7,5", "target is '7,5', expected a number; outputs.target.decimal=comma reads decimal commas"),
    ],
)
def test_a_value_that_is_no_number_is_a_bad_row(regard: Run, here: Path, value: str, reason: str) -> None:
    """With its line, or left out; the mean is of the other rows."""
    values = [str(n % 7 + n / 100) for n in range(60)]
    values[40] = value
    rows = "".join(f"{text}\t{one}\n" for (text, _), one in zip(reviews(60), values, strict=True))
    Path("a.tsv").write_text(rows)
    number = settings([*QUICK, "outputs.target.type=number"])
    code, _, err = regard("train", "a.tsv", "--device", "cpu", *number)
    assert code == 2 and "a.tsv:41: " in err and reason in err
    code, out, _ = regard("train", "a.tsv", "--device", "cpu", "--bad-rows", "skip", "--overwrite", *number)
    assert code == 0 and "1 rows of train left out" in out
    column: Any = package.load("runs/a", device="cpu").columns["target"]
    assert abs(column.mean - 3.3) < 0.5 and 1.5 < column.spread < 2.5


def test_a_whole_file_in_one_cell_is_a_bad_row(regard: Run, here: Path) -> None:
    rows = [f"word{n}\tw o r d {n}\n" for n in range(60)]
    rows[20] = "x" * 200_000 + "\ty\n"
    Path("a.tsv").write_text("".join(rows))
    code, _, err = regard("train", "a.tsv", "--device", "cpu", *settings(QUICK))
    assert code == 2 and "a.tsv:21: " in err and "200000" in err.replace(",", "") and "max_length" in err


def test_a_file_in_another_encoding_is_reported_as_such(regard: Run, here: Path) -> None:
    Path("a.tsv").write_bytes("".join(f"été {n}\tsummer {n}\n" for n in range(60)).encode("latin-1"))
    code, _, err = regard("train", "a.tsv", "--device", "cpu", *settings(QUICK))
    assert code == 2 and "a.tsv:1: " in err and "is not UTF-8: byte 1 of the line is 0xe9" in err
    assert "iconv -f cp1252 -t utf-8" in err


def test_a_header_that_cannot_be_read_is_not_skipped(regard: Run, here: Path) -> None:
    """Without it, other columns would be learned."""
    rows = "".join(f"ticket {n};{'billing' if n % 2 else 'login'}\n" for n in range(60))
    Path("a.csv").write_bytes(f"Betreff;Priorität\n{rows}".encode("cp1252"))
    for more in ((), ("--bad-rows", "skip")):
        code, _, err = regard("train", "a.csv", "--device", "cpu", *more, *settings(QUICK))
        told = " ".join(err.split())
        assert code == 2 and "a.csv:1: the first line, which may be a header, is not UTF-8" in told
        assert "iconv -f cp1252 -t utf-8" in told and "header: false" in told


def test_bad_lines_of_predict_are_named_or_skipped(regard: Run, here: Path) -> None:
    Path("a.tsv").write_text("".join(f"{text}\t{label}\n" for text, label in reviews()))
    assert (
        regard("train", "a.tsv", "--device", "cpu", *settings([*QUICK, "inputs.source.max_length=6"]))[0] == 0
    )
    Path("in.txt").write_bytes(b"fine\n\nlong " + b"very " * 9 + b"long\n\xff\nbad\n")
    answers = [regard("predict", "runs/a", word, "--device", "cpu")[1].strip() for word in ("fine", "bad")]
    command = ["predict", "runs/a", "-f", "in.txt", "--device", "cpu"]
    code, out, err = regard(*command)
    assert code == 2 and not out and "in.txt:2: the line is empty." in err and "--bad-rows skip" in err
    code, out, err = regard(*command, "--bad-rows", "skip")
    assert code == 0 and out.splitlines() == answers
    assert "3 inputs were left out:" in err
    assert "in.txt:3: source has 11 tokens, more than max_length 6." in err and "in.txt:4" in err
    Path("in.txt").write_text("fine\nlong " + "very " * 9 + "long\n")
    code, _, err = regard(*command)
    assert code == 2 and "in.txt:2: source has 11 tokens, more than max_length 6." in err
    # A table whose header does not match the model's fields is read in order, with a message.
    Path("in.csv").write_text("text,label\nfine,pos\nbad,neg\nbad\n")
    code, out, err = regard("predict", "runs/a", "-f", "in.csv", "--bad-rows", "skip", "--device", "cpu")
    assert code == 0 and out.splitlines() == answers
    assert "the first line is read as a header (text, label)" in err
    assert "in.csv:4: the row has 1 comma-separated cell, expected 2" in err
    column = ["--column", "text", "--as", "said", "--bad-rows", "skip", "--device", "cpu"]
    Path("in.csv").write_text("text;label\nfine;pos\n;neg\n")
    code, out, err = regard("predict", "runs/a", "-f", "in.csv", *column)
    assert code == 0 and out.splitlines() == ["text;label;said", f"fine;pos;{answers[0]}", ";neg;"]
    assert "1 input was left out:" in err


def test_tags_that_training_never_saw_are_errors(regard: Run) -> None:
    def sentence(words: str, tags: str) -> str:
        pairs = zip(words.split(), tags.split(), strict=True)
        return (
            "".join(
                f"{n}\t{word}\t_\t{tag}\t_\t_\t{n - 1}\tdep\t_\t_\n" for n, (word, tag) in enumerate(pairs, 1)
            )
            + "\n"
        )

    generator = random.Random(5)
    words = {"dog": "NOUN", "cat": "NOUN", "runs": "VERB", "sleeps": "VERB", "the": "DET"}
    drawn = [generator.choices(list(words), k=4) for _ in range(40)]
    text = "".join(sentence(" ".join(one), " ".join(words[word] for word in one)) for one in drawn)
    Path("train.conllu").write_text(text)
    Path("dev.conllu").write_text(sentence("the dog runs oh", "DET NOUN VERB INTJ"))
    for decoder in ("tags", "crf"):
        changes = [*QUICK, f"decoder.type={decoder}", "data.dev=dev.conllu"]
        command = ["train", "train.conllu", "-o", f"runs/{decoder}", "--device", "cpu"]
        code, out, err = regard(
            *command, *settings(changes[:-2] + changes[-2:]), "--set", "training.steps=40"
        )
        assert code == 0, err
        assert "1 of 4 words has a tag that training never saw (INTJ): counted as errors" in out
        scores = json.loads(Path(f"runs/{decoder}/metrics.json").read_text())["scores"]["dev"]
        assert scores["tag_accuracy"]["value"] <= 0.75
        found = package.load(f"runs/{decoder}", device="cpu").evaluate(metrics=["loss", "tag_accuracy"])
        assert found.scores["loss"].value < 10


def test_numbers_are_learned(here: Path, learning_seed: int) -> None:
    """The target is the length of a word: the model must have a lower error than the mean."""
    words = [f"{'ab' * (n % 5)}{'c' * (n % 3)}x" for n in range(60)]
    Path("lengths.csv").write_text("word,length\n" + "".join(f"{word},{len(word) / 2}\n" for word in words))
    changes = ["training.epochs=30", "encoder.size=16", "encoder.embedding=8", "data.dev=lengths.csv"]
    changes.append(f"training.seed={1 + learning_seed}")
    model = package.fit("lengths.csv", run="run", overrides=changes, device="cpu", quiet=True)
    assert model.spec.outputs["target"].type == "number"
    answer = model.predict("ababcx")
    assert isinstance(answer.value, float) and float(answer.text) == pytest.approx(answer.value, rel=1e-3)
    found = model.evaluate("dev", metrics=["absolute_error", "rmse"])
    lengths = [len(word) / 2 for word in words]
    mean = sum(lengths) / len(lengths)
    guess = sum(abs(one - mean) for one in lengths) / len(lengths)
    assert found.scores["absolute_error"].value < 0.5 * guess
    errors = [prediction.value - one for prediction, one in zip(model.predict(words), lengths, strict=True)]
    root = (sum(error**2 for error in errors) / len(errors)) ** 0.5
    assert found.scores["rmse"].value == pytest.approx(root, rel=1e-3)


LISTS = "the column 'phon' contains lists, expected texts or numbers. Join each list into one text, such as 'B AE'"


def listed(number: int) -> dict[str, Any]:
    return {"word": f"b{'a' * (number % 7)}{number}", "phon": ["B", "AE"]}


def test_columns_of_lists_are_named_with_the_reason_why_they_are_not_used(regard: Run) -> None:
    Path("two.jsonl").write_text("".join(json.dumps(listed(n)) + "\n" for n in range(20)))
    for options in ([], ["--target", "phon"], ["--source", "phon"]):
        code, _, err = regard("train", "two.jsonl", *options)
        assert code == 2 and f"two.jsonl: {LISTS}" in " ".join(err.split())
    Path("three.jsonl").write_text("".join(json.dumps({"n": n, **listed(n)}) + "\n" for n in range(20)))
    code, _, err = regard("train", "three.jsonl")
    assert code == 2 and "the file has 3 columns; which are used? There are n, word, phon (lists)." in err
    assert "--source word --target n" in err
    code, _, err = regard("train", "three.jsonl", "--source", "word", "--target", "phon")
    assert code == 2 and LISTS in " ".join(err.split())
    Path("one.jsonl").write_text('{"word": "a"}\n' * 20)
    code, _, err = regard("train", "one.jsonl")
    assert code == 2 and "1 column, and a pair needs two: word. Add a column" in " ".join(err.split())


def test_columns_of_lists_in_parquet_files_are_asked_about(regard: Run) -> None:
    import pyarrow
    from pyarrow import parquet

    rows = [{"word": "first", "n": 0, "phon": []}, *({"n": n, **listed(n)} for n in range(20))]
    parquet.write_table(pyarrow.Table.from_pylist(rows), "list.parquet")
    code, _, err = regard("train", "list.parquet")
    assert code == 2 and "There are word, n, phon (lists)." in err
    parquet.write_table(pyarrow.Table.from_pylist(rows).select(["word", "phon"]), "list.parquet")
    code, _, err = regard("train", "list.parquet")
    assert code == 2 and LISTS in " ".join(err.split())


def test_a_file_with_a_plus_in_its_path_is_one_file(regard: Run) -> None:
    folder = Path("my dir + x")
    folder.mkdir()
    lines = "".join(f"{text}\t{label}\n" for text, label in reviews())
    for name in ("my words+2.tsv", ".tsv"):
        (folder / name).write_text(lines)
    code, out, err = regard("train", str(folder / "my words+2.tsv"), "--device", "cpu", *settings(QUICK))
    assert code == 0, err
    assert "source: column 1, target: column 2" in out and "the model is in runs/my-words-2\n" in out
    assert infer(str(folder / "my words+2.tsv")).spec.name == "my-words-2"
    assert infer(str(folder / ".tsv")).spec.name == "data"
    code, out, err = regard("evaluate", "runs/my-words-2", "--device", "cpu")
    assert code == 0, err
