"""Specs of memory networks: valid combinations, and errors for others."""

from __future__ import annotations

from typing import Any

import pytest

from regard import zoo
from regard.describe import answers
from regard.errors import RegardError
from regard.parts import as_data
from regard.spec import Spec


def refused(*overrides: str, system: str = "facts-structured") -> str:
    with pytest.raises(RegardError) as error:
        zoo.find(system, list(overrides))
    return str(error.value)


@pytest.mark.parametrize(
    ("override", "words"),
    [
        (
            "encoder.story={type: bag}",
            "the encoder bag cannot read story, which is of type story. Use type: story",
        ),
        (
            "encoder.question={type: story}",
            "the encoder story cannot read question, which is of type text. Use type: recurrent",
        ),
        ("encoder.story.tie=adjacent", "hops and tie: adjacent need each other"),
        (
            "encoder.story={type: story, sentence: recurrent, start: words}",
            "start has no effect: it belongs to sentence: bag",
        ),
        ("encoder.question.like=tale", "no input 'tale' has the encoder `story`"),
        (
            "encoder.question.embedding=32",
            "like needs an encoder with sentence: bag and embedding: 32; story has sentence: bag and embedding: 48",
        ),
        ("inputs.question.shared=null", "like needs one vocabulary for question and story"),
        (
            "attention.select=local",
            "select: local needs the step number, which a memory network does not provide",
        ),
        (
            "encoder.story={type: hierarchical}",
            "the encoder of story is hierarchical. Use an input of type: story or dialog",
        ),
        ("decoder.hops=1", "select: facts needs hops ≥ 2. With one hop use select: softmax"),
        ("decoder.query=story", "a memory network needs a text as its question; 'story' is not one"),
        (
            "truth.facts.of=question",
            "a column of type facts needs an input of type story, document or dialog; 'question' is not one",
        ),
    ],
)
def test_parts_that_do_not_fit(override: str, words: str) -> None:
    assert words in refused(override)


def test_as_many_tables_as_hops() -> None:
    found = refused("encoder.story.tie=adjacent", "encoder.story.hops=2")
    assert "hops is 2 in the encoder of story and 3 in the decoder" in found


def test_the_guide_needs_facts() -> None:
    found = refused("attention.guide=1", "truth={}")
    assert found.startswith("overrides=['attention.guide=1']: guide needs the supporting facts")
    assert "Add  truth: {facts: {type: facts}}" in found


def test_a_decoder_that_writes_step_by_step_cannot_choose_facts() -> None:
    found = refused("attention.select=facts", system="translation")
    assert "select: facts needs all queries at once, which a recurrent decoder does not provide" in found
    assert "softmax" in found.partition("Choose one of")[2]


def test_the_board_tells_hops_from_the_chain() -> None:
    hops, chain = (answers(zoo.find(name)) for name in ("facts", "facts-structured"))
    assert any("u_k = H_y u_{k−1} + o_{k−1}" in line for line in hops["decoder"])
    assert any("θ_k(i, j)" in line for line in chain["decoder"])
    assert not any("teacher forcing" in line for line in chain["algorithm"])


def test_one_line_changes_the_selection() -> None:
    simple: dict[str, Any] = as_data(zoo.find("facts"), unset=True)
    changed: dict[str, Any] = as_data(zoo.find("facts", ["attention.select=facts"]), unset=True)
    assert simple != changed
    simple["decoder"]["answer"]["attention"]["select"] = {"type": "facts"}
    assert simple == changed
    assert isinstance(zoo.find("facts"), Spec)
