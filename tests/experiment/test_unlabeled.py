"""Files without labels: what joins the training rows, and what the run remembers."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from regard.data.sources import open_splits
from regard.errors import RegardError
from regard.fitting.unlabeled import start_with_unlabeled
from regard.model import load
from regard.runs.run import RunFolder
from regard.spec import Spec


def spec_of(folder: Path, output: str, rows: list[tuple[str, str]]) -> Spec:
    (folder / "rows.tsv").write_text("".join(f"{a}\t{b}\n" for a, b in rows))
    decoder = {"type": "label"} if output == "label" else {"type": "recurrent", "size": 6}
    attention = {} if output == "label" else {"attention": {"score": "additive", "select": "softmax"}}
    return Spec(
        inputs={"left": {"type": "text"}},
        outputs={"right": {"type": output}},
        encoder={"type": "recurrent", "size": 6},
        decoder=decoder,
        training={"steps": 2, "batch_rows": 16},
        search={"max_length": 4} if output == "text" else None,
        data={"train": str(folder / "rows.tsv"), "hold_out": 0.2},
        **attention,
    )


def test_back_translation_marks_what_a_reverse_model_wrote(tmp_path: Path) -> None:
    spec = spec_of(tmp_path, "text", [(f"a{n % 4} b{n}", f"x{n % 4} y{n}") for n in range(30)])
    more = tmp_path / "more.txt"
    more.write_text("".join(f"x{n % 4} y{n}\n" for n in range(100, 190)))
    experiment = start_with_unlabeled(spec, more, RunFolder.start(tmp_path / "run"), device="cpu", quiet=True)
    told = experiment.beside["unlabeled"]
    assert (told["way"], told["rows"]) == ("back-translation", 90)
    real = [dict(row) for row in open_splits(spec)["train"]]
    seen = [dict(row) for row in experiment.splits["train"]]
    new = [row for row in seen if row["left"].startswith("§ ")]
    assert len(new) == told["used"] <= 90 and {row["right"] for row in new} <= set(
        more.read_text().splitlines()
    )
    assert len(seen) == len(new) + told["repeated"] * len(real)
    assert [dict(row) for row in experiment.splits["dev"]] == [dict(row) for row in open_splits(spec)["dev"]]
    reverse = load(tmp_path / "run-reverse").spec
    assert reverse.inputs["left"].field == "right" and reverse.outputs["right"].field == "left"
    experiment.train()
    assert json.loads((tmp_path / "run" / "metrics.json").read_text())["unlabeled"] == told


def test_self_training_takes_the_surest_half_of_each_label(tmp_path: Path) -> None:
    spec = spec_of(tmp_path, "label", [(f"a{n % 4} b{n}", "pn"[n % 2]) for n in range(40)])
    more = tmp_path / "more.txt"
    more.write_text("".join(f"a{n % 4} b{n % 30}\n" for n in range(100, 160)))
    experiment = start_with_unlabeled(spec, more, RunFolder.start(tmp_path / "run"), device="cpu", quiet=True)
    told = experiment.beside["unlabeled"]
    first = load(tmp_path / "run-first")
    texts = list(dict.fromkeys(more.read_text().splitlines()))
    answers = {text: first.predict(text) for text in texts}
    wanted = set()
    for label in "pn":
        mine = sorted(
            (text for text in texts if answers[text].text == label), key=lambda one: -answers[one].score
        )
        wanted |= {(text, label) for text in mine[: round(len(mine) / 2)]}
    rows = Path(experiment.spec.data.train[-1]).read_text().splitlines()
    assert {(row["left"], row["right"]) for row in map(json.loads, rows)} == wanted
    assert told["used"] == len(wanted)
    experiment.close()


def test_other_models_are_refused(tmp_path: Path) -> None:
    spec = spec_of(tmp_path, "label", [(f"a{n}", "p") for n in range(20)])
    tags = spec.changed("outputs={right: {type: tags, of: left}}", "decoder={type: tags}")
    with pytest.raises(RegardError, match="one text or label as output"):
        start_with_unlabeled(tags, tmp_path / "rows.tsv", RunFolder(tmp_path / "run"), quiet=True)
