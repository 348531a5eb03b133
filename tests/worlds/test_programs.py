"""Programs and additions: their targets are what Python prints."""

from __future__ import annotations

import io
from collections import Counter
from contextlib import redirect_stdout
from typing import Any

import pytest

from regard.errors import RegardError
from regard.worlds import world
from tests.worlds.lecture_programs import PROGRAMS


def printed(program: str) -> list[str]:
    out = io.StringIO()
    with redirect_stdout(out):
        exec(program, {})
    return out.getvalue().splitlines()


def made(name: str, **options: Any) -> dict[str, list[Any]]:
    return world(name, **{"train": 600, "dev": 60, "test": 60, "levels": 120} | options).splits()


@pytest.mark.parametrize(("length", "nesting"), [(1, 1), (2, 3), (4, 2), (9, 6)])
def test_python_prints_the_target(length: int, nesting: int) -> None:
    for rows in made("programs", length=length, nesting=nesting, seed=length).values():
        for row in rows:
            assert row["program"].endswith(").")
            assert printed(row["program"][:-1]) == [row["result"].removesuffix(".")]
            numbers = "".join(sign if sign.isdigit() else " " for sign in row["program"]).split()
            assert max(map(len, numbers)) <= max(int(row["length"]), len(str(4 * int(row["length"]))))


def test_every_kind_of_operation_occurs_and_nesting_counts_them() -> None:
    rows = made("programs", length=3, nesting=3, mixed=False)["train"]
    text = "\n".join(row["program"] for row in rows)
    assert all(sign in text for sign in ("+", "-", "*", "<", ">", " if ", "for x in range(", "+=", "-="))
    for row in rows:
        program = row["program"]
        lines = program.split("\n")
        loops = sum(line.startswith("for") for line in lines)
        variables = len(lines) - 1 - 2 * loops
        assert (
            program.count("(") - loops - 1 + loops + variables == 3
        )  # every other operation has parentheses


def test_additions() -> None:
    for rows in made("addition", digits=6, seed=3).values():
        for row in rows:
            first, second = row["program"].removeprefix("print(").removesuffix(").").split("+")
            assert {len(first), len(second)} == {int(row["length"])}
            assert row["result"] == f"{int(first) + int(second)}."


@pytest.mark.parametrize(("name", "options"), [("programs", {"length": 2, "nesting": 2}), ("addition", {})])
def test_splits_are_apart_and_of_their_levels(name: str, options: dict[str, int]) -> None:
    splits, again = made(name, **options), made(name, **options, train=10)
    kept = [row["program"] for split in ("dev", "test", "levels") for row in splits[split]]
    assert len(set(kept)) == len(kept) and not {row["program"] for row in splits["train"]} & set(kept)
    assert splits["test"] == again["test"]

    def levels(split: str) -> Counter[tuple[str, ...]]:
        return Counter(
            tuple(row[field] for field in ("length", "nesting") if field in row) for row in splits[split]
        )

    assert (
        len(levels("dev")) == len(levels("test")) == 1 and len(levels("levels")) == len(levels("train")) == 4
    )
    assert len(set(levels("train").values())) == 1
    alone = {row["length"] for row in made(name, **options, mixed=False)["train"]}
    assert alone == {row["length"] for row in splits["dev"]}


def test_scrambled_programs_are_the_same_under_one_permutation() -> None:
    plain, scrambled = (made("programs", scramble=scramble, train=0)["test"] for scramble in (False, True))
    # The rows differ, because the content of a row decides its split. Derive the permutation from "print(",
    # which begins the last line of every program.
    first = {row["program"].split("\n")[-1][:6] for row in scrambled}
    assert {row["program"].split("\n")[-1][:6] for row in plain} == {"print("} and len(first) == 1
    code = dict(zip("print(", first.pop(), strict=True))
    assert len(set(code.values())) == 6 and all(row["program"][-2:][0] != ")" for row in scrambled)
    dot = {row["result"][-1] for row in scrambled}
    assert len(dot) == 1 and dot == {row["program"][-1] for row in scrambled} and dot != {"."}


def test_too_few_rows_to_measure_on() -> None:
    with pytest.raises(RegardError, match="too few different rows to measure on"):
        world("addition", digits=1).splits()


@pytest.mark.parametrize("program", PROGRAMS)
def test_the_programs_of_the_lecture(program: str) -> None:
    assert printed(program) == PROGRAMS[program]
