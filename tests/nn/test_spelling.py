"""Word embeddings from characters."""

from __future__ import annotations

import pytest
import torch

from regard.data import Dataset, Row, SpelledTextColumn, column_from_state
from regard.data.batch import BEGIN, END, PAD, UNKNOWN, Tokens
from regard.errors import RegardError
from regard.nn import (
    ConvolutionalSpelling,
    Embedding,
    RecurrentEncoder,
    RecurrentSpelling,
    SpelledEmbedding,
)
from regard.spec import Spec

TEXTS = ["The cat saw the cat", "a catfish", "the cats sat"]


@pytest.fixture
def column() -> SpelledTextColumn:
    column = SpelledTextColumn("words", case="lower", min_count=2)
    column.learn(TEXTS)
    return column


def batch(column: SpelledTextColumn, *texts: str) -> Tokens:
    dataset = Dataset.build([Row({"words": text}) for text in texts], [column])
    tokens: Tokens = dataset.batch(range(len(texts)))["words"]
    return tokens


def test_each_distinct_word_is_spelled_once_in_its_own_case(column: SpelledTextColumn) -> None:
    tokens = batch(column, "The cat saw the cat", "dog cat")
    assert tokens.ids[0].tolist()[0] == tokens.ids[0].tolist()[3] and tokens.ids[1, 0] == UNKNOWN
    spelling = tokens.spelling
    assert spelling is not None
    assert spelling.words.tolist() == [[0, 1, 2, 3, 1], [4, 1, 0, 0, 0]], "The and the are spelled apart"
    assert spelling.lengths.tolist() == [5] * 5
    cat = [BEGIN, *(column.characters.id(sign) for sign in "cat"), END]
    assert spelling.characters[1].tolist() == cat
    assert column.characters.id("T") == UNKNOWN, "seen once"


def test_long_words_keep_both_ends(column: SpelledTextColumn) -> None:
    ends = column.spell_word("c" * 40 + "a" * 40).tolist()
    assert len(ends) == 34 and ends[1:17] == [column.characters.id("c")] * 16
    assert ends[17:33] == [column.characters.id("a")] * 16


def test_the_column_comes_back_from_its_state(column: SpelledTextColumn) -> None:
    again = column_from_state(column.state())
    assert isinstance(again, SpelledTextColumn) and again.state() == column.state()
    assert again.spell_word("cats").tolist() == column.spell_word("cats").tolist()
    with pytest.raises(RegardError, match="only whole words can be spelled"):
        SpelledTextColumn("words", unit="char")


def make(column: SpelledTextColumn, kind: str, **options: float) -> SpelledEmbedding:
    torch.manual_seed(0)
    signs = Embedding(len(column.characters), 6)
    spelling = ConvolutionalSpelling(signs, 8) if kind == "convolutional" else RecurrentSpelling(signs, 8)
    return SpelledEmbedding(Embedding(column.size, 4, **options), spelling).eval()  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", ["convolutional", "recurrent"])
def test_unknown_words_are_told_apart_and_padding_changes_nothing(
    column: SpelledTextColumn, kind: str
) -> None:
    embedding = make(column, kind)
    together = embedding.read(batch(column, "tac cat", "a catastrophically long sac saw"))
    alone = embedding.read(batch(column, "cat tac"))
    assert together.shape == (2, 5, 12)
    assert torch.allclose(together[0, 0], alone[0, 1], atol=1e-6)
    assert torch.allclose(together[0, 1], alone[0, 0], atol=1e-6)
    first, second = together[0, 0], together[1, 3]
    assert torch.equal(first[:4], second[:4]) and not torch.allclose(first[4:], second[4:])


def test_the_convolution_is_the_formula(column: SpelledTextColumn) -> None:
    spelling = make(column, "convolutional").spelling
    assert isinstance(spelling, ConvolutionalSpelling)
    tokens = batch(column, "cats sat catfish")
    vectors = spelling.embedding(torch.tensor(column.spell_word("cats")))  # (6, E)
    padded = torch.cat([torch.zeros(1, 6), vectors, torch.zeros(1, 6)])
    weight, bias = spelling.convolution.weight, spelling.convolution.bias
    places = [sum(weight[:, :, k] @ padded[j + k] for k in range(3)) + bias for j in range(6)]
    assert tokens.spelling is not None
    assert torch.allclose(spelling(tokens.spelling)[0], torch.stack(places).amax(0).tanh(), atol=1e-6)


@pytest.mark.parametrize("kind", ["convolutional", "recurrent"])
def test_gradients_reach_the_characters_through_an_encoder(column: SpelledTextColumn, kind: str) -> None:
    encoder = RecurrentEncoder(make(column, kind), size=3)
    encoder(batch(column, "dog cat", "the cats sat")).values.square().sum().backward()
    gradient = encoder.embedding.spelling.embedding.weight.grad  # type: ignore[union-attr]
    assert gradient is not None
    assert gradient[column.characters.id("c")].abs().sum() > 0 and gradient[PAD].abs().sum() == 0


def test_word_dropout_reads_words_as_unknown_in_training_only(column: SpelledTextColumn) -> None:
    embedding = Embedding(column.size, 4, word_dropout=0.5)
    ids = torch.full((400,), 5)
    assert torch.equal(embedding.eval()(ids), embedding.weight[5].expand(400, -1))
    torch.manual_seed(0)
    unknown = (embedding.train()(ids) == embedding.weight[UNKNOWN]).all(-1).float().mean()
    assert 0.4 < unknown < 0.6
    assert torch.equal(embedding(torch.zeros(50, dtype=torch.long)), torch.zeros(50, 4)), "PAD stays PAD"


def test_tokens_without_a_spelling_are_refused(column: SpelledTextColumn) -> None:
    tokens = batch(column, "cat")
    with pytest.raises(RegardError, match="the tokens came without them"):
        make(column, "convolutional").read(Tokens(tokens.ids, tokens.lengths))


@pytest.mark.parametrize(
    ("inputs", "decoder", "message"),
    [
        (
            {"type": "text", "unit": "char"},
            {},
            "characters needs an input of whole words, and source has other units",
        ),
        ({"type": "text", "shared": "target"}, {"tie": "all"}, "characters cannot be used with tie: all"),
    ],
)
def test_what_cannot_be_spelled_is_refused_by_the_spec(inputs: dict, decoder: dict, message: str) -> None:
    document = {
        "inputs": {"source": inputs},
        "outputs": {"target": {"type": "text"}},
        "encoder": {"characters": {"type": "recurrent"}},
        "decoder": decoder,
    }
    with pytest.raises(RegardError, match=message):
        Spec.parse(document)
