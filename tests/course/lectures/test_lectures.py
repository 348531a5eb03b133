"""The lecture companion: entries are checked data, their computations pass, wrong ones fail, commands exist.

`regard lecture --check` runs everything; these tests run a sample and all errata.
"""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path
from typing import Any

import pytest
import typer.main
import yaml

from regard import zoo
from regard.cli.main import app
from regard.course import lectures
from regard.course.lectures import evidence, examine
from regard.course.lectures.catalog import FOLDER, drawing, read
from regard.course.lectures.drawing import drawn, has_figure
from regard.course.lectures.reference import pages
from regard.course.lectures.session import SessionCommand, session
from regard.errors import RegardError
from regard.parts import names
from regard.structures.kernels import available, plainly

from .own_entries import Command, entry

DOCS = Path(__file__).parents[3] / "docs"
RECIPES = Path(__file__).parents[3] / "recipes"
COUNTS = {"000": 68, "001": 10, "002": 53, "003": 74, "004": 49}
ALL = [f"{deck.deck}.{entry.number}" for deck in lectures.decks() for entry in deck.entries]
ERRATA = [name for name in ALL if lectures.entry(name).errata]
COLUMNS = 120
"""Width of the terminal."""


def test_everything_the_lectures_show_has_an_entry() -> None:
    assert {deck.deck: len(deck.entries) for deck in lectures.decks()} == COUNTS
    assert sum(COUNTS.values()) == 254


def test_nearly_all_of_it_is_answered() -> None:
    nothing = [name for name in ALL if lectures.entry(name).nothing]
    assert len(nothing) == 6


@pytest.mark.parametrize("name", ERRATA)
def test_an_erratum_fails_as_printed_and_passes_corrected(name: str) -> None:
    source = lectures.entry(name)
    found = examine(source.model_copy(update={"checks": (), "unshown": ""}))
    assert found.state == "computed", found
    assert [one.role for one in found.findings] == ["as printed", "corrected"] * len(source.errata)
    for one in source.errata:
        swapped = one.model_copy(update={"printed": one.corrected, "corrected": one.printed})
        assert examine(entry(errata=[swapped])).state == "fail"


SLOW = {
    "000": (
        *(1, 3, 6, 7, 8, 10, 11, 12, 13, 16, 18, 19, 20, 21),
        *(22, 24, 25, 26, 34, 35, 37, 38, 39, 45, 47, 51, 63, 65),
    ),
    "001": (8,),
    "002": (14, 16, 18, 27, 34, 44),
    "003": (13, 26, 28, 41, 46, 50, 53, 56, 62, 63, 67, 68, 70, 73, 74),
    "004": (
        *(9, 12, 13, 15, 16, 17, 18, 19, 20, 21, 23, 24, 25),
        *(26, 27, 28, 33, 34, 35, 36, 37, 38, 39, 42, 43, 46, 47),
    ),
}
"""What takes half a second or more; `regard lecture --check` runs these too."""


def test_quick_entries_hold() -> None:
    """All of them, each with its checks; none fails, and nearly all are computed now or have a stored result."""
    slow = {f"{deck}.{number}" for deck, numbers in SLOW.items() for number in numbers}
    quick = [name for name in ALL if name not in slow and not lectures.entry(name).like]
    found = {name: examine(lectures.entry(name)) for name in quick}
    assert not {name: one.findings for name, one in found.items() if one.state == "fail"}
    states = [one.state for one in found.values()]
    assert len(quick) >= 150 and states.count("computed") >= 100
    assert states.count("board") <= 2


