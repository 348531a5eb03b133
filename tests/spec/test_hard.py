"""Hard attention and coverage in a spec: how they are written, built, described and refused."""

from __future__ import annotations

import pytest
import yaml

from regard.describe import answers
from regard.errors import RegardError
from regard.spec import Spec

TEXT = """
inputs:    {source: {type: text, unit: word}}
outputs:   {target: {type: text, unit: word}}
encoder:   {type: recurrent, cell: gru, size: 8}
attention: {score: additive, select: softmax}
decoder:   {type: recurrent, cell: gru, size: 8}
data:      {train: train.tsv}
"""
LABEL = TEXT.replace("target: {type: text, unit: word}", "target: {type: label}").replace(
    "{type: recurrent, cell: gru, size: 8}\ndata", "{type: label}\ndata"
)


@pytest.mark.parametrize(
    ("text", "override", "words"),
    [
        (
            TEXT,
            "attention.select={type: softmax, reward: 0.5}",
            "unknown key 'reward'.*option of the selection hard",
        ),
        (TEXT, "attention.hard.reward=0.5", "has moved. Write  select: {type: hard"),
        (TEXT, "attention.select={type: hard, expected: 1}", "expected less than 1"),
        (TEXT, "attention.coverage=-1", "attention.coverage"),
        (LABEL, "attention.select=hard", "after a sample, which a label decoder does not provide"),
        (LABEL, "attention.coverage=1", "unknown key 'coverage'. It is an option of the decoder recurrent"),
    ],
)
def test_what_cannot_be_is_refused(text: str, override: str, words: str) -> None:
    with pytest.raises(RegardError, match=words):
        Spec.parse(yaml.safe_load(text), overrides=[override])


def test_coverage_needs_a_selection_that_learns() -> None:
    with pytest.raises(RegardError, match="the weights of select: uniform are not learned"):
        Spec.parse(yaml.safe_load(TEXT), overrides=["attention.select=uniform", "attention.coverage=1"])


def test_the_board_writes_what_draws_and_coverage_add() -> None:
    spec = Spec.parse(yaml.safe_load(TEXT), overrides=["attention.select=hard", "attention.coverage=2"])
    board = " ".join(" ".join(lines) for lines in answers(spec).values())
    assert "z_t = argmax_j(α_tj)     — in training drawn from α_t" in board and "c_t = h_{z_t}" in board
    assert "+ 2 Σ_j (1 − Σ_t α_tj)²" in board and "0.002 Σ_t H(α_t)" in board
    assert "0.1 Σ_t (C_t − b) log(α_{t,z_t}) where z_t is drawn" in board
    assert "C_t − b: the loss of words t … T, minus the average" in board
    assert "z_t is sampled in each row with probability 0.5, else c_t = Σ_j α_tj h_j" in board


def test_the_board_writes_who_draws_and_from_when_on() -> None:
    changes = ["attention.select=hard", "attention.select.expected=0", "attention.select.warmup=2000"]
    spec = Spec.parse(yaml.safe_load(TEXT), overrides=changes)
    lines = [line for answer in answers(spec).values() for line in answer]
    assert "z_t is sampled in each row with probability 1; never in the first 2,000 batches" in lines


def test_the_board_credits_a_draw_that_does_not_last_with_its_own_word() -> None:
    changes = ["attention.select=hard", "attention.state=current", "attention.feed=false"]
    spec = Spec.parse(yaml.safe_load(TEXT), overrides=changes)
    board = " ".join(" ".join(lines) for lines in answers(spec).values())
    assert "C_t − b: the loss of word t, minus the average" in board
