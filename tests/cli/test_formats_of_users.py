"""What a user's file means: tags, chats, series, images, parallel texts, prose, several labels."""

from __future__ import annotations

import csv
import json
import random
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, ClassVar

import pytest
from PIL import Image

from regard.cli.command import COMMAND_LINE
from regard.data import Row, read_rows
from regard.data.readers import Reader
from regard.errors import RegardError, said
from regard.fitting.pairs import infer, is_data_file, parallel
from regard.parts import register, registry
from regard.spec import Spec

Run = Callable[..., tuple[int, str, str]]
SENTENCES = [
    [("Anna", "NNP", "B-PER"), ("Smith", "NNP", "I-PER"), ("visits", "VBZ", "O"), ("Rome", "NNP", "B-LOC")],
    [("Bob", "NNP", "B-PER"), ("sleeps", "VBZ", "O"), (".", ".", "O")],
    [("Oslo", "NNP", "B-LOC"), ("is", "VBZ", "O"), ("cold", "JJ", "O"), ("today", "NN", "O")],
] * 8


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def conll(name: str, *columns: int, between: str = "\t", before: str = "", each: str = "") -> str:
    """Write the sentences with some of their columns."""
    blocks = [each + "\n".join(between.join(word[c] for c in columns) for word in one) for one in SENTENCES]
    Path(name).write_text(before + "\n\n".join(blocks) + "\n", encoding="utf-8")
    return name


def format_of(spec: Spec) -> str:
    assert spec.data.format is not None
    return str(spec.data.format.type)


def written(name: str, rows: Sequence[Any]) -> str:
    Path(name).write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return name


@pytest.mark.parametrize("name", ["a.conll", "a.txt", "a.tsv", "a.iob2", "train"])
def test_words_with_tags_are_sentences_with_spans_whatever_the_extension(name: str) -> None:
    found = infer(conll(name, 0, 2)).spec
    source, target = found.inputs["source"], found.outputs["target"]
    assert (source.type, source.unit) == ("text", "word")
    assert (target.type, target.of, target.scheme) == ("tags", "source", "bio")
    assert found.training.metric == "chunk_f1" and found.metrics == ("chunk_f1", "tag_accuracy")
    (row, *_) = read_rows(name, fields=["1", "2"], format="conll")
    assert row == {"1": "Anna Smith visits Rome", "2": "B-PER I-PER O B-LOC"}


def test_columns_of_conll_2003_comments_and_documents() -> None:
    start = "-DOCSTART- -X- O\n\n"
    found = infer(conll("eng.txt", 0, 1, 2, between=" ", before=start, each="# text = a b c\n")).spec
    assert (found.inputs["source"].field, found.outputs["target"].field) == ("1", "3")
    assert format_of(found) == "conll"
    rows = list(read_rows("eng.txt", fields=["1"], format="conll"))
    assert len(rows) == len(SENTENCES) and rows[1]["1"] == "Bob sleeps ."
    chosen = infer("eng.txt", target="2").spec
    assert chosen.outputs["target"].scheme is None and chosen.training.metric == "tag_accuracy"


def test_a_number_sign_may_be_a_word() -> None:
    Path("a.conll").write_text("# O\n1 O\n\n# id = 7\n# B-X\n\n" * 2)
    assert [row["1"] for row in read_rows("a.conll", fields=["1", "2"])] == ["# 1", "#"] * 2


def test_schemes_and_treebanks_are_told_apart() -> None:
    tags = {"B-PER": "B-PER", "I-PER": "E-PER", "B-LOC": "S-LOC", "O": "O"}
    blocks = ["\n".join(f"{word} {tags[tag]}" for word, _, tag in one) for one in SENTENCES]
    Path("a.conll").write_text("\n\n".join(blocks))
    assert infer("a.conll").spec.outputs["target"].scheme == "bioes"
    blocks = [
        "\n".join(
            f"{n}\t{word}\t_\t{tag}\t_\t_\t{n - 1}\tdep\t_\t_" for n, (word, tag, _) in enumerate(one, 1)
        )
        for one in SENTENCES
    ]
    Path("ud.conll").write_text("\n\n".join(blocks) + "\n\n")
    found = infer("ud.conll").spec
    assert format_of(found) == "conllu" and found.outputs["target"].field == "upos"
    assert infer("ud.conll", target="tree").spec.outputs["target"].type == "tree"


