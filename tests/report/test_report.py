"""The report of a run: its numbers, its strange answers, what is wrong with the data; hostile texts stay texts."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path

import pytest

import regard
from regard import Model, RegardError
from regard.fitting.experiment import Experiment
from regard.report import SECTIONS, ReportContext, ReportSection, report

HOSTILE = "</script><img src=x onerror=alert(1)>"
BIDI = "‮evil"
SPEC = """
inputs:    {source: {type: text, unit: char}}
outputs:   {target: {type: text, unit: char}}
encoder:   {type: recurrent, size: 8, embedding: 8}
attention: {score: general, select: softmax}
decoder:   {type: recurrent, size: 8, embedding: 8}
training:  {steps: 4, batch_rows: 16, evaluate_every: 2}
search:    {max_length: 8}
metrics:   [exact, cer]
data:      {train: train.tsv, dev: dev.tsv, test: test.tsv}
"""
LETTERS = "abcdefghij"
WORDS = [LETTERS[start:stop] for start in range(9) for stop in range(start + 1, 11)]


def _table(words: list[str]) -> str:
    return "source\ttarget\n" + "".join(f"{word}\t{word[::-1]}\n" for word in words)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two runs that reverse words; of 12 test rows, the first two are in train, one of them with another output."""
    folder = tmp_path_factory.mktemp("reported")
    words, seen, new = WORDS[:30], WORDS[0:1], WORDS[30:39]
    (folder / "train.tsv").write_text(_table(words))
    (folder / "dev.tsv").write_text(_table(WORDS[39:45]))
    rows = _table([*seen, *new, HOSTILE]).splitlines()
    rows.insert(2, f"{WORDS[1]}\tother")
    (folder / "test.tsv").write_text("\n".join(rows) + "\n")
    (folder / "my.yaml").write_text(SPEC)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setenv("REGARD_CACHE", str(folder / "cache"))
        for name, seed in (("a", 1), ("b", 2)):
            overrides = [f"training.seed={seed}"]
            Experiment.start(
                "my.yaml", run=folder / name, overrides=overrides, device="cpu", quiet=True
            ).train()
    return folder


@pytest.fixture(scope="module")
def one(place: Path) -> str:
    return report(place / "a", device="cpu").html()


class _Cells(HTMLParser):
    """The cells of all tables, by row, and the names of all elements."""

    def __init__(self) -> None:
        super().__init__()
        self.rows: list[list[str]] = []
        self.elements: set[str] = set()
        self.open = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.add(tag)
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.rows[-1].append("")
            self.open = True

    def handle_endtag(self, tag: str) -> None:
        self.open = self.open and tag not in ("td", "th")

    def handle_data(self, data: str) -> None:
        if self.open:
            self.rows[-1][-1] += data


def _cells(text: str) -> _Cells:
    found = _Cells()
    found.feed(text)
    return found


def test_the_scores_are_those_of_evaluate(
    place: Path, one: str, regard: Callable[..., tuple[int, str, str]], tmp_path: Path
) -> None:
    code, _, err = regard("evaluate", str(place / "a"), "--json", str(tmp_path / "s.json"), "--device", "cpu")
    assert code == 0, err
    scores = json.loads((tmp_path / "s.json").read_text())["models"][str(place / "a")]["scores"]
    assert set(scores) == {"exact", "cer"}
    rows = {row[0]: row for row in _cells(one).rows if row}
    for name, score in scores.items():
        value, between = rows[name][1:3]
        assert value == f"{score['value']:.4f}"
        low, high = map(float, between.split(" to "))
        assert low <= score["value"] <= high and rows[name][3] == "12"


def test_rows_in_train_and_test_are_reported(one: str) -> None:
    rows = _cells(one).rows
    head = rows.index(["split", "rows", "input also in train", "output the same", "such as"])
    dev, test = rows[head + 1], rows[head + 2]
    assert dev[:4] == ["dev", "6", "0", "0"]
    assert test[:4] == ["test", "12", "2", "1"] and test[4] == f"{WORDS[0]}, {WORDS[1]}"
    assert "The model was trained on these inputs" in one


def test_unknown_units_are_counted(one: str) -> None:
    unknown = sum(letter not in LETTERS for letter in HOSTILE)
    row = next(row for row in _cells(one).rows if row[:2] == ["test", "source"])
    assert int(row[3]) == unknown


def test_hostile_texts_are_texts_and_nothing_is_loaded(one: str) -> None:
    found = _cells(one)
    assert not found.elements & {"img", "iframe", "link", "object"}
    assert any(HOSTILE in cell for row in found.rows for cell in row)
    policy = re.search(r'Content-Security-Policy" content="([^"]+)"', one)
    assert policy is not None and "default-src 'none'" in policy[1] and "sha256-" in policy[1]
    assert not re.search(r'(?:src|href)="(?!#|data:)', one)


