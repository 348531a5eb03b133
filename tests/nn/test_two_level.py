"""Two-level attention of a decoder: the product of two softmaxes over words and sentences, with copying."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from regard.errors import RegardError
from regard.model import Model
from regard.nn.packing import forced
from regard.spec import Spec

ROWS = [
    {"report": "Ann saw zork . Bob of Kerd ran .", "summary": "zork ran"},
    {"report": "A b .", "summary": "blib"},
    {"report": "Bob ran . Ann saw a cat . Kerd .", "summary": "Ann saw cat"},
]


def document(**attention: Any) -> dict[str, Any]:
    return {
        "inputs": {"report": {"type": "document", "min_count": 2}},
        "outputs": {"summary": {"type": "text", "min_count": 2}},
        "encoder": {
            "type": "hierarchical",
            "words": {"size": 5, "embedding": 6},
            "sentences": {"size": 4},
            "attention": {},
        },
        "attention": {"level": "both", **attention},
        "decoder": {"type": "recurrent", "size": 7, "embedding": 6, "copy": True},
        "search": {"max_length": 5},
    }


def built(**attention: Any) -> tuple[Model, Any]:
    torch.manual_seed(4)
    model = Model.build(Spec.parse(document(**attention)), rows=ROWS)
    model.network.double().eval()
    for parameter in model.network.parameters():
        torch.nn.init.normal_(parameter, std=0.7)
    return model, next(iter(model.batches(ROWS, shuffle=False)))


@pytest.mark.parametrize("state", [{"state": "previous"}, {"state": "current", "feed": False}])
@torch.no_grad()
def test_weights_are_the_product_of_both_levels(state: dict[str, Any]) -> None:
    model, batch = built(**state)
    decoder: Any = model.network.decoders["summary"]
    memories = model.network.memories("summary", model.network.encode(batch))
    memory = memories["report"]
    previous, _, packing = forced(batch["summary"])
    looks = packing.unpack(decoder.unroll(memories, previous, packing).looks["report"])
    step = decoder.start(memories)
    queries = [decoder.stack.top(step.layers)]
    for t in range(previous.shape[1]):
        step = decoder.step(previous[:, t : t + 1], step, memories).state
        queries.append(decoder.stack.top(step.layers))
    first = 1 if state["state"] == "current" else 0
    score = decoder.reading.attention("report").score
    for row, t in ((0, 0), (2, 1), (1, 0)):
        query = queries[t + first][row : row + 1]
        one = memory.select(torch.tensor([row]))
        words = score.words(query, score.words.keys(one.values if one.keys is None else one.keys))[0, 0]
        above = one.parent.values if one.parent.keys is None else one.parent.keys
        sentences = score.sentences(query, score.sentences.keys(above))[0, 0]
        count, lines = int(one.mask.sum()), int(one.parent.mask.sum())
        of_words = torch.softmax(words[:count], 0)
        of_sentences = torch.softmax(sentences[:lines], 0)
        product = torch.stack([of_words[w] * of_sentences[one.parent_index[0, w]] for w in range(count)])
        torch.testing.assert_close(looks[row, t, :count], product / product.sum())
        assert looks[row, t, count:].abs().sum() == 0


@torch.no_grad()
def test_words_of_a_document_are_copied_and_traced() -> None:
    model, _ = built()
    decoder: Any = model.network.decoders["summary"]
    with torch.no_grad():
        decoder.copying.gate.bias.fill_(-50.0)  # copy every word
    found = model.score(ROWS[0]["report"], "zork Kerd")
    assert found.trace is not None and found.trace.output == ["zork", "Kerd", "</s>"]
    words = ROWS[0]["report"].split()
    assert found.trace.input["report"] == words
    copied = found.trace.copied["report"]
    assert copied[0].tolist() == pytest.approx([1.0 if word == "zork" else 0.0 for word in words])
    assert copied[1].tolist() == pytest.approx([1.0 if word == "Kerd" else 0.0 for word in words])
    read = found.trace.structures["report"]
    assert read.sentences.sum() == pytest.approx(1.0) and list(read.counts) == [4, 5]  # type: ignore[union-attr]
    assert "<svg" in found.trace.plot().svg()
    answer = model.predict(ROWS[0]["report"])
    assert set(answer.text.split()) <= set(words)


def test_one_row_alone_answers_as_among_others() -> None:
    model, _ = built(state="current")
    together = model.predict([row["report"] for row in ROWS])
    for row, answer in zip(ROWS, together, strict=True):
        alone = model.predict(row["report"])
        assert alone.text == answer.text and alone.score == pytest.approx(answer.score, abs=1e-9)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"select": "sparsemax"}, "softmax"),
        ({"score": "history"}, "does not provide the attention weights of previous steps"),
        ({"repetition": 1.0}, "repetition cannot be used with level"),
    ],
)
def test_what_two_levels_cannot_do_is_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(RegardError, match=message):
        Spec.parse(document(**options))


def test_words_are_looked_at_where_there_are_sentences() -> None:
    flat = {**document(), "inputs": {"report": {"type": "text"}}, "encoder": {"type": "recurrent"}}
    with pytest.raises(RegardError, match="needs an encoder of sentences and their words"):
        Spec.parse(flat)
    with pytest.raises(RegardError, match="positions are words"):
        Spec.parse(document(level="positions"))