@pytest.mark.parametrize("how", ["outputs.target={type: tags, of: source}", "outputs.target.type=tags"])
def test_a_type_that_is_asked_for_brings_its_own_decoder(how: str) -> None:
    Path("a.tsv").write_text("".join(f"w{n} v\t{'A B' if n % 2 else 'B A'}\n" for n in range(60)))
    assert infer("a.tsv").spec.outputs["target"].type == "label"
    changed = infer("a.tsv", [how]).spec
    assert changed.decoder["target"].type == "tags" and changed.training.metric == "tag_accuracy"


@pytest.fixture(scope="module")
def tagger(tmp_path_factory: pytest.TempPathFactory) -> str:
    from regard.fitting.experiment import Experiment

    folder = tmp_path_factory.mktemp("tagger")
    file = folder / "train.conll"
    blocks = ["\n".join(f"{word}\t{tag}" for word, _, tag in one) for one in SENTENCES]
    file.write_text("\n\n".join(blocks) + "\n", encoding="utf-8")
    quick = ["training.steps=12", "encoder.size=8", "encoder.embedding=8", "data.hold_out=0.4"]
    Experiment.start(str(file), run=folder / "run", overrides=quick, device="cpu", quiet=True).train()
    return str(folder / "run")


def test_predict_reads_a_file_as_evaluate_does(regard: Run, tagger: str) -> None:
    file = conll("new.conll", 0, 2)
    code, out, err = regard("predict", tagger, "-f", file, "--device", "cpu")
    assert code == 0, err
    code, _, err = regard("evaluate", tagger, "--data", file, "--predictions", "p.tsv", "--device", "cpu")
    assert code == 0, err
    with Path("p.tsv").open(encoding="utf-8") as table:
        answers = {line["input"]: line["output"] for line in csv.DictReader(table, delimiter="\t")}
    texts = [" ".join(word for word, _, _ in one) for one in SENTENCES]
    assert out.splitlines() == [answers[text] for text in texts]
    assert regard("predict", tagger, "-f", conll("words.conll", 0), "--device", "cpu")[1] == out
    Path("lines.txt").write_text("\n".join(texts) + "\n")  # lines of text stay lines
    assert regard("predict", tagger, "-f", "lines.txt", "--device", "cpu")[1] == out


def test_predict_reads_the_format_of_a_stranger(
    regard: Run, tagger: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = {kind: dict(parts) for kind, parts in registry.PARTS.items()}
    monkeypatch.setattr(registry, "PARTS", known)

    @register("reader", "arrows")
    class ArrowsReader(Reader):
        """Lines of the form TEXT -> TAGS."""

        suffixes: ClassVar[tuple[str, ...]] = (".arrows",)

        def read(
            self, files: Sequence[Path], fields: Sequence[str], *, images: str | None = None
        ) -> Iterator[Row]:
            for number, line in enumerate(files[0].read_text().splitlines(), 1):
                cells = dict(zip(("1", "2"), line.split(" -> "), strict=True))
                yield Row(cells, file=str(files[0]), line=number)

    Path("a.arrows").write_text("Bob sleeps . -> O O O\n")
    code, out, err = regard("predict", tagger, "-f", "a.arrows", "--device", "cpu")
    assert code == 0 and len(out.split()) == 3, err


OPENAI: list[dict[str, Any]] = [
    {
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": f"Hello, {name}!"},
            {"role": "user", "content": [{"type": "text", "text": "Are you there?"}]},
            {"role": "assistant", "content": "Yes."},
            {"role": "user", "content": "Bye."},
            {"role": "assistant", "content": None, "tool_calls": []},
            {"role": "assistant", "content": f"Bye, {name}."},
        ]
    }
    for name in ("Ann", "Bob", "Cy", "Di", "Ed", "Flo")
]
SHARED = [
    {
        "id": f"c{n}",
        "conversations": [
            {"from": "system", "value": "Be brief."},
            {"from": "human", "value": f"Hello, {one['messages'][1]['content'][7:-1]}! Are you there?"},
            {"from": "gpt", "value": "Yes."},
            {"from": "human", "value": "Bye."},
            {"from": "gpt", "value": one["messages"][6]["content"]},
        ],
    }
    for n, one in enumerate(OPENAI)
]
FIRST = {
    "dialog": "SYSTEM: Be brief. | U: Hello, Ann! Are you there?",
    "utterance": "Hello, Ann! Are you there?",
    "response": "Yes.",
}
SECOND = {
    "dialog": f"{FIRST['dialog']} | B: Yes. | U: Bye.",
    "utterance": "Bye.",
    "response": "Bye, Ann.",
}


