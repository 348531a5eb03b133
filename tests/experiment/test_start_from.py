"""A model that starts from another answers as that model did, whatever the order of its vocabularies."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file

import regard
from regard import RegardError, zoo
from regard.model.building import shared_with
from regard.model.counting import fitted_to_nothing
from regard.model.unit_axes import unit_axes

NO_STEPS = {"steps": 0, "batch_rows": 8}
SMALL = {"embedding": 6, "size": 8}
TEXTS = ["the cat sat", "a dog ran far", "the dog sat", "one bird sang", "a cat ran", "two birds flew"]
LABELS = ["pet", "pet", "pet", "bird", "pet", "wild"]
TAGS = ["D N V", "D N V R", "D N V", "C N V", "D N V", "C N V"]
STORIES = [
    {"story": "mary went to the hall. john is in the den.", "question": "where is mary", "answer": "hall"},
    {"story": "john went to the yard. mary left.", "question": "is john in the yard", "answer": "yes"},
    {"story": "mary is in the den. john left.", "question": "is john in the den", "answer": "no"},
    {"story": "john is in the hall. mary ran.", "question": "where is john", "answer": "hall"},
]


def words(**more: Any) -> dict[str, Any]:
    return {"type": "text", "unit": "word", **more}


def texts(**columns: list[str]) -> list[dict[str, str]]:
    return [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]


PAIRS = texts(a=TEXTS, b=[text.upper() for text in TEXTS])
CLASSED = texts(a=TEXTS, label=LABELS)
ATTENTION = {"score": "dot", "select": "softmax"}
SYSTEMS: dict[str, tuple[dict[str, Any], list[dict[str, Any]]]] = {
    "words to words": (
        {"inputs": {"a": words()}, "outputs": {"b": words()}, "encoder": SMALL, "decoder": SMALL},
        PAIRS,
    ),
    "tied, shared": (
        {
            "inputs": {"a": words()},
            "outputs": {"b": words(shared="a")},
            "encoder": SMALL,
            "decoder": {**SMALL, "tie": "all"},
        },
        PAIRS,
    ),
    "copying": (
        {
            "inputs": {"a": words()},
            "outputs": {"b": words()},
            "encoder": SMALL,
            "attention": {"score": "additive", "select": "softmax"},
            "decoder": {**SMALL, "copy": {"from": "a"}},
        },
        PAIRS,
    ),
    "transformer": (
        {
            "inputs": {"a": {"type": "text", "unit": "char"}},
            "outputs": {"b": {"type": "text", "unit": "char"}},
            "encoder": {"type": "transformer", "size": 8, "layers": 1, "heads": 2, "hidden": 8},
            "decoder": {"type": "transformer", "size": 8, "layers": 1, "heads": 2, "hidden": 8},
        },
        PAIRS,
    ),
    "subwords": (
        {
            "inputs": {"a": {"type": "text", "unit": "subword", "vocabulary": 40}},
            "outputs": {"b": {"type": "text", "unit": "subword", "vocabulary": 40}},
            "encoder": SMALL,
            "decoder": SMALL,
        },
        PAIRS,
    ),
    "two inputs": (
        {
            "inputs": {"a": words(), "b": {"type": "text", "unit": "char"}},
            "outputs": {"label": {"type": "label"}},
            "encoder": SMALL,
        },
        texts(a=TEXTS, b=[text[::-1] for text in TEXTS], label=LABELS),
    ),
    "hierarchical": (
        {
            "inputs": {"a": {"type": "document"}},
            "outputs": {"label": {"type": "label"}},
            "encoder": {"type": "hierarchical", "words": SMALL, "sentences": {"size": 8}},
        },
        texts(a=[f"{text}. {text[::-1]}." for text in TEXTS], label=LABELS),
    ),
    "tags with a chain": (
        {
            "inputs": {"a": words()},
            "outputs": {"tags": {"type": "tags", "of": "a"}},
            "encoder": SMALL,
            "decoder": {"type": "crf"},
        },
        texts(a=TEXTS, tags=TAGS),
    ),
    "characters of words": (
        {
            "inputs": {"a": words()},
            "outputs": {"label": {"type": "label"}},
            "encoder": {**SMALL, "characters": {"size": 4, "embedding": 4}},
        },
        CLASSED * 2,  # a character that occurs once is unknown
    ),
    "answers that are words": (
        {
            "inputs": {"story": {"type": "story"}, "question": words(shared="story")},
            "outputs": {"answer": {"type": "label"}},
            "encoder": {
                "story": {"type": "story", "embedding": 6},
                "question": {"type": "bag", "embedding": 6, "like": "story"},
            },
            "attention": ATTENTION,
            "decoder": {"type": "memory-network", "hops": 2, "read": "sum", "tie": True},
        },
        STORIES,
    ),
    "numbers": (
        {"inputs": {"a": words()}, "outputs": {"n": {"type": "number"}}, "encoder": SMALL},
        texts(a=TEXTS, n=["1", "2", "3", "40", "5", "6"]),
    ),
    "tree": (
        {
            "inputs": {"tree": {"type": "brackets", "labels": False}},
            "outputs": {"label": {"type": "label"}},
            "encoder": {"type": "tree", "compose": "rnn", "structure": "given", **SMALL},
        },
        texts(tree=[f"({' '.join(text.split()[:2])})" for text in TEXTS], label=LABELS),
    ),
}


def first_model(folder: Path, spec: dict[str, Any], rows: list[dict[str, Any]]) -> regard.Model:
    """A model with random weights everywhere, biases included."""
    model = fitted(folder, spec, rows, seed=1)
    weights = load_file(folder / "model.safetensors")
    generator = torch.Generator().manual_seed(7)
    for name, tensor in weights.items():
        weights[name] = tensor + 0.3 * torch.randn(tensor.shape, generator=generator).to(tensor.dtype)
    model.network.load_state_dict(weights, strict=False)
    model.save(folder)
    return regard.load(folder, device="cpu")


def fitted(folder: Path, spec: dict[str, Any], rows: list[Any], **more: Any) -> regard.Model:
    return regard.fit(
        rows, spec={**spec, "training": NO_STEPS}, run=folder, dev=rows, device="cpu", quiet=True,
        search={"method": "greedy", "max_length": 12} if "b" in spec["outputs"] else None, **more,
    )  # fmt: skip


def answers(model: regard.Model, rows: list[dict[str, Any]]) -> list[tuple[str, float]]:
    asked = [{name: row[name] for name in model.spec.inputs} for row in rows]
    found = [model.predict(row) for row in asked]
    return [(one.text, float(one.score)) for one in found]


@pytest.mark.parametrize("name", SYSTEMS)
def test_another_order_of_units_changes_no_answer(tmp_path: Path, name: str) -> None:
    spec, rows = SYSTEMS[name]
    first = first_model(tmp_path / "first", spec, rows)
    other = [*rows, *rows[-2:], *rows[-1:] * 3]  # other frequencies, hence other numbers
    second = fitted(tmp_path / "second", spec, other, seed=2, start_from=tmp_path / "first")
    if name not in ("subwords",):
        orders = [[column.units() for column in model.columns.values()] for model in (first, second)]
        assert orders[0] != orders[1]
    for (text, score), (again, its_score) in zip(answers(first, rows), answers(second, rows), strict=True):
        assert again == text and its_score == pytest.approx(score, rel=1e-4, abs=1e-5)


def rows_by_unit(model: regard.Model, folder: Path, weight: str, column: str) -> dict[Any, torch.Tensor]:
    """The rows of a weight in a file, by the text of their unit."""
    (units,) = model.columns[column].units().values()
    return dict(zip(units, load_file(folder / "model.safetensors")[weight], strict=True))


def test_new_units_start_fresh_and_known_ones_keep_their_rows(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    spec, rows = SYSTEMS["two inputs"]
    first = first_model(tmp_path / "first", spec, rows)
    more = [
        {"a": "zebras sat", "b": "tas", "label": "animal"},
        *({"a": "birds sat", "b": "tas", "label": "zoo"} for _ in range(8)),
        *rows[:4],
    ]
    asked = {"run": str(tmp_path / "first")}
    fresh = fitted(tmp_path / "fresh", spec, more, seed=2)
    second = regard.fit(
        more, spec={**spec, "training": NO_STEPS}, run=tmp_path / "second", dev=more, device="cpu", seed=2,
        start_from=asked,
    )  # fmt: skip
    for weight, column in (
        ("encoders.a.embedding.weight", "a"),
        ("decoders.label.output.weight", "label"),
        ("decoders.label.output.bias", "label"),
    ):
        old = rows_by_unit(first, tmp_path / "first", weight, column)
        new = rows_by_unit(second, tmp_path / "second", weight, column)
        drawn = rows_by_unit(fresh, tmp_path / "fresh", weight, column)
        assert {unit for unit in new if unit not in old} in ({"zebras"}, {"animal", "zoo"})
        for unit, row in new.items():
            assert torch.equal(row, old.get(unit, drawn[unit])), (weight, unit)
    # Where the classes compete, those of the first model keep their odds.
    row = {name: rows[0][name] for name in spec["inputs"]}
    one, two = (model.predict(row).probabilities for model in (first, second))
    assert one and two
    assert two["bird"] / two["pet"] == pytest.approx(one["bird"] / one["pet"], rel=1e-4)
    said = capsys.readouterr()
    text = " ".join((said.out + said.err).split())
    assert "classes of label: 2 of 4 known, 2 new (animal, zoo), 1 of that model not used" in text
    assert "words of a:" in text and "1 new (zebras)" in text


def test_the_old_vocabulary_can_be_kept(tmp_path: Path) -> None:
    spec, rows = SYSTEMS["two inputs"]
    first = first_model(tmp_path / "first", spec, rows)
    keep = {"run": tmp_path / "first", "vocabulary": "keep"}
    less = [*rows[:3], {"a": "new words sat", "b": "q", "label": "pet"}]
    second = fitted(tmp_path / "second", spec, less, seed=2, start_from=keep)
    assert answers(second, rows) == answers(first, rows)
    assert {name: one.units() for name, one in second.columns.items()} == {
        name: one.units() for name, one in first.columns.items()
    }
    assert second.columns["label"].counts == [0, 4, 0]  # of the new data: bird, pet, wild
    unseen = [*less, {"a": "a cat", "b": "c", "label": "fish"}]
    with pytest.raises(RegardError, match=r"(?s)class 'fish', not among the 3 known.*vocabulary: keep"):
        fitted(tmp_path / "third", spec, unseen, start_from=keep)
    lower = {**spec, "inputs": {**spec["inputs"], "a": words(case="lower")}}
    with pytest.raises(RegardError, match=r"a cannot be kept: its case is 'lower', and 'keep'"):
        fitted(tmp_path / "fourth", lower, less, start_from=keep)


def test_weights_without_vocabularies_are_copied_by_position_and_it_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    spec, rows = SYSTEMS["words to words"]
    first = first_model(tmp_path / "first", spec, rows)
    file = tmp_path / "alone.safetensors"
    save_file(load_file(tmp_path / "first" / "model.safetensors"), file)
    capsys.readouterr()
    second = regard.fit(
        rows, spec={**spec, "training": NO_STEPS}, run=tmp_path / "second", dev=rows, start_from=file,
        device="cpu", search={"method": "greedy", "max_length": 12},
    )  # fmt: skip
    assert answers(second, rows) == answers(first, rows)
    said = capsys.readouterr()
    assert "no vocabularies; rows of words and classes are copied by position" in said.out + said.err
    with pytest.raises(RegardError, match="no vocabulary to keep"):
        fitted(tmp_path / "third", spec, rows, start_from={"run": str(file), "vocabulary": "keep"})


def test_the_adaptive_output_is_matched_too(tmp_path: Path) -> None:
    """Rows of its head and of its classes are units of the vocabulary by frequency."""
    spec = {
        "outputs": {"text": words(type="stream")},
        "decoder": {"type": "language", "embedding": 6, "size": 16, "output": "adaptive", "cutoffs": [6, 9]},
        "training": {"steps": 0, "batch_rows": 2, "span": 4},
    }
    models = []
    for place, order in enumerate(("abcdefgh", "baedchgf")):  # sorted by frequency within the three groups
        text = " ".join(word for rank, word in enumerate(order) for _ in range(20 - rank))
        (tmp_path / f"{place}.txt").write_text(text)
        start = f"training.start_from={tmp_path / 'run0'}" if place else "training.seed=1"
        data = {"train": str(tmp_path / f"{place}.txt"), "dev": str(tmp_path / f"{place}.txt")}
        models.append(
            regard.fit(
                {**spec, "data": data},
                run=tmp_path / f"run{place}",
                overrides=[start],
                device="cpu",
                quiet=True,
            )
        )
    assert models[0].columns["text"].units() != models[1].columns["text"].units()
    asked = "a b c d e f g h b a"
    one, two = ([cost for _, cost in model.surprise(asked)] for model in models)
    assert two == pytest.approx(one, rel=1e-4)


@pytest.mark.parametrize(
    "name",
    ["dialog-memory", "dialog", "facts-structured", "image-qa-attention", "headline", "lm-window", "parser-crf",
     "summary-hierarchical", "tagger-crf", "tree-transduction", "nli-words", "speech"],
)  # fmt: skip
def test_every_axis_that_grows_with_a_vocabulary_is_explained(name: str) -> None:
    spec = zoo.find(name)
    columns = fitted_to_nothing(spec)
    kinds = [
        (one, kind)
        for one, column in columns.items()
        if one not in shared_with(spec) and one not in spec.truth
        for kind in column.units()
    ]
    found = unit_axes(spec, columns, kinds)
    assert kinds and found.names and not found.unknown
