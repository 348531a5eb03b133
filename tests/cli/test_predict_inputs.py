"""The inputs of `predict`: texts, standard input, lines and tables; answers as an additional column."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import regard as package
from regard.spec import Spec

Run = Callable[..., tuple[int, str, str]]
WORDS = ["ab", "fed", "cafe", "bead", "dab"]


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Two models that give different answers and have different field names."""
    folder = tmp_path_factory.mktemp("runs")
    letters = "abcdef"
    pairs = [(a + b + c, f"{a} {b}".upper()) for a in letters for b in letters for c in letters]
    overrides = [
        "training.steps=40",
        "encoder.size=8",
        "decoder.size=8",
        "search.max_length=6",
        "search.min_length=3",
    ]
    for seed in (1, 2):
        changes = [*overrides, f"training.seed={seed}"]
        package.fit(pairs, run=folder / str(seed), overrides=changes, device="cpu", quiet=True)
    return [str(folder / "1"), str(folder / "2")]


def predict(regard: Run, *arguments: str) -> list[str]:
    code, out, err = regard("predict", *arguments, "--device", "cpu")
    assert code == 0, err
    return out.splitlines()


def each(regard: Run, *arguments: str) -> list[str]:
    """The answers to the words, predicted one at a time."""
    return [line for word in WORDS for line in predict(regard, *arguments, word)]


def refused(regard: Run, *arguments: str) -> str:
    code, out, err = regard("predict", *arguments, "--device", "cpu")
    assert code == 2 and not out
    return err


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("lines.txt", "\n".join(WORDS)),
        ("one.tsv", "\n".join(WORDS)),
        ("pairs.tsv", "\n".join(f"{word}\tX Y" for word in WORDS)),
        ("headed.tsv", "id\tsource\n" + "\n".join(f"7\t{word}" for word in WORDS)),
        ("headed.csv", "source,note\n" + "\n".join(f'{word},"a, b"' for word in WORDS)),
        ("by_name.jsonl", "\n".join(f'{{"source": "{word}", "id": 1}}' for word in WORDS)),
    ],
)
def test_a_file_is_read_as_its_name_says(
    regard: Run, runs: list[str], tmp_path: Path, name: str, content: str
) -> None:
    (tmp_path / name).write_text(content + "\n", encoding="utf-8")
    answers = predict(regard, runs[0], "-f", str(tmp_path / name))
    assert answers == each(regard, runs[0])


@pytest.mark.parametrize("arguments", [[], ["-"], ["-f", "-"]])
def test_standard_input_is_read_where_nothing_else_is_named(
    regard: Run, runs: list[str], monkeypatch: pytest.MonkeyPatch, arguments: list[str]
) -> None:
    wanted = each(regard, runs[0])
    text = "\n".join(WORDS) + "\n"
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
    assert predict(regard, runs[0], *arguments) == wanted


@pytest.mark.parametrize("ending", ["tsv", "csv"])
def test_several_models_fill_a_column_together(
    regard: Run, runs: list[str], tmp_path: Path, ending: str
) -> None:
    comma = "\t" if ending == "tsv" else ","
    table = tmp_path / f"in.{ending}"
    table.write_text(f"id{comma}word\n" + "".join(f"1{comma}{word}\n" for word in WORDS), encoding="utf-8")
    together = each(regard, runs[0], "--with", runs[1])
    assert together != each(regard, runs[0]), "the two agree: this test would see nothing"
    column = ["--column", "word", "--as", "said"]
    written = predict(regard, runs[0], "--with", runs[1], "-f", str(table), *column)
    assert written[0] == f"id{comma}word{comma}said"
    assert [line.split(comma)[2] for line in written[1:]] == together


def test_what_would_be_left_unread_is_refused(regard: Run, runs: list[str], tmp_path: Path) -> None:
    table = tmp_path / "in.tsv"
    table.write_text("source\ttarget\nab\tX\ncd\n", encoding="utf-8")
    column = ["-f", str(table), "--column", "source", "--as", "said"]
    assert "texts and a file" in refused(regard, runs[0], "ab", "-f", str(table))
    assert "Add --json" in refused(regard, runs[0], "ab", "--trace")
    assert "one answer per row" in refused(regard, runs[0], *column, "--n-best", "2")
    result = tmp_path / "out.tsv"
    assert "in.tsv:3: the row has 1 cells, expected 2" in refused(regard, runs[0], *column, "-o", str(result))
    assert not result.exists()
    by_rows = refused(regard, runs[0], "-f", str(table))
    assert f"{table}:3" in by_rows and "--bad-rows skip" in by_rows