@pytest.mark.parametrize("chats", [OPENAI, SHARED], ids=["openai", "sharegpt"])
@pytest.mark.parametrize("layout", ["a.jsonl", "a.json", "pretty.json"])
def test_chats_are_dialogs_whose_rows_stay_together(chats: list[Any], layout: str) -> None:
    if layout == "a.jsonl":
        written(layout, chats)
    else:
        Path(layout).write_text(json.dumps(chats, indent=2 if layout == "pretty.json" else None))
    found = infer(layout)
    assert format_of(found.spec) == "chat" and found.spec.inputs["source"].type == "dialog"
    assert found.spec.outputs["target"].type == "text" and found.spec.truth["conversation"].type == "group"
    assert found.notes[0].what == "format" and "chats" in found.notes[0].decided
    rows = list(read_rows(layout, fields=["dialog", "utterance", "response", "conversation"], format="chat"))
    names = {row.pop("conversation") for row in rows}
    assert rows[:2] == [FIRST, SECOND] and len(rows) == 12 and len(names) == 6
    assert rows[0].group == rows[1].group != rows[2].group and rows[0].group


@pytest.mark.parametrize("order", [("usr", "sys"), ("sys", "usr"), ("human", "assistant")])
def test_exchanges_in_one_object_are_answered_by_the_system(order: tuple[str, str]) -> None:
    says = {"usr": "i am {}", "human": "i am {}", "sys": "hello {}", "assistant": "hello {}"}
    written("a.jsonl", [{key: says[key].format(n) for key in order} for n in range(12)])
    rows = read_rows("a.jsonl", fields=["dialog", "response"], format="chat")
    assert [dict(row) for row in rows] == [
        {
            "dialog": f"U: i am {n}",
            "utterance": f"i am {n}",
            "conversation": str(n + 1),
            "response": f"hello {n}",
        }
        for n in range(12)
    ]
    assert format_of(infer("a.jsonl").spec) == "chat"


def test_exchanges_of_one_conversation_follow_each_other() -> None:
    turns = [{"usr": f"q{n}", "sys": f"a{n}"} for n in range(3)]
    written("list.jsonl", [{"id": 7, "log": turns}])
    written("flat.jsonl", [{"dialog_id": 7, **turn} for turn in turns] + [{"dialog_id": 8, **turns[0]}])
    wanted = ["U: q0", "U: q0 | B: a0 | U: q1", "U: q0 | B: a0 | U: q1 | B: a1 | U: q2"]
    listed, flat = (
        [(row["dialog"], row["conversation"]) for row in read_rows(name, fields=["dialog"], format="chat")]
        for name in ("list.jsonl", "flat.jsonl")
    )
    assert listed == [(dialog, "7") for dialog in wanted] and flat == [*listed, ("U: q0", "8")]


def test_a_chat_that_awaits_its_response_is_an_input_and_no_example() -> None:
    chat = {"messages": [{"role": "user", "content": "hi"}]}
    written("a.jsonl", [chat])
    assert [row["dialog"] for row in read_rows("a.jsonl", fields=["dialog"], format="chat")] == ["U: hi"]
    with pytest.raises(RegardError, match=r"a.jsonl:1: the row is a chat without a response"):
        list(read_rows("a.jsonl", fields=["dialog", "response"], format="chat"))


def test_rows_with_authors_are_no_chats() -> None:
    written("a.jsonl", [{"author": f"a{n % 3}", "text": f"some text {n}"} for n in range(30)])
    assert infer("a.jsonl", source="text", target="author").spec.data.format is None