@pytest.mark.parametrize(
    ("check", "state"),
    [
        ({"lab": "jacobian", "number": ["linear", "1.1", 1], "expected": 1.1}, "computed"),
        ({"lab": "jacobian", "number": ["linear", "1.1", 1], "expected": 1.2}, "fail"),
        ({"lab": "jacobian", "number": ["linear", "1.1", 1], "truth": "11 / 10"}, "computed"),
        ({"lab": "jacobian", "row": "no such row", "column": 1, "expected": 1}, "fail"),
        ({"python": "[1, 2]", "expected": [1, 2]}, "computed"),
        ({"python": "[1, 2]", "expected": [1, 2, 3]}, "fail"),
        ({"python": "1 + 1e-7", "expected": 1}, "fail"),
        ({"python": "1 + 1e-7", "expected": 1, "within": 1e-6}, "computed"),
        ({"python": "True", "expected": 1}, "fail"),
        ({"python": "float('nan')", "at_least": 0}, "fail"),
        ({"python": "x = 2\nx * 3", "at_least": 6, "at_most": 6}, "computed"),
        ({"python": "1 / 0", "expected": 0}, "fail"),
        ({"python": "np.zeros((2, 1))", "expected": [[0], [0]]}, "computed"),
        ({"describe": "translation", "shows": ["c_t = Σ_j α_tj h_j"]}, "board"),
        ({"describe": "translation", "shows": ["c_t = Σ_j α_tj h_t"]}, "fail"),
        ({"zoo": ["translation"]}, "board"),
        ({"zoo": ["translation", "nowhere"]}, "fail"),
    ],
)  # fmt: skip
def test_checks_pass_and_fail(check: dict[str, Any], state: str) -> None:
    assert examine(entry(checks=[check])).state == state


def test_a_truth_knows_nothing_of_regard() -> None:
    found = examine(entry(checks=[{"python": "1", "truth": "math.cos(0)"}]))
    assert found.state == "computed"
    for other in ("regard.zoo", "__import__('os').getcwd()", "open('x')", "(lambda: 1)()", "math.cos"):
        with pytest.raises(ValueError, match="is no arithmetic"):
            examine(entry(checks=[{"python": "1", "truth": other}]))


def test_pages_are_up_to_date() -> None:
    """Run `python -m regard.course.lectures.reference docs` to update them."""
    for name, text in pages().items():
        assert (DOCS / "lectures" / name).read_text(encoding="utf-8") == text, name


def test_links_of_the_pages_lead_somewhere() -> None:
    found = pages()
    for name, text in found.items():
        for target, place in re.findall(r"\]\(([^)#]*)(?:#([^)]*))?\)", text):
            assert (DOCS / "lectures" / (target or name)).exists(), (name, target)
            if place:  # GitHub's anchors keep letters and digits, and turn spaces into dashes
                heads = re.findall(r"(?m)^### (.*)$", found[target or name])
                assert place in {re.sub(r"[^\w -]", "", head).lower().replace(" ", "-") for head in heads}, (
                    place
                )


def test_errata_of_another_deck_are_counted_where_they_stand_again() -> None:
    """001.6 and 001.7 repeat slides of 000, with their mistakes."""
    assert [len(lectures.errata(deck)) for deck in lectures.decks()] == [6, 2, 2, 6, 3]
    assert (
        "| [001](001.md) | Attention | COMS 4995, lecture 9 (Richard Zemel) | 10 | 2 |" in pages()["index.md"]
    )
    assert "- [001.6](#0016--l81-91--numbers): The slide prints 0.6" in pages()["001.md"]