def test_a_file_named_as_a_text_gets_a_hint(regard: Run, runs: list[str], tmp_path: Path) -> None:
    (tmp_path / "words").write_text("ab\n", encoding="utf-8")
    code, out, err = regard("predict", runs[0], str(tmp_path / "words"), "--device", "cpu")
    assert code == 0 and len(out.splitlines()) == 1
    assert f"To read the file: -f {tmp_path / 'words'}" in err


def test_words_are_one_text_as_in_show(regard: Run, runs: list[str], tmp_path: Path) -> None:
    (tmp_path / "in.txt").write_text("ab cd ba\n", encoding="utf-8")
    whole = predict(regard, runs[0], "-f", str(tmp_path / "in.txt"))
    assert predict(regard, runs[0], "ab", "cd", "ba") == predict(regard, runs[0], "ab cd ba") == whole
    assert len(predict(regard, runs[0], "ab " * 120)) == 1  # longer than any file name


def test_json_goes_to_a_file_and_a_dash_is_standard_output(
    regard: Run, runs: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (line,) = predict(regard, runs[0], "ab", "--json", "-")
    (text,) = predict(regard, runs[0], "ab")
    assert json.loads(line)["text"] == text
    assert predict(regard, runs[0], "ab", "--json", "out.jsonl", "-o", "out.txt") == []
    assert Path("out.jsonl").read_text().splitlines() == [line] and Path("out.txt").read_text() == f"{text}\n"
    assert predict(regard, runs[0], "ab", "-o", "-") == [text]
    code, out, err = regard("evaluate", runs[0], "--split", "dev", "--json", "-", "--device", "cpu")
    assert code == 0 and json.loads(out)["models"][runs[0]]["scores"] and "rows" in err
    assert not Path("-").exists()


def test_units_that_were_never_seen_are_told_once(regard: Run, runs: list[str], tmp_path: Path) -> None:
    (tmp_path / "in.txt").write_text("ab\nxß\nyß\n", encoding="utf-8")
    code, out, err = regard("predict", runs[0], "-f", str(tmp_path / "in.txt"), "--device", "cpu")
    assert code == 0 and len(out.splitlines()) == 3
    assert err.strip() == "2 of 3 inputs have units outside the vocabulary: 'x', 'ß', 'y'."
    _, _, err = regard("show", runs[0], "ß", "--device", "cpu")
    assert err.strip() == "The input has units outside the vocabulary: 'ß'."
    assert regard("predict", runs[0], "ab", "--device", "cpu")[2] == ""


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["show", "ab", "--row", "3"], "received both a text, 'ab', and --row 3"),
        (["show", "ab", "--samples", "2"], "no structured selection to sample from"),
        (["show", "ab", "--grid"], "this model reads no image or video"),
        (["show", "ab", "--look", "0-99"], "the output has no piece 99"),
        (["show", "--row", "0", "--target", "A", "--split", "dev"], "has its own output"),
    ],
)
def test_options_that_mean_nothing_are_refused(
    regard: Run, runs: list[str], arguments: list[str], told: str
) -> None:
    command, *rest = arguments
    code, _, err = regard(command, runs[0], *rest, "--device", "cpu")
    assert code == 2 and told in err