def test_series_in_lists_and_in_wide_tables() -> None:
    draw = random.Random(3)
    values = [[round(draw.random(), 3) for _ in range(9)] for _ in range(30)]
    labels = [("up", "down")[n % 2] for n in range(30)]
    written("flat.jsonl", [{"x": v, "label": one} for v, one in zip(values, labels, strict=True)])
    written(
        "deep.jsonl",
        [{"x": [[n] * 2 for n in v], "label": one} for v, one in zip(values, labels, strict=True)],
    )
    head = [f"x{n}" for n in range(1, 10)]
    lines = [",".join([*map(str, v), one]) for v, one in zip(values, labels, strict=True)]
    Path("wide.csv").write_text("\n".join([",".join([*head, "label"]), *lines]) + "\n")
    for name in ("flat.jsonl", "deep.jsonl", "wide.csv"):
        spec = infer(name).spec
        assert (spec.inputs["source"].type, spec.outputs["target"].type) == ("series", "label"), name
    assert infer("wide.csv").spec.inputs["source"].field == "x1..x9"
    assert infer("wide.csv", source="2..4", target="label").spec.inputs["source"].field == "x2..x4"
    (row, *_) = read_rows("wide.csv", fields=["x2..x4", "label"])
    assert row == {"x2..x4": " ".join(map(str, values[0][1:4])), "label": "up"}
    Path("wide.csv").write_text(
        "\n".join([",".join([*head, "label"]), ",".join(["1", ""] + ["2"] * 7 + ["up"])])
    )
    with pytest.raises(RegardError, match=r"wide.csv:2: the row has an empty cell x2 within x1..x9"):
        list(read_rows("wide.csv", fields=["x1..x9", "label"]))


@pytest.mark.parametrize("written_as", ["1 2.5 -3e-1", "[1, 2.5, -0.3]"])
def test_a_series_of_numbers_needs_no_brackets(written_as: str) -> None:
    from regard.data.columns import SeriesColumn

    column = SeriesColumn("x", standardize=False)
    column.learn([written_as])
    assert column.encode(written_as)[:, 0].tolist() == pytest.approx([1, 2.5, -0.3])
    pairs = SeriesColumn("x", standardize=False)
    pairs.learn(["1 2; 3 4"])
    assert pairs.encode("1 2; 3 4").tolist() == [[1, 2], [3, 4]]


def test_folders_of_classes_are_images_or_texts() -> None:
    for name in ("cat", "dog"):
        (Path("pictures") / name).mkdir(parents=True)
        (Path("texts") / name).mkdir(parents=True)
        for n in range(6):
            Image.new("RGB", (8, 8), (n, 0, 0)).save(Path("pictures") / name / f"{n}.png")
            (Path("texts") / name / f"{n}.txt").write_text(f"The {name}, number {n}.")
    pictures, texts = infer("pictures").spec, infer("texts").spec
    assert (pictures.inputs["source"].type, pictures.outputs["target"].type) == ("image", "label")
    assert (texts.inputs["source"].type, texts.outputs["target"].type) == ("text", "label")
    assert is_data_file("pictures") and not is_data_file(".")


def test_parallel_files_are_named_one_after_the_other() -> None:
    Path("a.en").write_text("a\n")
    Path("a.de").write_text("b\n")
    Path("a.tsv").write_text("a\tb\n")
    assert parallel(["a.en", "a.de"]) == "a.en+a.de" and parallel(["reverse"]) == "reverse"
    with pytest.raises(RegardError, match=r"data.train=\[a.en, a.tsv\]"):
        parallel(["a.en", "a.tsv"])
    with pytest.raises(RegardError, match="reverse is not a file"):
        parallel(["a.en", "reverse"])
    with pytest.raises(RegardError) as error:
        parallel(["my.yaml", "training.epochs=20", "training.lr=0.1"])
    assert "--set training.lr=0.1" in said(error.value.fix, COMMAND_LINE)


PROSE = ["A nice, quiet place.", "Too loud (and cold)!", 'They said "no" twice.', "Good food; bad wine."] * 6


