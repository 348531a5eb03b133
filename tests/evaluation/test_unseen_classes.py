"""Labels, tags, relations, labels of spans and nodes that only dev has: counted as errors, reported, never a crash."""

from __future__ import annotations

import math
import random
from pathlib import Path
from typing import Any

import pytest

import regard
from regard import Model, parts
from regard.data.columns import Column
from regard.metrics import metric

WORDS = ["the", "cat", "dog", "sees", "big"]
TEXT = {"text": {"type": "text", "unit": "word"}}
FACT = {"story": {"type": "story", "field": "text"}, "question": {"type": "text", "field": "text"}}
PAIR = {"text": TEXT["text"], "other": {"type": "text", "field": "text"}}


def row(words: list[str], mark: str = "") -> dict[str, str]:
    """Four words with all annotations; `mark` changes all class names."""
    a, b, c, d = words
    return {
        "text": " ".join(words),
        "label": f"{mark}yes" if "cat" in words else f"{mark}no",
        "tags": " ".join(f"B-{mark}N" if word in ("cat", "dog") else "O" for word in words),
        "tree": f"0:root 1:{mark}dep 1:{mark}dep 3:{mark}dep",
        "constituents": f"({mark}S ({mark}X {a} {b}) (Y {c} {d}))",
        "nodes": f"({mark}1 ({mark}0 ({mark}0 {a}) (1 {b})) ({mark}1 (1 {c}) ({mark}0 {d})))",
    }


def sentences(count: int, seed: int) -> list[list[str]]:
    generator = random.Random(seed)
    return [["cat", *generator.choices(WORDS, k=3)] for _ in range(count)]


TRAIN = [row(words) for words in [*sentences(30, 1), ["the", "big", "dog", "sees"]]]
KNOWN = [row([*words[1:], "cat"]) for words in sentences(5, 2)]
ODD = [row([*words[2:], "cat", "big"], "new") for words in sentences(3, 3)]
ODD_TAGS = sum(tag == "B-newN" for one in ODD for tag in one["tags"].split())
LATER = [*KNOWN, *ODD]

GRU = {"type": "recurrent", "cell": "gru", "size": 8, "embedding": 8}
TREE = {"type": "tree", "size": 8, "embedding": 8}
MEANS = {name: {"type": "mean", "embedding": 8} for name in PAIR}
CASES: dict[str, tuple[str, dict[str, Any], Any, Any]] = {
    "label": ("label", TEXT, GRU, {"type": "label"}),
    "label, weighted": ("label", TEXT, GRU, {"type": "label", "class_weights": "balanced"}),
    "label, two texts": ("label", PAIR, MEANS, {"type": "decomposable"}),
    "label, facts": (
        "label",
        FACT,
        {"story": {"type": "story", "embedding": 8}, "question": {"type": "bag", "embedding": 8}},
        {"type": "memory-network", "hops": 2},
    ),
    "tags": ("tags", TEXT, GRU, {"type": "tags"}),
    "tags, a chain": ("tags", TEXT, GRU, {"type": "crf", "constraints": "bio"}),
    "tree": ("tree", TEXT, GRU, {"type": "tree", "size": 8, "relation_size": 8}),
    "tree, crossing": ("tree", TEXT, GRU, {"type": "tree", "structure": "spanning", "size": 8}),
    "constituents": ("constituents", TEXT, GRU, {"type": "constituents", "size": 8}),
    "candidate": ("reply", TEXT, GRU, {"type": "retrieval"}),
    "brackets": ("nodes", {"trees": {"type": "brackets", "field": "nodes"}}, TREE, {"type": "nodes"}),
}  # fmt: skip
COUNTED = {  # over the three rows with new classes
    "label": "3 of 8 rows have a class that training never saw (newyes)",
    "reply": "3 of 8 rows have a reply that is not among the candidates (newyes)",
    "tags": f"{ODD_TAGS} of 32 words have a tag that training never saw (B-newN)",
    "tree": "9 of 32 words have a relation that training never saw (newdep)",
    "constituents": "6 of 56 constituents have labels that training never saw (newS, newX)",
    "nodes": "15 of 56 nodes have labels that training never saw (new0, new1)",
}
WHOLE_ROWS = ("label", "label, weighted", "label, facts", "tags, a chain")
"""Cases where an unseen class leaves out its whole row: the loss is that of the other rows."""
TYPES = {"nodes": "brackets", "reply": "candidate"}


