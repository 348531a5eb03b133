"""Text columns: round trips of arbitrary Unicode, vocabularies, saved state."""

from __future__ import annotations

import json
import unicodedata

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from regard.data import BEGIN, END, PAD, SPECIAL, UNKNOWN, TextColumn, column_from_state
from regard.errors import RegardError

MARKS = "￭⇧⇪▁␛▅\0"
# Ordinary text, the special marks, letters with unusual capitals, joiners, and every kind of space.
ALPHABET = st.one_of(
    st.characters(exclude_categories=["Cs"]),
    st.sampled_from(list("aAbBcjseuIiß.,'’-_ \t\n\u00a0\u3000\u200d\u0301")),
    st.sampled_from(list(MARKS)),
    st.sampled_from(list("İıſKÅΣσςǅǆŉﬁﬀẞßⒶⓐЖжकाि़")),
)
TEXT = st.text(ALPHABET, max_size=40)


def learned(texts: list[str], **options: object) -> TextColumn:
    column = TextColumn("text", **options)  # type: ignore[arg-type]
    column.learn(texts)
    return column


def spaces_collapsed(text: str) -> str:
    return " ".join(text.split())


@given(TEXT, st.sampled_from(["NFC", "NFKC", "NFD", "NFKD", None]))
def test_bytes_come_back_exactly_whatever_was_learned(text: str, form: str | None) -> None:
    column = TextColumn("text", unit="byte", normalize=form)  # type: ignore[arg-type]
    expected = text if form is None else unicodedata.normalize(form, text)  # type: ignore[arg-type]
    assert column.decode(column.encode(text)) == expected == column.normalize(text)


@given(TEXT, st.sampled_from(["keep", "marked"]))
def test_characters_come_back_exactly(text: str, case: str) -> None:
    column = learned([text], unit="char", case=case)
    assert column.decode(column.encode(text)) == unicodedata.normalize("NFC", text) == column.normalize(text)


@given(TEXT)
def test_characters_outside_the_vocabulary_become_the_unknown_symbol(text: str) -> None:
    column = learned(["abc"], unit="char", normalize=None)
    assert column.decode(column.encode(text)) == "".join(c if c in "abc" else "\ufffd" for c in text)


@given(TEXT, st.sampled_from(["space", "punctuation"]), st.sampled_from(["keep", "marked"]))
@settings(max_examples=300)
def test_words_come_back_with_their_spacing_and_case(text: str, split: str, case: str) -> None:
    column = learned([text], split=split, case=case)
    assert column.decode(column.encode(text)) == spaces_collapsed(unicodedata.normalize("NFC", text))
    assert column.normalize(text) == spaces_collapsed(unicodedata.normalize("NFC", text))


@given(
    st.text(st.sampled_from([*MARKS, *"aBcjseu0.,'- \n"]), max_size=20),
    st.sampled_from(["space", "punctuation"]),
    st.sampled_from(["keep", "lower", "marked"]),
)
@settings(max_examples=400)
def test_marks_in_the_text_come_back_and_leave_their_words_as_they_are(
    text: str, split: str, case: str
) -> None:
    column = learned([text], split=split, case=case)
    expected = spaces_collapsed(text.lower() if case == "lower" else text)
    assert column.decode(column.encode(text)) == expected
    if split == "punctuation":
        # Every mark is a sign of its own, so the words are those of the text with other signs in its place.
        other = text.translate(dict.fromkeys(map(ord, MARKS), "."))
        words = [[piece for piece in column.pieces(one) if piece.isalnum()] for one in (text, other)]
        assert words[0] == words[1]


@given(TEXT)
def test_lower_case_is_the_only_thing_lost_with_case_lower(text: str) -> None:
    column = learned([text], case="lower", split="punctuation", normalize=None)
    assert column.decode(column.encode(text)) == spaces_collapsed(text.lower())


@given(
    st.lists(TEXT, min_size=1, max_size=4),
    st.sampled_from(["keep", "marked"]),
    st.sampled_from(["bpe", "unigram"]),
)
@settings(max_examples=60, deadline=None)
def test_subwords_come_back_exactly(texts: list[str], case: str, algorithm: str) -> None:
    texts = [*texts, "the cat sat on the mat", "<s> </s> <unk> <pad> <0x41>"]
    column = learned(texts, unit="subword", vocabulary=2000, case=case, algorithm=algorithm)
    for text in texts:
        assert column.decode(column.encode(text)) == spaces_collapsed(unicodedata.normalize("NFC", text))


@given(st.lists(st.sampled_from([*MARKS, "￭,￭", "⇧", "a", "␛j", "␛"]), max_size=8))
def test_joining_is_total(pieces: list[str]) -> None:
    for column in (
        TextColumn("t", split="punctuation", case="marked"),
        TextColumn("t", unit="char", case="marked"),
    ):
        assert isinstance(column.join(pieces), str)


def test_punctuation_and_case_as_documented() -> None:
    column = TextColumn("text", split="punctuation", case="marked")
    assert column.pieces("Stop, NATO: I don't see McDonald (or 3.5)!") == [
        "⇧", "stop", "￭,", "⇪", "nato", "￭:", "⇧", "i", "don", "￭'￭", "t", "see", "McDonald", "(￭", "or", "3", "￭.￭",
        "5", "￭)", "￭!",
    ]  # fmt: skip
    assert TextColumn("t", split="punctuation").pieces("हिन्दी में।") == ["हिन्दी", "में", "￭।"]