def test_punctuation_is_split_off_prose_alone() -> None:
    Path("a.tsv").write_text(
        "".join(f"{text} {n}\t{('pos', 'neg')[n % 2]}\n" for n, text in enumerate(PROSE))
    )
    found = infer("a.tsv")
    assert found.spec.inputs["source"].split == "punctuation"
    assert "source: text by word, punctuation split off" in found.notes[1].decided
    assert "--set inputs.source.split=space" in said(found.notes[1].change, COMMAND_LINE)
    assert infer("a.tsv", ["inputs.source.unit=char"]).spec.inputs["source"].split == "space"
    Path("b.tsv").write_text("".join(f"K AE{n} T\tq w{n}\n" for n in range(30)))
    spec = infer("b.tsv").spec
    assert (spec.inputs["source"].split, spec.outputs["target"].split) == ("space", "space")


@pytest.mark.parametrize("sign", [";", "|", ", ", "/"])
def test_several_classes_in_one_value_are_several_labels(sign: str) -> None:
    classes = ["sports", "politics", f"sports{sign}politics", "music", f"music{sign}sports"]
    Path("a.tsv").write_text("".join(f"text {n}\t{classes[n % 5]}\n" for n in range(100)))
    found = infer("a.tsv")
    assert found.spec.outputs["target"].type == found.spec.decoder["target"].type == "multilabel"
    assert found.spec.outputs["target"].separator == sign.strip() and found.spec.training.metric == "micro_f1"
    assert "--set outputs.target.type=label" in said(found.warnings[0], COMMAND_LINE)
    assert infer("a.tsv", ["outputs.target.type=label"]).spec.outputs["target"].type == "label"


@pytest.mark.parametrize(
    "values", [["C++", "C", "R&D"], ["New York, USA", "Paris, France"], ["1/2", "1", "2"]]
)
def test_signs_within_names_separate_no_classes(values: list[str]) -> None:
    Path("a.tsv").write_text("".join(f"text {n}\t{values[n % len(values)]}\n" for n in range(100)))
    assert infer("a.tsv").spec.outputs["target"].type == "label"


def test_classes_that_differ_in_case_alone_are_told() -> None:
    Path("a.tsv").write_text("".join(f"text {n}\t{('Sports', 'sports')[n % 2]}\n" for n in range(40)))
    assert "'Sports' and 'sports' differ only in case" in infer("a.tsv").warnings[0]


def test_targets_that_are_all_alike_and_characters_of_no_text_are_told() -> None:
    Path("a.tsv").write_text("".join(f"text {n}\tsame\n" for n in range(20)))
    assert infer("a.tsv").warnings == ["All targets are 'same': there is nothing to learn."]
    for sign, name in (("\ufeff", "byte order mark"), ("\0", "NUL")):
        rows = [f"{sign if n == 7 else ''}text {n}\t{('a', 'b')[n % 2]}\n" for n in range(40)]
        Path("a.tsv").write_text("".join(rows), encoding="utf-8")
        assert f"a.tsv:8 contains {'a ' if sign != chr(0) else ''}{name}" in infer("a.tsv").warnings[0]


def test_suggested_columns_are_texts_and_classes_not_dates() -> None:
    rows = [
        f"2024-01-{n % 28 + 1:02},A{n}-{n},a nice small thing {n},{('book', 'pen')[n % 2]}" for n in range(40)
    ]
    Path("a.csv").write_text("\n".join(["date,code,review,product", *rows]))
    with pytest.raises(RegardError, match="source='review', target='product'"):
        infer("a.csv")


def test_several_source_columns_are_several_inputs() -> None:
    rows = [
        {"id": n, "a b": f"cat {n} x", "b": f"dog {n} y", "label": ("yes", "no")[n % 2]} for n in range(40)
    ]
    changes = ["decoder.attention={score: additive, select: softmax, over: b}", "attention=null"]
    spec = infer(written("a.jsonl", rows), changes, source=["a b", "b"], target="label").spec
    assert {name: column.field for name, column in spec.inputs.items()} == {"a_b": "a b", "b": None}
    with pytest.raises(RegardError, match="the same column, 'b'"):
        infer("a.jsonl", source=["b", "b"], target="label")
