"""Constraints: their tables accept what Python's own means accept, and every search obeys them alike."""

from __future__ import annotations

import re
from itertools import product
from typing import Any

import pytest
import torch

from regard import RegardError
from regard.data.columns.vocabulary import Characters, Unit, Words
from regard.fast.paths.beam_cpu import searched
from regard.fast.paths.greedy_cpu import written
from regard.fast.paths.recorded_beam import beam_in_chunks
from regard.fast.paths.recorded_tokens import written_in_chunks
from regard.nn import OutputSpelling, without_fast_paths
from regard.nn.constraints.table import ConstraintTable, tabulated
from regard.nn.search import Beam, Limits, Sample
from regard.nn.search.constrained import Constrained
from regard.nn.search.greedy import MostProbable
from regard.nn.search.token_by_token import token_by_token
from regard.parts import find

from .conftest import VOCABULARY
from .test_recorded_search import same, stepper_of


def table_of(unit: Unit, pieces: list[str], name: str, steps: int = 4, **options: Any) -> ConstraintTable:
    part = find("constraint", name)
    constraint = part.make(part.Options(**options))
    automata = constraint.automata(OutputSpelling())
    size = len(pieces) + 4
    return tabulated(
        automata,
        [constraint.banked] * len(automata),
        unit.writing(pieces),
        range(4, size),
        size=size,
        end=3,
        steps=steps,
    )


UNITS: dict[str, tuple[Unit, list[str]]] = {
    "words": (Words(), ["a", "b", "ab", "(b)", "1"]),
    "punctuation": (Words(punctuation=True), ["a", "b", "￭,", "(￭", "￭)"]),
    "capitals": (Words(marked=True), ["⇧", "⇪", "a", "ab"]),
    "characters": (Characters(), ["a", "b", " ", "1"]),
}
PATTERN = r"(a|b)* ?a( \d+)?|[ab ,]+1|(?:A\w,? )?[^ab]"
CASES: list[tuple[str, dict[str, Any], Any]] = [
    ("regex", {"pattern": PATTERN}, lambda text: re.fullmatch(PATTERN, text)),
    ("regex", {"pattern": "(a|b)*\\ "}, lambda text: re.fullmatch("(a|b)* ", text)),
    ("regex", {"pattern": "a{1,2}.?b*"}, lambda text: re.fullmatch("a{1,2}.?b*", text)),
    (
        "must",
        {"phrases": ["a", "b"]},
        lambda text: all(re.search(rf"(?<![a-zA-Z0-9]){one}(?![a-zA-Z0-9])", text) for one in "ab"),
    ),
    ("must", {"phrases": "a b", "whole": False}, lambda text: "a b" in text),
    (
        "never",
        {"phrases": ["ab", ", a"], "whole": False},
        lambda text: "ab" not in text and ", a" not in text,
    ),
    ("prefix", {"text": "a (b"}, lambda text: text.startswith("a (b")),
    ("prefix", {"text": "A"}, lambda text: text.startswith("A")),
    ("answers", {"answers": ["a b", "ab", "(a)", ""]}, lambda text: text in ("a b", "ab", "(a)", "")),
    (
        "grammar",
        {"rules": 'pair: "a" pair "b" | "1" | " "  # nested\nunused: "b"'},
        lambda text: re.fullmatch("1| |a[1 ]b|aa[1 ]bb|aaa[1 ]bbb", text),
    ),
    (
        "grammar",
        {"rules": "list: /[ab]/ rest?\nrest: ' ' list", "depth": 1},
        lambda text: re.fullmatch("[ab]( [ab])*", text),
    ),
]


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("case", range(len(CASES)))
def test_a_table_accepts_the_texts_that_obey(unit: str, case: int) -> None:
    """Of all outputs of up to four units, and it knows how far each is from an end."""
    cutter, pieces = UNITS[unit]
    name, options, truth = CASES[case]
    table = table_of(cutter, pieces, name, **options)
    obeying = set()
    states = {(): 0}
    for length in range(5):
        for units in product(range(len(pieces)), repeat=length):
            if units:
                before = torch.tensor(states[units[:-1]])
                states[units] = int(table.follow(before, torch.tensor(units[-1] + 4)))
            if truth(cutter.join([pieces[one] for one in units])):
                obeying.add(units)
    for units, state in states.items():
        left = [len(one) - len(units) for one in obeying if one[: len(units)] == units]
        needed = int(table.needed[state])
        assert needed == min(left) if left else needed > 4 - len(units)