def test_commands_can_be_typed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every line of an entry is a regard command whose options, systems, labs and recipes exist. An earlier
    line creates the runs that it reads."""
    group: Any = typer.main.get_command(app)
    monkeypatch.chdir(tmp_path)
    for name in ALL:
        made: set[str] = set()
        for line in session(name):
            words = shlex.split(line.text)
            if words[0] == "printf" and "|" in words:  # several inputs, one on each line
                assert words[1] == "%s\\n", line
                words = words[words.index("|") + 1 :]
            if words[0] == "printf":  # a small file that the next line reads
                assert line.first and words[-2] == ">", line
                Path(words[-1]).write_text(words[1].replace("\\n", "\n"))
                continue
            if words[0] == "python":
                assert (RECIPES.parent / words[1]).is_file() and line.remark, line
                continue
            assert words[0] == "regard" and words[1] in group.commands, line
            context = group.commands[words[1]].make_context(words[1], words[2:])
            given = str(words[2]) if len(words) > 2 else ""
            if words[1] == "lab":
                assert given in names("lab"), line
            elif words[1] in ("train", "describe", "init"):
                assert given in zoo.names() or (RECIPES.parent / given).is_file(), line
            if words[1] == "train":
                made.add(str(context.params["output"] or f"runs/{Path(given).stem}"))
                assert line.remark.startswith("once, "), line
            elif words[1] != "lecture":
                assert {word for word in words if word.startswith("runs/")} <= made, line
            if words[1] in ("show", "compare"):
                given_row = context.params["row"] is not None
                assert given_row or context.params["text"] or context.params.get("gallery"), line
            for setting in context.params.get("overrides") or ():
                assert "=" in setting
            if words[1] == "describe" and given in zoo.names() and "FILE" not in line.text:
                zoo.find(given, context.params["overrides"] or ())


def test_a_training_that_an_entry_needs_is_told_with_its_time(regard: Command) -> None:
    assert [str(line) for line in session("000.64")] == [
        "regard train translation    # once, about 7 minutes",
        "regard train translation-no-attention    # once, 88 s on one H200, longer on a processor",
        "regard lecture --open 000.64",
        "regard evaluate runs/translation runs/translation-no-attention --by-length --plot bleu.svg",
    ]
    assert session("001.5")[0] == SessionCommand("regard describe translation") and session("000.44") == []
    code, out, _ = regard("lecture", "004.43")
    assert code == 0 and "$ regard train caption    # once, 6 to 21 minutes" in map(
        str.strip, out.splitlines()
    )
    assert "regard train caption    # once, 6 to 21 minutes\n" in pages()["004.md"]
    assert re.search(
        r"trained 9[\d.]+ \(test\.pointing of regard train caption;", " ".join(out.split())
    )  # stored, not computed
    code, out, _ = regard("lecture", "003.31")
    assert f"    $ {session('003.31')[0].text}\n" in out  # longer than a line, but can be copied


def test_an_entry_may_have_several_commands(regard: Command) -> None:
    found = [
        "regard lab gradient-flow",
        *(f"regard lab gradient-flow --set gain={gain}" for gain in (2.2, 3)),
    ]
    assert [str(line) for line in session("000.34")] == found
    code, out, _ = regard("lecture", "000.34")
    assert code == 0 and all(f"    $ {line}\n" in out for line in found)
    assert all(f"    {line}\n" in pages()["000.md"] for line in found)


def test_times_are_those_of_the_book() -> None:
    book = (DOCS / "results.md").read_text(encoding="utf-8")
    results = [json.loads(path.read_text(encoding="utf-8")) for path in evidence.FOLDER.glob("*.json")]
    for name, time in yaml.safe_load((FOLDER / "times.yaml").read_text(encoding="utf-8")).items():
        if isinstance(time, int):
            stored = {round(one["seconds"]) for one in results if one["command"] == f"regard train {name}"}
            assert name in zoo.names() and (not time or re.search(rf"\b{time} s", book) or time in stored), (
                name
            )
        else:
            system = name.split()[0]  # settings of a system may have a time of their own
            assert system in zoo.names() or (RECIPES.parent / system).is_file(), name


def test_a_run_that_is_not_there_is_told_with_its_training(
    regard: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    code, _, err = regard("show", "runs/caption", "--row", "0")
    assert code == 2 and "`regard train caption` makes it." in err
    code, _, err = regard("show", "runs/mine", "--row", "0")
    assert code == 2 and "Name the folder of a trained model" in err


def test_figures_are_drawn(regard: Command, tmp_path: Path) -> None:
    assert sum(map(has_figure, ALL)) >= 50
    for name in ("000.62", "002.39", "004.29", "004.33"):
        assert "<svg" in drawn(name).svg()
    code, out, _ = regard("lecture", "--open", "004.29", "-o", str(tmp_path / "oracle.svg"))
    drawing = (tmp_path / "oracle.svg").read_text(encoding="utf-8")
    assert (
        code == 0
        and "raha" in out
        and str(tmp_path / "oracle.svg") in out.replace("\n", "")
        and "raha" in drawing
    )


def test_an_entry_about_a_network_shows_its_drawing(regard: Command, tmp_path: Path) -> None:
    about = {name: found for name in ALL if (found := drawing(name)) is not None and found.network}
    assert len(about) >= 100 and about["004.36"].network == "translation"
    assert about["003.30"].changes == ("encoder.layers=3",)
    for found in about.values():
        zoo.find(found.network, found.changes)
    code, out, _ = regard("lecture", "--open", "003.18", "-o", str(tmp_path / "net.svg"))
    drawn_ = (tmp_path / "net.svg").read_text(encoding="utf-8")
    assert code == 0 and "h_j = rnn_x(h_{j−1}, x_j)" in drawn_ and "encoder of words" in out


def test_the_command_lists_walks_and_checks(regard: Command, tmp_path: Path) -> None:
    code, out, _ = regard("lecture")
    assert code == 0 and all(deck.title in out for deck in lectures.decks())
    code, out, _ = regard("lecture", "000.32")
    assert (
        code == 0
        and "regard lab jacobian" in out
        and "as printed" in out
        and "117.4" in out
        and "106.7" in out
    )
    said = (
        out.index("which is w^50"),
        out.index("fails, as expected"),
        out.index("Likewise"),
        out.rindex("passes"),
    )
    assert list(said) == sorted(said)  # each erratum with its own two computations
    told = tmp_path / "told.json"
    code, out, _ = regard("lecture", "000.41", "001.6", "000.44", "--check", "--json", str(told))
    assert code == 0 and "2 of 3 entries answered" in out
    assert [one["state"] for one in json.loads(told.read_text(encoding="utf-8"))] == [
        "computed",
        "computed",
        "nothing",
    ]


def test_a_failure_exits_with_1(regard: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = entry(checks=[{"python": "2 + 2", "expected": 5}], claim="Two and two are five.")
    monkeypatch.setattr(lectures, "entry", lambda name: wrong)
    code, out, _ = regard("lecture", "000.41", "--check")
    assert code == 1 and "FAIL" in out and "expected 5, found 4" in out


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["005"], "Known: 000, 001, 002, 003, 004"),
        (["4"], "Did you mean 004?"),
        (["004.50"], "004.1 to 004.49"),
        (["--open", "004.4"], "figures nearby: 004.3"),
        (["004", "--browser"], "--browser works only with --open"),
        (["--open", "004.29", "--check"], "--open can be combined only with -o and --browser"),
        (["--open", "004.29", "-o", "figure.gif"], "cannot be written as .gif"),
        (["--json", "-"], "--json needs a deck, an entry or --check"),
        (["--code"], "--code needs a deck or an entry"),
    ],
)
def test_mistakes_end_with_a_remedy(arguments: list[str], told: str, regard: Command) -> None:
    code, _, err = regard("lecture", *arguments)
    assert code == 2 and told in " ".join(err.split())


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"chekcs": []}, "unknown key 'chekcs'"),
        ({"kind": "joke"}, "kind"),
        ({"checks": [{"pyton": "1"}]}, "a check has one of the keys"),
        ({"checks": [{"lab": "jacobian", "expected": 1}]}, "expected either number, or row and column"),
        ({"checks": [{"python": "1", "expected": 1, "at_least": 0}]}, "exclude each other"),
        ({"checks": [{"order": ["a"], "score": "test.f", "of": "f"}]}, "several trainings and one score"),
        ({"nothing": "history", "like": "000.1"}, "expected one of"),
        ({"number": 2}, "without a gap"),
    ],
)
def test_a_mistake_in_a_deck_is_named_with_its_line(
    change: dict[str, Any], told: str, tmp_path: Path
) -> None:
    one = {
        "number": 1,
        "place": "L1",
        "kind": "claim",
        "claim": "x",
        "checks": [{"python": "1", "expected": 1}],
    }
    if "nothing" in change:
        del one["checks"]
    path = tmp_path / "009.yaml"
    deck = {"deck": "009", "title": "t", "course": "c", "entries": [{**one, **change}]}
    path.write_text(yaml.safe_dump(deck, sort_keys=False), encoding="utf-8")
    with pytest.raises(RegardError) as error:
        read(path)
    assert told in str(error.value) and "009.yaml:" in str(error.value)


def test_plainly_leaves_the_kernels_out() -> None:
    import torch

    edges = torch.zeros(1, 3, 2, 2)
    outside = available("chain", edges)
    with plainly():
        assert not available("chain", edges)
    assert available("chain", edges) == outside
