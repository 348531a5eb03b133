"""`show --gallery`: a given number of right and of wrong answers, in the order of the data."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

from regard import fit
from regard.cli.command import Loading
from regard.cli.gallery import collect, mistakes, show_gallery
from regard.evaluation import open_dataset
from regard.inspect import Example, gallery
from regard.model import Model
from regard.trace import Trace


@pytest.fixture(scope="module")
def half_right(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model that always answers A, and rows whose true label is B in every second case."""
    folder = tmp_path_factory.mktemp("gallery")
    (folder / "train.tsv").write_text("x\tA\ny\tA\nxy\tA\nyx\tA\n" * 4, encoding="utf-8")
    rows = "".join(f"{'x' * n}y\t{'AB'[n % 2]}\n" for n in range(1, 9))
    (folder / "test.tsv").write_text(rows, encoding="utf-8")
    spec = f"""
inputs: {{source: {{type: text, unit: char}}}}
outputs: {{target: {{type: text, unit: char}}}}
encoder: {{type: recurrent, cell: gru, size: 8}}
attention: {{score: general, select: softmax}}
decoder: {{type: recurrent, cell: gru, size: 8, condition: [start, attention]}}
training: {{steps: 30, lr: 0.05, seed: 1}}
data: {{train: {folder}/train.tsv, dev: {folder}/train.tsv, test: {folder}/test.tsv}}
"""
    (folder / "spec.yaml").write_text(spec, encoding="utf-8")
    fit(folder / "spec.yaml", run=folder / "run", device="cpu", quiet=True)
    return folder / "run"


def test_the_first_right_and_the_first_wrong_ones_are_taken(half_right: Path) -> None:
    model = Model.load(half_right, device="cpu")
    dataset = open_dataset(model, (), ["test"])
    examples, seen, right = collect(model, dataset, "target", 2)
    assert (seen, right) == (8, 4)
    assert [(one.written, one.true, one.right) for one in examples] == [
        ("A", ("A",), True),
        ("A", ("A",), True),
        ("A", ("B",), False),
        ("A", ("B",), False),
    ]
    assert [one.asked for one in examples] == ["xxy", "xxxxy", "xy", "xxxy"]  # in the order of the file


def test_a_gallery_is_a_file_or_lines(
    half_right: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target = tmp_path / "gallery.svg"
    show_gallery(half_right, 1, "test", grid=False, output=target, how=Loading(device="cpu"))
    assert capsys.readouterr().out.splitlines()[0] == "test: 4 of the first 8 rows are right"
    texts = [text.text for text in ElementTree.parse(target).iter("{http://www.w3.org/2000/svg}text")]
    assert texts.count("✓ A") == 1 and texts.count("✗ A") == 1 and texts.count("true: B") == 1
    show_gallery(half_right, 1, "test", grid=False, output=None, how=Loading(device="cpu"))
    shown = capsys.readouterr().out
    assert "✓ A" in shown and "✗ A" in shown and "true: B" in shown


def test_where_none_is_right_the_nearest_come_first(half_right: Path, tmp_path: Path) -> None:
    model = Model.load(half_right, device="cpu")
    (tmp_path / "none.tsv").write_text("x\tB B\ny\tA B\nxy\tB\n", encoding="utf-8")
    dataset = open_dataset(model, [str(tmp_path / "none.tsv")], [])
    examples, seen, right = collect(model, dataset, "target", 1)
    assert (seen, right) == (3, 0)
    assert [(one.true, one.heading) for one in examples] == [
        (("A B",), "Nearest to the truth"),
        (("B",), "Farthest from the truth"),
    ]


def test_a_wrong_word_is_told_with_its_look_at_what_it_misnames() -> None:
    attention = np.array([[0.1, 0.9], [0.2, 0.8], [0.7, 0.3], [0.5, 0.5]])
    truth = np.array([[0, 0], [0, 1], [1, 0], [0, 0]])  # the second word names one region, the third another
    trace = Trace(
        input={"image": ["left", "right"]},
        output=["big", "cat", "dog", "</s>"],
        attention={"image": attention},
        truth={"image": truth},
    )
    assert mistakes(trace, ["big", "cat", "dog", "</s>"]) == mistakes(trace, ["cat", "</s>"]) == ""
    said = mistakes(trace, ["small", "cat", "fox", "</s>"])
    assert said == (
        "“big” for “small”: 0.90 of its look is on the cat; “dog” for “fox”: 0.70 of its look is on the fox"
    )
    assert mistakes(trace, ["big", "cat", "dog", "runs"]) == ""  # no region is known from there on
    drawn = gallery([Example(trace, "big cat dog", ("small cat fox",), remark=said)])
    assert said[:30] in drawn.svg()
