"""Responses chosen from candidates: of a file, of the training data, or of each row."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

import regard
from regard.errors import RegardError
from regard.model import Model
from regard.spec import Spec

COLORS = ("red", "green", "blue", "pink")
ROWS = [
    {"utterance": f"{word} {color}", "response": f"it is {color}"}
    for color in COLORS
    for word in ("why", "is it", "so", "oh")
]
LIST = {
    "inputs": {"utterance": {"type": "text"}},
    "outputs": {"response": {"type": "candidate"}},
    "encoder": {"type": "bag", "embedding": 8},
    "decoder": {"type": "retrieval", "embedding": 8},
    "training": {"epochs": 60, "batch_rows": 8, "lr": 0.03, "seed": 1},
}


def fitted(spec: dict[str, Any], rows: list[dict[str, Any]], path: Path) -> Any:
    return regard.fit(
        rows, spec=Spec.parse(spec), dev=rows, run=path, overwrite=True, device="cpu", quiet=True
    )


def test_a_response_is_chosen_and_one_that_is_no_candidate_counts_as_wrong(tmp_path: Path) -> None:
    file = tmp_path / "candidates.txt"
    # one more candidate than in the data, with line numbers as in dialog bAbI
    file.write_text("".join(f"1 it is {color}\n" for color in (*COLORS, "gray")), encoding="utf-8")
    spec = {**LIST, "outputs": {"response": {"type": "candidate", "candidates": str(file)}}}
    model = fitted(spec, ROWS, tmp_path / "run")
    file.unlink()  # the model keeps its candidates
    model = regard.load(tmp_path / "run", device="cpu")
    answer = model.predict("why blue")
    assert answer.text == "it is blue"
    assert sum(answer.probabilities.values()) == pytest.approx(1)
    assert set(answer.probabilities) <= {f"it is {color}" for color in (*COLORS, "gray")}
    test = [*ROWS[:3], {"utterance": "so oh red", "response": "it is black"}]
    found = model.evaluate(data=test)
    assert found.scores["accuracy"].value == pytest.approx(0.75)
    assert any("1 of 4 rows has a response that is not among the candidates" in one for one in found.remarks)


def test_training_data_whose_response_is_no_candidate_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "candidates.txt"
    file.write_text("it is red\n\nit is green\n", encoding="utf-8")
    spec = {**LIST, "outputs": {"response": {"type": "candidate", "candidates": str(file)}}}
    with pytest.raises(
        RegardError, match=r"8 of 16 training rows .* not among the\s+candidates .*'it is blue'"
    ):
        fitted(spec, ROWS, tmp_path / "run")
    file.write_text("\n", encoding="utf-8")
    with pytest.raises(RegardError, match="the file has no candidates"):
        fitted(spec, ROWS, tmp_path / "run")
    with pytest.raises(RegardError, match="no such file"):
        fitted(
            {**spec, "outputs": {"response": {"type": "candidate", "candidates": "no.txt"}}},
            ROWS,
            tmp_path / "run",
        )


EACH = {
    **LIST,
    "inputs": {"utterance": {"type": "text"}, "offered": {"type": "candidates"}},
    "outputs": {"response": {"type": "candidate", "of": "offered"}},
    "encoder": {
        "utterance": {"type": "bag", "embedding": 8},
        "offered": {"type": "candidates", "embedding": 8},
    },
    "decoder": {"type": "retrieval"},
}


def test_each_row_may_have_candidates_of_its_own(tmp_path: Path) -> None:
    rows = [
        {**row, "offered": [row["response"], ROWS[(number + 5) % 16]["response"]][:: 1 if number % 2 else -1]}
        for number, row in enumerate(ROWS)
    ]
    model = fitted(EACH, rows, tmp_path / "run")
    model = regard.load(tmp_path / "run", device="cpu")
    assert model.evaluate(data=rows).scores["accuracy"].value == 1.0
    answer = model.predict({"utterance": "why blue", "offered": "it is pink | it is blue | it was not so"})
    assert answer.text == "it is blue"
    # A candidate is returned as written, unknown words included.
    alone = model.predict({"utterance": "why blue", "offered": ["nobody can know"]})
    assert (alone.text, alone.score) == ("nobody can know", pytest.approx(0))
    with pytest.raises(RegardError, match="response is not among the candidates of offered"):
        model.evaluate(data=[{**rows[0], "offered": "it is so | it is blue"}])
    for wrong, problem in (("|", "has no candidate"), ("a | a", "has the candidate 'a' twice")):
        with pytest.raises(RegardError, match=problem):
            model.predict({"utterance": "why blue", "offered": wrong})


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"outputs": {"response": {"type": "candidate", "of": "utterance"}}}, "no input of type candidates"),
        (
            {"outputs": {"response": {"type": "candidate", "of": "offered", "min_count": 2}}},
            "min_count has no effect",
        ),
        ({"decoder": {"type": "retrieval", "embedding": 8}}, "embedding has no effect"),
        ({"decoder": {"type": "retrieval", "over": ["utterance"]}}, "over leaves out offered"),
        ({"decoder": {"type": "retrieval", "over": ["offered"]}}, "there is no other input to choose by"),
        (
            {"decoder": {"type": "retrieval", "attention": {"over": "offered"}}},
            "the attention needs another input",
        ),
    ],
)
def test_what_cannot_be_is_refused(change: dict[str, Any], problem: str) -> None:
    with pytest.raises(RegardError, match=problem):
        Spec.parse({**EACH, **change})


def test_a_tied_memory_network_finds_a_word_it_never_learned_in_a_candidate(tmp_path: Path) -> None:
    """Without training: the story and the candidates have the same embeddings."""
    names = [f"name{number}" for number in range(40)]
    file = tmp_path / "candidates.txt"
    file.write_text("\n".join(names), encoding="utf-8")
    spec = Spec.parse(
        {
            "inputs": {
                "dialog": {"type": "dialog", "shared": "response"},
                "utterance": {"type": "text", "shared": "response"},
            },
            "outputs": {"response": {"type": "candidate", "candidates": str(file)}},
            "encoder": {
                "dialog": {"type": "story", "embedding": 64},
                "utterance": {"type": "bag", "embedding": 64, "like": "dialog"},
            },
            "decoder": {"type": "memory-retrieval", "hops": 2, "read": "sum", "tie": True},
        }
    )
    torch.manual_seed(1)
    model = Model.build(spec, rows=[{"dialog": "U: name0", "utterance": "who", "response": "name0"}])
    asked = [{"dialog": f"KB: {name}", "utterance": "who"} for name in names]
    found = [answer.text for answer in model.predict(asked, trace=False)]
    assert sum(map(str.__eq__, found, names)) >= 36