def test_runs_that_cannot_be_compared_are_refused_before_anything_is_measured(
    regard: Run, runs: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [{"source": "ab", "label": "x"}, {"source": "ba", "label": "y"}]
    document = {
        "inputs": {"source": {"type": "text", "unit": "char"}},
        "outputs": {"label": {"type": "label"}},
        "encoder": {"size": 4},
    }
    package.Model.build(package.Spec(**document), rows=rows).save(tmp_path / "other")
    monkeypatch.setattr("regard.cli.measuring.measure", lambda *_, **__: pytest.fail("it was measured"))
    other = str(tmp_path / "other")
    code, _, err = regard("evaluate", runs[0], other, "--compare", "--device", "cpu")
    assert code == 2 and f"{runs[0]} writes target, but {other} writes label" in err
    code, _, err = regard("evaluate", runs[0], "--with", other, "--device", "cpu")
    assert code == 2 and "--with" in err and f"{other} writes label" in err
    code, _, err = regard("predict", other, "ab", "--beam", "3", "--device", "cpu")
    assert code == 2 and "search.method=beam has no effect" in err


@pytest.mark.parametrize(
    ("arguments", "content"),
    [
        (["predict", "RUN", "--file", "FILE", "-o", "FILE"], "ab\nfed\n"),
        (["predict", "RUN", "--file", "FILE", "--json", "FILE"], "ab\nfed\n"),
        (
            ["predict", "RUN", "--file", "FILE", "--column", "word", "--as", "said", "-o", "FILE"],
            "word\tnote\nab\tmine\n",
        ),
        (["score", "RUN", "--file", "FILE", "-o", "FILE"], "abc\tA B\n"),
        (["evaluate", "RUN", "--data", "FILE", "--predictions", "FILE"], "abc\tA B\nfed\tF E\n"),
        (["evaluate", "RUN", "--data", "FILE", "--json", "FILE"], "abc\tA B\nfed\tF E\n"),
    ],
    ids=lambda value: " ".join(value[:1] + value[-2:-1]) if isinstance(value, list) else "",
)
def test_a_file_that_is_read_is_not_written_over(
    regard: Run, runs: list[str], tmp_path: Path, arguments: list[str], content: str
) -> None:
    file = tmp_path / "words.tsv"
    file.write_text(content, encoding="utf-8")
    code, _, err = regard(*({"RUN": runs[0], "FILE": str(file)}.get(one, one) for one in arguments))
    assert code == 2 and "would overwrite it" in err and "Choose another file name" in err
    assert file.read_text(encoding="utf-8") == content
    linked = tmp_path / "link.tsv"
    linked.symlink_to(file)
    last = [*arguments[:-1], "LINK"]
    names = {"RUN": runs[0], "FILE": str(file), "LINK": str(linked)}
    assert regard(*(names.get(one, one) for one in last))[0] == 2
    assert file.read_text(encoding="utf-8") == content


@pytest.fixture(scope="module")
def dialogs(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A model with two inputs, a dialog and its last utterance."""
    spec = {
        "inputs": {"dialog": {"type": "dialog"}, "utterance": {"type": "text", "shared": "dialog"}},
        "outputs": {"response": {"type": "candidate"}},
        "encoder": {
            "dialog": {"type": "story", "embedding": 4},
            "utterance": {"type": "bag", "embedding": 4, "like": "dialog"},
        },
        "decoder": {"type": "memory-retrieval", "hops": 1, "read": "sum"},
        "training": {"steps": 1, "batch_rows": 4},
    }
    rows = [{"dialog": f"U: {one} | U: so", "utterance": "so", "response": one} for one in ("a", "b")]
    run = tmp_path_factory.mktemp("dialogs") / "run"
    package.fit(rows, spec=Spec.parse(spec), dev=rows, run=run, device="cpu", quiet=True)
    return str(run)


BAD_DIALOGS = {
    "U: a | b": "dialog has a turn without a speaker, turn 2: 'b'; expected 'NAME: b'.",
    "": "dialog is empty.",
    "\ud800": "the row has an unpaired surrogate in dialog, which is not a character.",
    (): "dialog has no turn.",
    (("U", "a"), ("U",)): "dialog has a turn that is not a pair of speaker and text, turn 2.",
}


@pytest.mark.parametrize(("dialog", "problem"), BAD_DIALOGS.items())
def test_a_bad_input_among_good_ones_is_named_with_its_line_and_can_be_left_out(
    regard: Run, dialogs: str, tmp_path: Path, dialog: object, problem: str
) -> None:
    file = tmp_path / "in.jsonl"
    lines = [json.dumps({"dialog": one, "utterance": "so"}) for one in ("U: a", dialog, "U: b")]
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    assert f"{file}:2: {problem}" in refused(regard, dialogs, "-f", str(file))
    code, out, err = regard("predict", dialogs, "-f", str(file), "--bad-rows", "skip", "--device", "cpu")
    assert code == 0 and len(out.splitlines()) == 2
    assert err.splitlines() == ["1 input was left out:", f"  {file}:2: {problem}"]


def test_units_of_turns_that_were_never_seen_are_told(regard: Run, dialogs: str) -> None:
    given = json.dumps({"dialog": "U: zork | U: a", "utterance": "so"})
    assert regard("predict", dialogs, given, "--device", "cpu")[2].strip().endswith("vocabulary: 'zork'.")


def untrained(folder: Path, rows: list[dict[str, str]], **spec: object) -> str:
    """A model with the vocabulary of some rows."""
    package.Model.build(Spec.parse(spec), rows=rows).save(folder)
    return str(folder)


def test_words_of_trees_outside_the_vocabulary_are_told(regard: Run, tmp_path: Path) -> None:
    spec = {
        "inputs": {"tree": {"type": "brackets", "labels": False}},
        "outputs": {"value": {"type": "label"}},
        "encoder": {"type": "tree", "embedding": 4, "size": 4},
        "decoder": {"type": "label"},
    }
    run = untrained(tmp_path / "run", [{"tree": "(MIN 2 9)", "value": one} for one in "29"], **spec)
    code, _, err = regard("predict", run, "(FOO 2 9)", "--device", "cpu")
    assert (code, err.strip()) == (0, "The input has units outside the vocabulary: 'FOO'.")
    assert regard("predict", run, "(MIN 9 2)", "--device", "cpu")[2] == ""
    assert "The input has units" not in regard("predict", run, "(MIN 9", "--device", "cpu")[2]


def test_words_of_a_target_that_cannot_be_written_are_told(regard: Run, tmp_path: Path) -> None:
    spec = {
        "inputs": {"source": {"type": "text"}},
        "outputs": {"target": {"type": "text"}},
        "encoder": {"type": "recurrent", "size": 4, "embedding": 4},
        "attention": {"score": "additive"},
        "decoder": {"type": "recurrent", "size": 4, "embedding": 4, "copy": True},
    }
    run = untrained(tmp_path / "run", [{"source": "a b", "target": "b"}], **spec)
    code, _, err = regard("score", run, "a zork", "zork quux b", "--device", "cpu")
    assert code == 0
    assert err.splitlines()[1:] == [
        "The input has units outside the vocabulary: 'zork'.",
        "The target has units outside the vocabulary: 'quux'.",
    ]
    assert "The target has" in regard("show", run, "a b", "--target", "quux", "--device", "cpu")[2]
    pairs = tmp_path / "pairs.tsv"
    pairs.write_text("a b\tb\na b\tno\na b\tno yes\n", encoding="utf-8")
    told = regard("score", run, "-f", str(pairs), "--device", "cpu")[2].splitlines()
    assert told[1:] == ["2 of 3 targets have units outside the vocabulary: 'no', 'yes'."]


def test_unknown_units_of_a_column_are_told(regard: Run, runs: list[str], tmp_path: Path) -> None:
    table = tmp_path / "words.tsv"
    table.write_text("word\tnote\nab\tmine\nxß\tyours\n", encoding="utf-8")
    code, _, err = regard(
        "predict", runs[0], "-f", str(table), "--column", "word", "--as", "said", "--device", "cpu"
    )
    assert (code, err.strip()) == (0, "1 of 2 inputs has units outside the vocabulary: 'x', 'ß'.")


def test_the_predictions_of_evaluate_hold_the_inputs_alone_and_can_be_predicted_again(
    regard: Run, dialogs: str, tmp_path: Path
) -> None:
    data, table = tmp_path / "rows.jsonl", tmp_path / "found.tsv"
    rows = [{"dialog": f"U: {one} | U: so", "utterance": "so", "response": one} for one in ("a", "b")]
    data.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    code, _, err = regard(
        "evaluate", dialogs, "--data", str(data), "--predictions", str(table), "--device", "cpu"
    )
    assert code == 0, err
    head, *lines = (line.split("\t") for line in table.read_text(encoding="utf-8").splitlines())
    assert head == ["model", "dialog", "utterance", "output", "references"]
    assert [line[1:3] for line in lines] == [[row["dialog"], row["utterance"]] for row in rows]
    assert predict(regard, dialogs, "-f", str(table)) == [line[3] for line in lines]
