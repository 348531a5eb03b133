"""Word-by-word attention against its equations, for one pair at a time."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

import regard
from regard import RegardError
from regard.inspect import figure
from regard.nn.decoders import WordByWordDecoder
from regard.nn.memory import Memory


class Source:
    value_size, summary_size = 5, 6


def memory(lengths: list[int], seed: int) -> Memory:
    torch.manual_seed(seed)
    width = max(lengths)
    mask = torch.arange(width)[None] < torch.tensor(lengths)[:, None]
    return Memory(torch.randn(len(lengths), width, 5).double(), mask, torch.randn(len(lengths), 6).double())


def by_hand(decoder: WordByWordDecoder, premise: Tensor, hypothesis: Tensor, summary: Tensor) -> Tensor:
    """premise (S, 5), hypothesis (T, 5) → logits, one word at a time."""
    score: Any = decoder.reading.attention("premise").score
    found = torch.zeros(5).double()
    for word in hypothesis:
        query = score.query.weight @ torch.cat([word, found])
        energies = torch.stack([score.vector @ torch.tanh(query + score.key.weight @ one) for one in premise])
        found = torch.softmax(energies, 0) @ premise + torch.tanh(decoder.onward.weight @ found)
    gathered = torch.tanh(decoder.gather(torch.cat([found, summary])))
    return decoder.output(gathered)


@pytest.fixture
def decoder() -> WordByWordDecoder:
    torch.manual_seed(3)
    return WordByWordDecoder(3, {"premise": Source(), "hypothesis": Source()}, size=7).double().eval()


def test_it_computes_its_equations_whatever_the_padding(decoder: WordByWordDecoder) -> None:
    lengths = {"premise": [4, 2, 6], "hypothesis": [3, 5, 1]}
    memories = {name: memory(several, seed) for seed, (name, several) in enumerate(lengths.items())}
    logits, seen = decoder(memories)
    looks = seen["premise"]
    for row in range(3):
        premise = memories["premise"].values[row, : lengths["premise"][row]]
        hypothesis = memories["hypothesis"].values[row, : lengths["hypothesis"][row]]
        expected = by_hand(decoder, premise, hypothesis, memories["hypothesis"].summary[row])
        torch.testing.assert_close(logits[row], expected)
        own = looks[row, : len(hypothesis), : len(premise)]
        torch.testing.assert_close(own.sum(-1), torch.ones(len(hypothesis)).double())
        assert looks[row].sum().item() == pytest.approx(len(hypothesis))  # no weight on padding


def test_what_the_words_before_found_matters(decoder: WordByWordDecoder) -> None:
    memories = {"premise": memory([4], 0), "hypothesis": memory([3], 1)}
    looks = decoder(memories)[1]["premise"]
    turned = memories["hypothesis"].values.clone()
    turned[:, 0] += 10.0
    others = decoder(memories | {"hypothesis": replace(memories["hypothesis"], values=turned)})[1]["premise"]
    assert (looks[:, 2] - others[:, 2]).abs().max() > 1e-4


def test_with_a_cell_it_carries_on_what_it_compared() -> None:
    torch.manual_seed(4)
    sources = {"premise": Source(), "hypothesis": Source()}
    decoder = WordByWordDecoder(3, sources, size=7, cell="lstm").double().eval()
    memories = {"premise": memory([4, 2], 0), "hypothesis": memory([2, 5], 1)}
    logits, seen = decoder(memories)
    looks = seen["premise"]
    cell, row = decoder.cell, 0
    state = torch.zeros(14).double()
    for place, word in enumerate(memories["hypothesis"].values[row, :2]):
        found = looks[row, place] @ memories["premise"].values[row]
        state = cell(torch.cat([word, found, (word - found).abs(), word * found]), state)
    gathered = torch.tanh(decoder.gather(torch.cat([state[:7], memories["hypothesis"].summary[row]])))
    torch.testing.assert_close(logits[row], decoder.output(gathered))


def test_words_to_compare_have_one_width() -> None:
    class Wider(Source):
        value_size = 8

    WordByWordDecoder(3, {"premise": Source(), "hypothesis": Wider()})
    with pytest.raises(RegardError, match="memories of one width"):
        WordByWordDecoder(3, {"premise": Source(), "hypothesis": Wider()}, cell="gru")


def test_two_texts_are_read() -> None:
    with pytest.raises(RegardError, match="Two texts are compared"):
        WordByWordDecoder(3, {"premise": Source()})


PAIRS = [
    {"premise": "the dog sleeps", "hypothesis": "the animal sleeps", "relation": "yes"},
    {"premise": "the cat runs", "hypothesis": "the dog runs", "relation": "no"},
] * 4


def spec(**changes: Any) -> dict[str, Any]:
    text = {"type": "text", "unit": "word"}
    return {
        "inputs": {"premise": text, "hypothesis": {**text, "shared": "premise"}},
        "outputs": {"relation": {"type": "label"}},
        "encoder": {
            "premise": {"type": "recurrent", "size": 4, "embedding": 4},
            "hypothesis": {"type": "shared", "of": "premise"},
        },
        "decoder": {"type": "word-by-word", "size": 4, **changes},
        "training": {"steps": 2, "batch_rows": 4},
    }


def test_every_word_of_the_hypothesis_has_a_look_in_the_trace(tmp_path: Path) -> None:
    model = regard.fit(PAIRS, spec=spec(), dev=PAIRS, run=tmp_path / "run", device="cpu", quiet=True)
    trace = model.predict({"premise": "the dog sleeps runs", "hypothesis": "the dog runs"}).trace
    assert trace is not None
    looks = trace.glimpses["premise"]
    assert looks.names == ("the", "dog", "runs") and looks.weights.shape == (3, 4)
    assert trace.attention["premise"][0] == pytest.approx(looks.weights.mean(0))
    assert type(trace).from_dict(trace.to_dict()).glimpses["premise"].names == looks.names
    drawn = trace.html()
    told = figure(trace).description  # a heatmap with a row for each word of the hypothesis
    assert all(f"{word} looks at" in told for word in ("the", "dog", "runs"))
    assert all(word in drawn for word in ("dog", "sleeps"))
    imposed = model.predict(
        {"premise": "the dog sleeps runs", "hypothesis": "the dog runs"}, look="1-2"
    ).trace
    assert imposed is not None and imposed.glimpses["premise"].weights[2].tolist() == [0.0, 1.0, 0.0, 0.0]


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"over": ["premise"]}, "compares two inputs"),
        ({"attention": {"over": "hypothesis"}}, "the words of hypothesis attend to premise"),
        ({"attention": {"guide": 1.0}}, "guide needs a true alignment"),
    ],
)
def test_what_cannot_be_is_refused(changes: dict[str, Any], words: str, tmp_path: Path) -> None:
    with pytest.raises(RegardError, match=words):
        regard.fit(PAIRS, spec=spec(**changes), dev=PAIRS, run=tmp_path / "run", device="cpu", quiet=True)