def test_a_mark_in_the_text_is_one_piece_and_the_word_behind_it_stays() -> None:
    column = TextColumn("text", split="punctuation")
    assert column.pieces("old\0film, ▁foo") == ["old", "￭␛0￭", "film", "￭,", "␛s￭", "foo"]


def test_special_spellings_in_the_data_are_ordinary_words() -> None:
    column = learned(["<s> </s> <unk> <pad> a"])
    ids = column.encode("<s> a </s> <unk>")
    assert min(ids) > END
    assert column.decode(ids) == "<s> a </s> <unk>"


def test_decode_stops_at_end_and_leaves_padding_out() -> None:
    column = learned(["a b c"])
    a, b = column.encode("a b")
    assert column.decode([BEGIN, a, UNKNOWN, b, END, a, PAD]) == "a <unk> b"
    assert column.tokens([BEGIN, a, END]) == ["<s>", "a", "</s>"]
    assert column.tokens("a new b") == ["a", "new", "b"]


def test_vocabulary_is_by_frequency_then_spelling_and_counts_the_special_ids() -> None:
    column = learned(["d b b a c", "c a b"], vocabulary=len(SPECIAL) + 3)
    assert column.vocabulary.pieces == ["b", "a", "c"]
    assert column.size == 7
    assert list(column.encode("b d")) == [4, UNKNOWN]
    assert learned(["d b b a c", "c a b"], min_count=2).vocabulary.pieces == ["b", "a", "c"]


@pytest.mark.parametrize("unit", ["word", "char", "byte", "subword"])
def test_state_is_json_and_gives_the_same_column(unit: str) -> None:
    text = "Ein Märchen von der Straße, 2 Worte"
    column = learned(
        [text] * 3, unit=unit, case="keep" if unit == "byte" else "marked", vocabulary=300, max_length=99
    )
    again = column_from_state(json.loads(json.dumps(column.state())))
    assert isinstance(again, TextColumn)
    assert again.state() == column.state()
    assert again.size == column.size
    np.testing.assert_array_equal(again.encode(text), column.encode(text))
    assert again.decode(again.encode(text)) == text


def test_subwords_are_the_same_every_time() -> None:
    texts = [f"sentence number {n} of the {n % 7} texts" for n in range(300)]
    first, second = (learned(texts, unit="subword", vocabulary=90) for _ in range(2))
    assert first.state() == second.state()
    assert first.size == 90


def test_subwords_ask_for_enough_room_and_for_text() -> None:
    with pytest.raises(RegardError, match=r"10 subwords cannot hold the 20 characters.*Choose more than 24"):
        learned(["the quick brown fox jumps"], unit="subword", vocabulary=10)
    with pytest.raises(RegardError, match="no text to learn subwords from"):
        learned([], unit="subword")


def test_what_cannot_be_used_and_why() -> None:
    column = learned(["a b c d"], max_length=3)
    assert column.check("a b c") is None
    assert column.check(None) == "is missing"
    assert column.check(" \t") == "is empty"
    assert column.check("a b c d") == "has 4 tokens, more than max_length 3"


def test_collate_pads_on_the_right() -> None:
    column = learned(["a b c"])
    tokens = column.collate([column.encode("a"), column.encode("a b c"), column.encode("b a")])
    assert tokens.ids.dtype == tokens.lengths.dtype == torch.int64
    assert tokens.ids.tolist() == [[4, PAD, PAD], [4, 5, 6], [5, 4, PAD]]
    assert tokens.lengths.tolist() == [1, 3, 2]
    assert tokens.mask.sum().item() == 6


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"unit": "syllable"}, "text: unit is 'syllable', expected one of word, char, byte, subword"),
        ({"normalize": "NFX"}, "normalize is 'NFX'"),
        ({"case": "upper"}, "case is 'upper', expected one of keep, lower, marked"),
        ({"split": "none"}, "split is 'none'"),
        ({"unit": "char", "split": "punctuation"}, "split: punctuation is for unit: word"),
        ({"unit": "byte", "case": "marked"}, "case: marked needs letters"),
    ],
)
def test_options_that_cannot_be(options: dict[str, str], message: str) -> None:
    with pytest.raises(RegardError, match=message):
        TextColumn("text", **options)  # type: ignore[arg-type]


@pytest.mark.parametrize("unit", ["word", "char", "subword"])
def test_encoding_before_learning_says_so(unit: str) -> None:
    with pytest.raises(RegardError, match=r"text: there is no .* yet\. Call learn"):
        TextColumn("text", unit=unit).encode("a")  # type: ignore[arg-type]


def test_characters_without_spaces():
    column = TextColumn("source", unit="char", spaces="drop")
    column.learn(["自分 の 事"])
    assert column.pieces("自分 の 事") == ["自", "分", "の", "事"]
    assert column.decode(column.encode("自分 の　事")) == "自分の事" == column.normalize("自分 の 事")
    again = column_from_state(column.state())
    assert again.pieces("の 事") == ["の", "事"]
    with pytest.raises(RegardError, match="spaces: drop is for unit: char"):
        TextColumn("source", unit="word", spaces="drop")


def test_a_text_read_twice_has_its_ids_twice() -> None:
    once, twice = (learned(["a b c", "c b"], repeat=repeat, max_length=3) for repeat in (1, 2))
    assert twice.encode("c a").tolist() == 2 * once.encode("c a").tolist()
    assert twice.check("a b c") is None
    assert twice.check("a b c a") == "has 4 tokens, more than max_length 3"
    assert type(twice).from_state(twice.state()).encode("a b").tolist() == twice.encode("a b").tolist()
