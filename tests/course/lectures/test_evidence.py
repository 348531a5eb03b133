"""What counts as evidence of a training, and what does not."""

from __future__ import annotations

import json
from collections.abc import Iterable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from regard import zoo
from regard.course.lectures import decks, evidence, examine
from regard.course.lectures.checks import OrderCheck, TrainedCheck
from regard.course.lectures.reference import pages

from .own_entries import Command, entry

RECIPES = Path(__file__).parents[3] / "recipes"
TRAINED = {"trained": "translation", "score": "test.bleu", "of": "BLEU", "at_least": 95}


def test_stored_results_are_evidence_and_nothing_else_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A result that is missing, was changed, or is of another spec is unknown, and no pass."""
    found = examine(entry(checks=[TRAINED]))
    assert found.state == "trained" and "3 seeds" in found.findings[0].found
    stored = [json.loads(path.read_text()) for path in evidence.FOLDER.glob("translation-seed-*.json")]
    mean = sum(one["scores"]["test"]["bleu"]["value"] for one in stored) / 3
    assert found.findings[0].found.startswith(f"{mean:.2f}")
    for check in ({"trained": "invented"}, {"score": "test.invented"}, {"trained": "translation --seed 9"}):
        planted = examine(entry(checks=[{**TRAINED, **check, "at_least": 0}]))
        assert planted.state == "unknown" and not planted.answered
    path = tmp_path / "planted.json"
    for change, told in (({}, ""), ({"seconds": 1}, "changed"), ({"spec": "another"}, "another spec")):
        content = {**stored[0], **change}
        if "spec" in change:
            content["seal"] = evidence.sealed(content)
        path.write_text(json.dumps(content))
        monkeypatch.setattr(evidence, "FOLDER", tmp_path)
        evidence._stored.cache_clear()
        found = examine(entry(checks=[TRAINED]))
        assert (
            (found.state == "unknown" and told in found.findings[0].found)
            if told
            else found.state == "trained"
        )
    evidence._stored.cache_clear()


def test_a_result_of_a_changed_recipe_is_no_evidence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Comments may change; settings may not. A wheel has no recipes to compare."""
    words = "recipes/enja-word.yaml --set attention.select=softmax --seed 1"
    recipe = tmp_path / "recipes" / "enja-word.yaml"
    recipe.parent.mkdir()
    text = (RECIPES / recipe.name).read_text(encoding="utf-8")
    (tmp_path / "pyproject.toml").touch()
    monkeypatch.setattr(evidence, "ROOT", tmp_path)

    def counts() -> bool:
        evidence._today.cache_clear()
        try:
            return bool(evidence.evidence_for(words))
        except evidence.NoEvidence as error:
            assert "another spec" in str(error)
            return False

    for written, same in ((f"# a remark\n{text}", True), (text.replace("lr: 1.0e-3", "lr: 2.0e-3"), False)):
        assert written != text
        recipe.write_text(written, encoding="utf-8")
        assert counts() == same
    recipe.unlink()
    assert not counts()
    (tmp_path / "pyproject.toml").unlink()
    assert counts()
    evidence._today.cache_clear()


def test_stored_answers_are_evidence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    content = {
        "command": "regard train no-zoo.yaml",
        "commit": "0" * 40,
        "machine": {"device": "cpu"},
        "spec": "",
    }
    content["answers"] = {"print(3).": "3.", "print(4).": "5."}
    (tmp_path / "one.json").write_text(json.dumps({**content, "seal": evidence.sealed(content)}))
    monkeypatch.setattr(evidence, "FOLDER", tmp_path)
    asked = {"trained": "no-zoo.yaml", "answers": ["print(3).", "print(4)."], "of": "answers"}
    assert examine(entry(checks=[{**asked, "expected": ["3.", "5."]}])).state == "trained"
    assert examine(entry(checks=[{**asked, "expected": ["3.", "4."]}])).state == "fail"
    assert examine(entry(checks=[{**asked, "answers": ["print(5)."], "expected": ["5."]}])).state == "unknown"
    with pytest.raises(ValueError, match="either score or answers"):
        entry(checks=[{**asked, "score": "test.bleu", "expected": ["3."]}])


def stored(folder: Path, name: str, *values: float) -> None:
    """Results of one training, a seed for each value; the score `top` is one more than `test`."""
    for seed, value in enumerate(values, 1):
        content = {
            "command": f"regard train {name} --seed {seed}",
            "commit": "0" * 40,
            "machine": {"device": "cpu"},
            "spec": "",
            "scores": {"test": {"f": {"value": value}}, "top": {"f": {"value": value + 1}}},
        }
        path = folder / f"{name}-{seed}.json"
        path.write_text(json.dumps({**content, "seal": evidence.sealed(content)}))


