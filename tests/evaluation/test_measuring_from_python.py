"""model.evaluate on files, splits and ensembles: the same figures as counting by hand."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import pytest

import regard
from regard import Model, RegardError

WORDS = ["".join(letters) for length in (2, 3, 4, 5) for letters in product("ab", repeat=length)]
OVERRIDES = [
    "encoder.size=8", "encoder.embedding=8", "decoder.size=8", "decoder.embedding=8",
    "training.epochs=2", "data.hold_out=0.2", "search.max_length=8", "metrics=[exact, per]",
]  # fmt: skip


def file_of(path: Path, words: list[str]) -> Path:
    lines = [f"{word}\t{' '.join(word.upper())}" for word in words]
    path.write_text("source\ttarget\n" + "\n".join(lines) + "\n", encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> list[Model]:
    folder = tmp_path_factory.mktemp("measuring")
    train = file_of(folder / "train.tsv", WORDS)
    return [
        regard.fit(
            train, run=folder / f"run{seed}", overrides=[*OVERRIDES, f"training.seed={seed}"], device="cpu", quiet=True
        )
        for seed in (1, 2)
    ]  # fmt: skip


def test_a_file_is_measured_as_one_counts_by_hand(models: list[Model], tmp_path: Path) -> None:
    words = ["aba", "bb", "abba"]
    found = models[0].evaluate(data=file_of(tmp_path / "new.tsv", words))
    answers = models[0].predict(words)
    right = sum(answer.text == " ".join(word.upper()) for answer, word in zip(answers, words, strict=True))
    assert set(found.scores) == {"exact", "per"}
    assert found.scores["exact"].value == pytest.approx(right / len(words))
    assert found.predictions["target"] == [answer.text for answer in answers]
    assert repr(found).splitlines()[0] == "Evaluation of 3 rows" and "\n  exact " in repr(found)


def test_an_ensemble_is_measured_by_what_it_answers_together(models: list[Model], tmp_path: Path) -> None:
    words = ["aba", "bb", "abba"]
    path = file_of(tmp_path / "new.tsv", words)
    together = models[0].evaluate(data=path, metrics=["exact"], ensemble=[models[1]])
    answers = models[0].predict(words, ensemble=[models[1]])
    assert together.predictions["target"] == [answer.text for answer in answers]
    assert set(together.scores) == {"exact"}


def test_a_split_of_its_own_data_and_one_that_is_not_there(models: list[Model]) -> None:
    assert len(models[0].evaluate("dev").inputs) + len(models[0].evaluate("train").inputs) == len(WORDS)
    with pytest.raises(RegardError, match="no 'tset'") as refused:
        models[0].evaluate("tset")
    assert "train, dev" in str(refused.value)
