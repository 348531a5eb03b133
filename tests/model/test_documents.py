"""Documents through a whole model: answers, attention, and bad input."""

from __future__ import annotations

import resource
from typing import Any

import numpy as np
import pytest

from regard import zoo
from regard.errors import RegardError
from regard.model import Model
from regard.trace import SentenceWords

ROWS: list[dict[str, str]] = [
    {
        "document": "The bar was empty. We found the farce rather awful.",
        "label": "bad",
        "evidence": "1:3 1:5",
    },
    {"document": "I called the heist very superb. It rained.", "label": "good", "evidence": "0:3"},
]


@pytest.fixture(scope="module")
def model() -> Model:
    small = ["encoder.words.embedding=6", "encoder.words.size=4", "encoder.sentences.size=4"]
    return Model.build(zoo.find("document-class", small), rows=ROWS)


def words_of(model: Model, document: Any) -> SentenceWords:
    trace = model.predict(document).trace
    assert trace is not None
    found = trace.structures["document"]
    assert isinstance(found, SentenceWords)
    return found


def test_a_trace_holds_both_levels(model: Model) -> None:
    found = words_of(model, ROWS[0]["document"])
    assert found.counts.tolist() == [5, 7]
    assert "".join(found.words).replace("￭", "") == "thebarwasempty.wefoundthefarceratherawful."
    assert found.weights is not None and found.sentences is not None and found.shares is not None
    assert found.sentences.sum() == pytest.approx(1, abs=1e-5)
    assert found.weights[:5].sum() == pytest.approx(1, abs=1e-5)
    assert found.shares.sum() == pytest.approx(1, abs=1e-5)
    np.testing.assert_allclose(found.shares[5:], found.weights[5:] * found.sentences[1])


def test_words_outside_the_vocabulary_are_shown_as_typed(model: Model) -> None:
    document = "We found Xerxes awful. It snowed."
    trace = model.predict(document).trace
    assert trace is not None and trace.input["document"] == ["we found xerxes awful.", "it snowed."]
    assert " ".join(words_of(model, document).words) == "we found xerxes awful ￭. it snowed ￭."


def test_lists_are_documents(model: Model) -> None:
    as_text = model.predict("We found it awful. It rained.")
    as_list = model.predict({"document": ["We found it awful.", "It rained."]})
    as_words = model.predict({"document": [["We", "found", "it", "awful."], ["It", "rained."]]})
    assert as_text.score == as_list.score == as_words.score
    with pytest.raises(RegardError, match="received a list, expected a text"):
        model.predict({"document": [1, 2]})


@pytest.mark.parametrize(
    ("document", "said"),
    [
        ("", "is empty"),
        (" \n ", "is empty"),
        ("<br /><br />", "has no sentence"),
        ({"document": []}, "has no sentence"),
        ({"document": [[], " "]}, "has no sentence"),
        ("It is so. " * 10_000, "has 10000 sentences, more than max_sentences 1000"),
    ],
)
def test_what_is_no_document_is_told(model: Model, document: Any, said: str) -> None:
    with pytest.raises(RegardError, match=f"document {said}"):
        model.predict(document)


@pytest.mark.parametrize(
    "document",
    ["x" * 50_000, "word " * 10_000, "a, " * 16_000, "\x00\x07\x1b[31mred\x9f. \u202eGone\ufffe. \x1c\x1f"],
    ids=["one-word", "words", "commas", "controls"],
)
def test_odd_documents_are_answered_and_drawn(model: Model, document: str) -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    answer = model.predict(document)
    assert answer.value in ("good", "bad") and answer.trace is not None
    page = answer.trace.html()
    assert len(page) < 600_000 and "\x1b" not in page and "\x00" not in page
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 700_000  # kilobytes


def test_one_long_document_among_short_ones(model: Model) -> None:
    """Answers do not depend on the other inputs of the batch."""
    texts = ["It rained. " * 900, "We found the farce awful.", "word " * 5_000]
    together = model.predict(texts)
    for text, answer in zip(texts, together, strict=True):
        assert model.predict(text).score == pytest.approx(answer.score, rel=1e-4)