def test_an_order_of_trainings_is_checked_as_an_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, regard: Command
) -> None:
    monkeypatch.setattr(evidence, "FOLDER", tmp_path)
    stored(tmp_path, "low.yaml", 1.0, 2.0)
    stored(tmp_path, "middle.yaml", 1.5, 3.5)
    stored(tmp_path, "high.yaml", 6.0)

    def state(*names: str, score: Any = "test.f", **more: Any) -> str:
        return examine(entry(checks=[{"order": names, "score": score, "of": "f", **more}])).state

    three = ("low.yaml", "middle.yaml", "high.yaml")
    assert state(*three) == state(*three, apart=1) == "trained"
    assert state(*three, apart=1.1) == state(*three, every=True) == state(*reversed(three)) == "fail"
    assert state("low.yaml", "low.yaml") == "fail"  # level is no order
    assert state("middle.yaml", "high.yaml", every=True) == "trained"
    assert state("low.yaml", "none.yaml") == "unknown"
    assert state("low.yaml", score=("test.f", "top.f"), apart=1) == "trained"
    assert state("low.yaml", score=("top.f", "test.f")) == "fail"
    for given, score in ((("low.yaml",), "test.f"), (("low.yaml", "high.yaml"), ("test.f", "top.f"))):
        with pytest.raises(ValueError, match="several trainings and one score"):
            state(*given, score=score)
    found = examine(entry(checks=[{"order": three, "score": "test.f", "of": "f"}])).findings[0]
    assert found.found.startswith(
        "1.5 (1 to 2, 2 seeds) < 2.5 (1.5 to 3.5, 2 seeds) < 6 (one seed) (test.f of"
    )
    evidence._stored.cache_clear()


def test_what_does_not_show_is_no_pass(regard: Command) -> None:
    one = {"checks": [{"python": "1", "expected": 1}], "unshown": "It is level here."}
    assert examine(entry(**one)).state == "unshown" and not examine(entry(**one)).answered
    assert examine(entry(**{**one, "checks": [{"python": "1", "expected": 2}]})).state == "fail"
    code, out, _ = regard("lecture", "002.38")
    assert code == 0 and "not shown" in out and "Not shown: Structured attention is not ahead" in out
    assert "**Not shown.** Structured attention" in pages()["002.md"]
    code, out, _ = regard("lecture", "002.38", "000.41", "--check")
    assert code == 0 and "1 of 2 entries answered (1 computed, 1 not shown)" in out


def test_an_unknown_figure_hides_no_failure() -> None:
    unknown = {**TRAINED, "trained": "invented"}
    assert examine(entry(checks=[unknown, {"python": "1", "expected": 2}])).state == "fail"
    assert examine(entry(checks=[unknown, {"python": "1", "expected": 1}])).state == "unknown"


def test_every_stored_result_is_sound() -> None:
    found = sorted(evidence.FOLDER.glob("*.json"))
    assert len(found) >= 75
    for path in found:
        content = json.loads(path.read_text(encoding="utf-8"))
        assert content["seal"] == evidence.sealed(content), path.name
        assert content["machine"]["processor"] and len(content["commit"]) == 40, path.name
        assert len(content["spec"]) == 64, path.name
        assert evidence.evidence_for(content["command"].removeprefix("regard train ")), path.name


def sizes(figures: Iterable[TrainedCheck]) -> dict[tuple[str, str], set[int]]:
    """How many rows or tokens each score is of, by the data and the score."""
    found: dict[tuple[str, str], set[int]] = {}
    for one in figures:
        split, _, metric = one.score.partition(".")
        (name, *words), _ = evidence.split_words(one.trained)
        changes = [value for option, value in pairwise(words) if option == "--set"]
        spec = str(RECIPES.parent / name) if name.startswith("recipes/") else name
        data = json.dumps(zoo.find(spec, changes).written()["data"], sort_keys=True)
        for result in evidence.evidence_for(one.trained) if metric and not split.startswith("by") else ():
            found.setdefault((data, one.score), set()).add(result.content["scores"][split][metric]["n"])
    return found


def test_figures_that_an_entry_compares_are_of_the_same_rows() -> None:
    """The documentation of Python, for one, is another text in each version of Python."""
    compared = 0
    for deck in decks():
        for stated in deck.entries:
            orders = [one for one in stated.checks if isinstance(one, OrderCheck)]
            trained = [one for one in stated.checks if isinstance(one, TrainedCheck)]
            ordered = [figure for one in orders for figure in one.figures]
            found = sizes([*trained, *ordered])
            assert all(len(many) == 1 for many in found.values()), (deck.deck, stated.number, found)
            for one in orders:
                if isinstance(one.score, str):
                    rows = set().union(*sizes(one.figures).values())
                    assert len(rows) <= 1, (deck.deck, stated.number, one.order, rows)
                    compared += len(rows)
    assert compared >= 20
