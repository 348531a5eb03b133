"""Document columns: sentence boundaries, batches, and invalid documents."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from regard.data import Dataset, DocumentColumn, EvidenceColumn, Row, column_from_state, read_rows
from regard.data.columns import LabelColumn, TextColumn
from regard.data.columns.sentence_rule import sentences_by_rule
from regard.data.length_buckets import length_buckets
from regard.errors import RegardError
from regard.parts import part

TEXT = 'Mr. Smith left. "Why?" He did not say... It rained!'

WITHOUT_ANY = {
    "document": "has no sentence",
    "candidates": "has no candidate",
    "dialog": "has no turn",
    "stream": "is an empty list",
    "text": "is an empty list",
}
TEXTS = ["a b c d e f g h. Ab. Bc c.", "Dd.", "Ee f g h a. Bb. Cc. Dd. Ee."]


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        (TEXT, ["Mr. Smith left.", '"Why?"', "He did not say...", "It rained!"]),
        (
            "J. K. Rowling wrote it. So did I. Then we left.",
            ["J. K. Rowling wrote it.", "So did I.", "Then we left."],
        ),
        (
            "It cost 3.50 a day. But www.a.org is e.g. slow.",
            ["It cost 3.50 a day.", "But www.a.org is e.g. slow."],
        ),
        ("Good!!! (Very.) \u201cYes.\u201d No.", ["Good!!!", "(Very.)", "\u201cYes.\u201d", "No."]),
        ("one line\nand another<br /><br/>A third\r\n\r\n", ["one line", "and another", "A third"]),
        ("he wrote etc. and left. 5 years", ["he wrote etc. and left.", "5 years"]),
        ("雨が降った。帰った！「なぜ？」", ["雨が降った。", "帰った！", "「なぜ？」"]),
        (" . ", ["."]),
        ("no end", ["no end"]),
        ("\x00\x07 x. \x1b[31mRed.", ["\x00\x07 x.", "\x1b[31mRed."]),
    ],
)
def test_where_sentences_end(text: str, sentences: list[str]) -> None:
    assert sentences_by_rule(text) == sentences


def test_nothing_but_white_space_is_lost() -> None:
    generator = np.random.default_rng(1)
    for _ in range(200):
        text = "".join(generator.choice(list("aB.!?…\"') 。J\n"), 40))
        assert "".join("".join(sentences_by_rule(text)).split()) == "".join(text.split())


def fitted(**options: object) -> DocumentColumn:
    column = DocumentColumn("document", **options)  # type: ignore[arg-type]
    column.learn([TEXT, *TEXTS])
    return column


def test_a_document_comes_back_as_it_was() -> None:
    column = fitted(split="punctuation")
    assert column.decode(column.encode(TEXT)) == TEXT
    assert column.tokens(TEXT) == ["Mr. Smith left.", '"Why?"', "He did not say...", "It rained!"]
    again = column_from_state(column.state())
    assert again.state() == column.state()
    assert again.encode(TEXT).tolist() == column.encode(TEXT).tolist()


def test_lines_and_lists_are_taken_as_they_are(tmp_path: Path) -> None:
    assert fitted(by="lines").sentences("a. B c\n\n d.") == ["a. B c", "d."]
    column = fitted()
    nested = [["a", "b."], ["Cc."], ["a b. Cc d"]]
    assert column.sentences(column.written(nested)) == ["a b.", "Cc.", "a b. Cc d"]
    path = tmp_path / "a.jsonl"
    rows = [{"document": nested}, {"document": ["It rained. A lot", "c"]}, {"document": "a. Bb"}]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    found = [column.sentences(row["document"]) for row in read_rows(path, fields=["document"])]
    assert found == [["a b.", "Cc.", "a b. Cc d"], ["It rained. A lot", "c"], ["a.", "Bb"]]


def test_other_columns_refuse_a_list(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"document": ["a", "b"]}\n', encoding="utf-8")
    (row,) = read_rows(path, fields=["document"])
    for column in (TextColumn("document"), LabelColumn("document")):
        assert column.check_value(row["document"]) == "has a list, expected text"


def test_an_empty_list_is_told_as_what_the_column_lacks(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"field": []}\n', encoding="utf-8")
    (row,) = read_rows(path, fields=["field"])
    said = {name: part("column", name)("field").check_value(row["field"]) for name in WITHOUT_ANY}
    assert said == WITHOUT_ANY


def test_a_batch_holds_every_sentence_once() -> None:
    column = fitted()
    batch = column.collate([column.encode(text) for text in TEXTS])
    assert batch.lengths.tolist() == [3, 1, 5]
    assert column.readable(batch) == [column.sentences(text) for text in TEXTS]
    padded = sum(bucket.ids.numel() for bucket in batch.buckets)
    assert padded <= 1.25 * int(batch.words.sum())
    assert batch.words.tolist() == [8, 1, 2, 1, 5, 1, 1, 1, 1]


def test_buckets_leave_little_to_padding() -> None:
    generator = np.random.default_rng(2)
    for lengths in (
        np.maximum(1, generator.gamma(2.2, 9, 3000).astype(np.int64)),  # about as in film reviews
        generator.integers(1, 5000, 800),
        np.full(40, 7),
        np.array([1]),
    ):
        buckets = length_buckets(lengths)
        assert sorted(np.concatenate(buckets).tolist()) == list(range(len(lengths)))
        assert len(buckets) <= 12
        total = sum(len(chosen) * int(lengths[chosen].max()) for chosen in buckets)
        assert total - lengths.sum() <= 0.15 * total
    assert length_buckets(np.zeros(0, dtype=np.int64)) == []


def test_what_is_no_document_is_refused() -> None:
    column = fitted(max_sentences=3)
    assert column.check("") == "is empty"
    assert column.check(" \n<br> ") == "has no sentence"
    assert column.check("Aa. Bb. Cc. Dd.") == "has 4 sentences, more than max_sentences 3"
    assert column.check("\x00\x01\x7f.") is None
    assert fitted().check("It is so. " * 10_000) == "has 10000 sentences, more than max_sentences 1000"


def test_a_sentence_that_is_too_long_is_read_as_several() -> None:
    column = fitted(max_length=3)
    assert column.tokens("a b c d e f g h.") == ["a b c", "d e f", "g h."]
    assert len(column.tokens("abcdefghi " * 5_000)) == 1667
    one_word = fitted().encode("x" * 50_000)
    assert len(one_word) == 2


def test_evidence_is_words_of_sentences() -> None:
    document, evidence = fitted(), EvidenceColumn("evidence", of="document")
    good = Row({"document": "a b c. Aa. Bb c.", "evidence": "0:1 2:0 2:1"})
    batch = Dataset.build([good, Row({"document": "a b", "evidence": ""})], [document, evidence]).batch(
        [0, 1]
    )
    assert batch["evidence"].sentences.tolist() == [[[0.5, 0.0, 0.5]], [[0.0, 0.0, 0.0]]]
    assert batch["evidence"].words == (((0, 1), (2, 0), (2, 1)), ())
    for text, said in (
        ("3:0", "names sentence 3, but document has 3"),
        ("1:1", "names word 1 of sentence 1"),
    ):
        bad = Row({"document": "a b c. Aa. Bb c.", "evidence": text}, file="a.tsv", line=4)
        with pytest.raises(RegardError, match=rf"a.tsv:4.*{said}"):
            Dataset.build([good, bad], [document, evidence])
    assert evidence.decode(evidence.encode("0:1  2:0")) == "0:1 2:0"
    assert evidence.check_value("1.2") == "has '1.2', expected sentences and words such as 3:1 3:4"