def trained(case: str, dev: list[dict[str, str]], run: Path) -> Model:
    output, inputs, encoder, decoder = CASES[case]
    over_text = output in ("tags", "tree", "constituents")
    asked = {"of": "text"} if over_text else {"field": "label"} if output == "reply" else {}
    spec = {
        "inputs": inputs,
        "outputs": {output: {"type": TYPES.get(output, output), **asked}},
        **({} if encoder is None else {"encoder": encoder}),
        "decoder": decoder,
        "training": {"epochs": 1, "batch_rows": 16},
    }
    return regard.fit(TRAIN, spec=spec, dev=dev, run=run, device="cpu")


def measurable(model: Model, output: str) -> list[str]:
    """The metrics that suit such an output."""
    column = model.columns[output]
    every = [metric(name) for one in parts.names("metric") for name in parts.part("metric", one).members()]
    general = ("loss", "perplexity", "exact", *column.usual)
    return [one.name for one in every if column.type in one.suits or one.name in general]


def test_every_column_of_classes_is_tried() -> None:
    classed = {
        name
        for name in parts.names("column")
        if "outputs" in (made := parts.part("column", name)).roles and made.unseen is not Column.unseen
    }
    # tests/data/test_multilabel_column.py, tests/nn/test_ordinal.py, tests/nn/test_soft_labels.py
    elsewhere = {"multilabel", "ordinal", "soft-label"}
    assert classed - elsewhere == {TYPES.get(output, output) for output, *_ in CASES.values()}


@pytest.mark.parametrize("case", CASES)
def test_classes_that_only_dev_has_are_errors_and_are_reported_once(
    case: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    output = CASES[case][0]
    model = trained(case, LATER, tmp_path / "run")
    printed = " ".join(capsys.readouterr().out.split())
    told = COUNTED[output]
    assert printed.count("counted as errors") == 1
    assert f"dev: {output}: {told}: counted as errors" in printed

    found = model.evaluate("dev", metrics=measurable(model, output))
    assert all(math.isfinite(score.value) for score in found.scores.values()), found.scores
    assert "|without what training never saw, in 3 of 8 rows" in found.scores["loss"].signature
    usual = found.scores[model.columns[output].usual[-1]].value
    # Count the right answers against the original rows: a new class can never be among them.
    answers = found.predictions[output]
    assert not any("new" in answer for answer in answers)
    if output in ("label", "reply"):
        right = sum(answer == one["label"] for answer, one in zip(answers, LATER, strict=True))
        assert usual == pytest.approx(right / 8)
    if output in ("tags", "tree"):
        pairs = zip(" ".join(answers).split(), " ".join(one[output] for one in LATER).split(), strict=True)
        assert usual == pytest.approx(sum(a == b for a, b in pairs) / 32)
    if case in WHOLE_ROWS:
        only = model.evaluate(data=KNOWN, metrics=["loss", "perplexity"]).scores
        for name, score in only.items():
            assert found.scores[name].value == pytest.approx(score.value, rel=1e-5)
            assert "never saw" not in score.signature


@pytest.mark.parametrize("case", ["label", "tags, a chain"])
def test_a_dev_set_of_nothing_else_does_not_stop_a_training(case: str, tmp_path: Path) -> None:
    model = trained(case, ODD, tmp_path / "run")
    found = model.evaluate("dev", metrics=["loss", "perplexity"])
    for score in found.scores.values():
        assert math.isfinite(score.value) and "never saw, in 3 of 3 rows" in score.signature
