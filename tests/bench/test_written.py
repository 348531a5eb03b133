"""The scripts of bench/ replace the files they wrote themselves, but not the user's files."""

from __future__ import annotations

import json
import runpy
import sys
from pathlib import Path

import pytest

BENCH = Path(__file__).parents[2] / "bench"
MINE = "my own work\n"
SCRIPTS = sorted(path.name for path in BENCH.glob("*.py") if "= parse(parser" in path.read_text("utf-8"))
GIVEN = {
    "alignments.py": ["data"],
    "babi.py": ["data"],
    "ctc_alignment.py": ["ctc", "attention"],
    "edits.py": ["run"],
    "entailment.py": ["sick"],
    "faithful_ferret.py": ["run"],
    "faithful_seeds.py": ["compare", "measured"],
    "joined_digits.py": ["recordings", "joined"],
    "mistakes.py": ["run"],
    "pretrained_real.py": ["data"],
    "pretrained_tasks.py": ["data"],
    "realization.py": ["data"],
    "report.py": ["run"],
    "serve.py": ["run"],
    "start.py": ["run"],
    "updates.py": ["--data", "."],
    "vectors.py": ["data"],
    "why.py": ["run"],
}


@pytest.fixture(autouse=True)
def found(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.syspath_prepend(BENCH)
    monkeypatch.chdir(tmp_path)


def run(script: str, *arguments: str) -> int:
    """Run a script like `python bench/SCRIPT`; return its exit status."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", [script, *GIVEN.get(script, []), *arguments])
        patch.setattr(sys, "path", list(sys.path))
        try:
            runpy.run_path(str(BENCH / script), run_name="__main__")
        except SystemExit as ended:
            return int(ended.code or 0)
    return 0


def test_every_script_with_figures_has_the_rule() -> None:
    naming = {path.name for path in BENCH.glob("*.py") if '"--json"' in path.read_text("utf-8")}
    assert naming == {"written.py", "beside.py"} and len(SCRIPTS) > 10


@pytest.mark.parametrize("script", SCRIPTS)
def test_a_file_of_the_user_stays(script: str, capsys: pytest.CaptureFixture[str]) -> None:
    file = Path("mine.json")
    file.write_text(MINE)
    assert run(script, "--json", "mine.json") == 2
    said = capsys.readouterr()
    assert "--json mine.json: there is a file of this name" in said.err and "--overwrite" in said.err
    assert not said.out and file.read_text() == MINE  # nothing was measured


def test_its_own_file_is_replaced_until_somebody_changes_it(capsys: pytest.CaptureFixture[str]) -> None:
    quick, file = ["--device", "cpu", "--no-table", "--json", "found.json"], Path("found.json")
    file.write_text(MINE)
    assert run("structures.py", *quick, "--overwrite") == 0
    assert json.loads(file.read_text())["device"]
    assert run("structures.py", *quick) == 0  # now it is the script's own file
    with file.open("a") as stream:
        stream.write(MINE)
    changed = file.read_text()
    assert run("structures.py", *quick) == 2
    assert "was changed since" in capsys.readouterr().err and file.read_text() == changed


@pytest.mark.parametrize(("script", "option"), [("alignments.py", "--write"), ("copy_vector.py", "--figure")])
def test_other_files_have_the_rule_too(script: str, option: str) -> None:
    Path("mine.svg").write_text(MINE)
    assert run(script, option, "mine.svg") == 2
    assert Path("mine.svg").read_text() == MINE


def test_titles_are_not_split_into_files_of_the_user(capsys: pytest.CaptureFixture[str]) -> None:
    Path("dev.jsonl").write_text(MINE)
    assert run("ag_titles.py", "split", ".") == 2
    assert "dev.jsonl: there is a file" in capsys.readouterr().err and Path("dev.jsonl").read_text() == MINE


@pytest.mark.parametrize("script", ["characters.py", "text_cpu.py"])
def test_measuring_beside_another_toolkit_has_the_rule_too(
    script: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("mine.json").write_text(MINE)
    assert run(script, "--peer-python", "none", "--json", "mine.json") == 2
    assert "there is a file of this name" in capsys.readouterr().err
    assert Path("mine.json").read_text() == MINE