def test_bidirectional_controls_of_a_name_are_made_visible(place: Path) -> None:
    model = Model.load(place / "a", device="cpu")
    named = model.spec.model_copy(update={"description": BIDI + HOSTILE})
    page = report(Model(named, model.columns, model.network), sections=[SECTIONS[-3]]).html()
    assert "‮" not in page and html.escape(HOSTILE) in page


def test_every_row_is_listed_the_strangest_first(one: str) -> None:
    rows = _cells(one).rows
    head = next(number for number, row in enumerate(rows) if row and row[-1] == "why")
    listed = rows[head + 1 : head + 13]
    assert sorted(int(row[0]) for row in listed) == list(range(1, 13))
    strange = [float(row[-2]) for row in listed]
    assert strange == sorted(strange, reverse=True)
    assert next(row for row in listed if row[0] == "1")[1:4:2] == [WORDS[0], WORDS[0][::-1]]


def test_the_sections_of_one_run_and_the_command_that_makes_it_again(place: Path, one: str) -> None:
    headings = [html.unescape(one) for one in re.findall("<h2>(.*?)</h2>", one)]
    assert headings == [
        "At a glance",
        "Scores",
        "Learning curves",
        "Scores by length",
        "Answers, the strangest first",
        "Examples",
        "Faithfulness of the attention",
        "Data",
        "The model",
        "Environment",
        "Make it again",
    ]
    assert f"regard report {place / 'a'} --rows 300" in one
    assert "softmax(V_y s_t" in one and one.count("<svg") >= 4


def test_two_runs_stand_side_by_side_with_a_paired_test(
    place: Path, regard: Callable[..., tuple[int, str, str]], tmp_path: Path
) -> None:
    page = tmp_path / "both.html"
    code, out, err = regard(
        "report", str(place / "a"), str(place / "b"), "-o", str(page), "--figures", "2", "--device", "cpu"
    )
    assert code == 0 and out.strip() == str(page), err
    made = tmp_path / "c.json"
    regard(
        "evaluate", str(place / "a"), str(place / "b"), "--compare", "--json", str(made), "--device", "cpu"
    )
    text = page.read_text()
    assert "<title>a and b</title>" in text
    rows = _cells(text).rows
    for one in json.loads(made.read_text())["comparisons"]:
        row = next(row for row in rows if row[:2] == [one["metric"], "b"] and row[2][0] in "+-")
        assert row[2] == f"{one['difference']:+.4g}" and row[4] == f"{one['p_value']:.3f}"


def test_the_same_report_has_the_same_bytes(place: Path, one: str) -> None:
    assert report(place / "a", device="cpu").html() == one


def test_a_section_of_your_own(place: Path) -> None:
    from regard.inspect import PageSection

    class Vowels(ReportSection):
        title = "Vowels"

        def of(self, context: ReportContext) -> PageSection:
            count = sum(
                letter in "aeiou" for row in context.first.evaluation.inputs for letter in row["source"]
            )
            return PageSection(self.title, f"{count} vowels in the test")

    page = regard.report(place / "a", sections=[Vowels()], device="cpu").html()
    known = [WORDS[0], WORDS[1], *WORDS[30:39], HOSTILE]
    assert f"{sum(letter in 'aeiou' for word in known for letter in word)} vowels in the test" in page


def test_mistakes_have_remedies(place: Path, tmp_path: Path) -> None:
    with pytest.raises(RegardError, match="there is no run to report"):
        report([])
    with pytest.raises(RegardError, match=r"Name it r\.html"):
        report(place / "a", sections=[]).save(tmp_path / "r.pdf")
    with pytest.raises(RegardError, match="have no 'dsv'"):
        report(place / "a", split="dsv", device="cpu")


def test_a_notebook_shows_it_without_scripts(place: Path) -> None:
    shown = report(place / "a", figures=0, device="cpu")._repr_html_()
    assert shown.startswith("<iframe sandbox srcdoc=") and "&lt;script" not in shown


def test_train_writes_a_short_report_that_never_fails_it(
    place: Path, regard: Callable[..., tuple[int, str, str]], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(place)
    run = tmp_path / "c"
    code, out, err = regard("train", "my.yaml", "-o", str(run), "--device", "cpu")
    assert code == 0 and f"the report is in {run / 'report.html'}" in out.replace("\n", ""), err
    text = (run / "report.html").read_text()
    scores = json.loads((run / "metrics.json").read_text())["scores"]["test"]
    rows = {row[0]: row for row in _cells(text).rows if row}
    assert all(rows[name][1] == f"{score['value']:.4f}" for name, score in scores.items())
    assert "Answers, the strangest first" not in text and "Examples" in text
    assert "report.html" in (run / "manifest.json").read_text()

    code, _, err = regard("train", "my.yaml", "-o", str(run), "--overwrite", "--no-report", "--device", "cpu")
    assert code == 0 and not (run / "report.html").exists(), err

    (run / "report.html").write_text("mine")
    code, out, _ = regard("train", "--resume", str(run), "--set", "training.steps=5", "--device", "cpu")
    assert code == 0 and "the report was not written" in out
    assert (run / "report.html").read_text() == "mine"