def test_a_large_table_is_kept_as_pairs(monkeypatch: pytest.MonkeyPatch) -> None:
    pieces = ["a", "b", "c"]
    whole = table_of(Words(), pieces, "regex", pattern="a( b)*( c)?")
    monkeypatch.setattr("regard.nn.constraints.table.LARGEST", 1)
    pairs = table_of(Words(), pieces, "regex", pattern="a( b)*( c)?")
    states = torch.arange(len(whole.needed)).view(-1, 1)
    assert whole.after is not None and pairs.after is None
    assert torch.equal(pairs.rows(states), whole.rows(states))


LETTERS = [chr(97 + number) for number in range(VOCABULARY - 4)]
BOUND = {
    "never": {"phrases": ["a", "b"]},
    "regex": {"pattern": "([a-c] )*d( [e-g])?"},
    "must": {"phrases": ["a", "d e"]},
}


@pytest.mark.parametrize("name", BOUND)
@pytest.mark.parametrize("kind", ["gru", "transformer"])
@pytest.mark.parametrize("limits", [Limits(), Limits(maximum=5)], ids=["free", "short"])
def test_faster_searches_obey_as_single_steps_do(name: str, kind: str, limits: Limits) -> None:
    plain = stepper_of(kind)
    bounds = limits.of(plain)
    bound = Constrained(plain, table_of(Words(), LETTERS, name, 48, **BOUND[name]), bounds.last)
    beam, sample = Beam(size=3, best=2, limits=limits), Sample(samples=2, seed=1, limits=limits)
    with torch.inference_mode():
        greedy = token_by_token(bound, MostProbable(), steps=bounds.steps, bounds=bounds)
        with without_fast_paths():
            several = beam.step_by_step(bound, bounds)
        drawn = sample._drawn(8)
        samples = token_by_token(bound, drawn, steps=bounds.steps, bounds=bounds, hypotheses=2)
        same(written_in_chunks(bound, MostProbable(), bounds), greedy)
        same(beam_in_chunks(beam, bound, bounds), several)
        same(written_in_chunks(bound, sample._drawn(8), bounds, 2), samples)
        if kind == "gru":
            same(written(bound, bounds), greedy)
            same(searched(beam, bound, bounds), several)
    for found in (greedy, several, samples):
        bound.check(found, "the search")
        for row, rank in product(*map(range, found.lengths.shape)):
            if found.lengths[row, rank]:
                text = " ".join(LETTERS[one - 4] for one in found.content(row, rank) if one >= 4)
                assert obeys(name, text), text


def obeys(name: str, text: str) -> bool:
    if name == "never":
        return not {"a", "b"} & set(text.split())
    if name == "must":
        return "a" in text.split() and "d e" in text
    return re.fullmatch(BOUND["regex"]["pattern"], text) is not None


def test_a_search_that_does_not_obey_is_found_out() -> None:
    plain = stepper_of("gru")
    bounds = Limits(maximum=6).of(plain)
    bound = Constrained(plain, table_of(Words(), LETTERS, "regex", 16, pattern="a b"), bounds.last)
    with torch.inference_mode():
        found = token_by_token(plain, MostProbable(), steps=bounds.steps, bounds=bounds)
    with pytest.raises(RegardError, match="does not obey the constraint"):
        bound.check(found, "greedy search")


@pytest.mark.parametrize(
    ("name", "options", "told"),
    [
        ("regex", {"pattern": "(a"}, "a ( is not closed"),
        ("regex", {"pattern": "^a$"}, "'^' is not needed"),
        ("regex", {"pattern": r"(a)\1"}, "References back"),
        ("regex", {"pattern": "a{3,2}"}, "are not possible"),
        ("grammar", {"rules": 's: s "a"'}, "begins with itself"),
        ("grammar", {"rules": "s: t"}, "there is no such rule"),
        ("grammar", {"rules": "s = t"}, "expected a rule"),
        ("grammar", {"rules": 's: "a'}, "is not closed"),
    ],
)
def test_a_mistake_in_an_expression_is_told(name: str, options: dict[str, Any], told: str) -> None:
    part = find("constraint", name)
    assert told in part.refused(part.Options(**options))
