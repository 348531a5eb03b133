"""The files of a logger belong to the run: an overwritten run loses them, a new one keeps every row."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

import regard
from regard import RegardError
from regard.parts import registry
from regard.training import Logger

ROWS = [(f"word {n}", "yes" if n % 2 else "no") for n in range(30)]


@pytest.fixture(autouse=True)
def registered() -> Iterator[None]:
    @regard.register("logger", "test-figures")
    class Figures(Logger):
        """Appends each step to a file, by its path."""

        files = ("figures.csv", "figures/deep/part-*.txt")

        def write(self, values: Mapping[str, float | int]) -> None:
            with (self.run / "figures.csv").open("a") as file:
                file.write(f"{values['step']}\n")
            (self.run / "figures" / "deep").mkdir(parents=True, exist_ok=True)
            (self.run / "figures" / "deep" / f"part-{values['step']}.txt").write_text("x")

    yield
    registry.PARTS["logger"].pop("test-figures")


def train(
    run: Path, steps: int, *, overwrite: bool = False, loggers: tuple[str, ...] = ("test-figures",)
) -> None:
    regard.fit(
        ROWS, dev=ROWS[:4], run=run, overwrite=overwrite, device="cpu", quiet=True, encoder={"size": 4},
        training={"steps": steps, "evaluate_every": 2, "loggers": list(loggers)},
    )  # fmt: skip


def logged(run: Path) -> list[str]:
    return (run / "figures.csv").read_text().split()


def test_an_overwritten_run_keeps_every_row_and_none_of_the_old(tmp_path: Path) -> None:
    run = tmp_path / "run"
    train(run, 6)
    with (run / "log.csv").open() as file:
        steps = [row["step"] for row in csv.DictReader(file)]
    assert logged(run) == steps and len(steps) >= 3
    (run / "mine.txt").write_text("mine")
    (run / "figures" / "deep" / "mine.txt").write_text("mine")
    train(run, 4, overwrite=True)
    assert logged(run) == [step for step in steps if int(step) <= 4]
    assert not (run / "figures" / "deep" / "part-6.txt").exists()
    assert (run / "mine.txt").read_text() == (run / "figures" / "deep" / "mine.txt").read_text() == "mine"
    assert not (run / ".regard-next").exists()
    train(run, 2, overwrite=True, loggers=())
    assert not (run / "figures.csv").exists()
    assert [path.name for path in (run / "figures").rglob("*") if path.is_file()] == ["mine.txt"]


def test_a_file_of_the_users_with_this_name_is_refused(tmp_path: Path) -> None:
    run = tmp_path / "run"
    train(run, 2, loggers=())
    (run / "figures.csv").write_text("mine")
    with pytest.raises(RegardError, match=r"figures\.csv: this file exists and regard did not write it"):
        train(run, 2, overwrite=True)
    assert (run / "figures.csv").read_text() == "mine"


def test_a_manifest_from_elsewhere_claims_no_other_file(tmp_path: Path) -> None:
    run = tmp_path / "run"
    train(run, 2)
    listed = json.loads((run / "manifest.json").read_text())
    listed["files"] += ["notes.md", "../outside.txt", "figures/deep/part-1/../../../notes.md"]
    (run / "manifest.json").write_text(json.dumps(listed))
    (run / "notes.md").write_text("mine")
    (tmp_path / "outside.txt").write_text("mine")
    train(run, 2, overwrite=True)
    assert (run / "notes.md").read_text() == (tmp_path / "outside.txt").read_text() == "mine"


@pytest.mark.parametrize("entry", ["/etc/passwd", "../figures.csv", "*", "*.csv", ".hidden", "*/a.csv"])
def test_a_name_that_could_be_another_file_is_refused(entry: str) -> None:
    made = type(
        "Wrong", (Logger,), {"files": (entry,), "write": lambda self, values: None, "__module__": "elsewhere"}
    )
    with pytest.raises(RegardError, match=r"elsewhere\.Wrong. has .* in files, expected the name of a file"):
        regard.register("logger", "wrong")(made)
