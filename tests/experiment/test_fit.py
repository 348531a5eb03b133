"""regard.fit: from pairs to a trained model, resumed runs, and specs inferred from a file."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest

import regard
from regard import RegardError, zoo
from regard.fitting.experiment import Experiment
from regard.fitting.pairs import pairs_spec
from regard.nn.decoders import RecurrentDecoder


def pairs(count: int, seed: int = 0, longest: int = 5) -> list[tuple[str, str]]:
    """Words and their letters in capitals, separated by spaces: a task that can be learned in seconds."""
    generator = random.Random(seed)
    words = ["".join(generator.choices("abcd", k=generator.randint(2, longest))) for _ in range(count)]
    return [(word, " ".join(word.upper())) for word in words]


SMALL = [
    "encoder.size=24",
    "decoder.size=32",
    "encoder.embedding=16",
    "decoder.embedding=16",
    "search.max_length=10",
]


def test_fit_on_a_list_of_pairs_learns_the_task(tmp_path: Path, learning_seed: int) -> None:
    settings = [*SMALL, "training.epochs=6", "training.lr=0.01", "encoder.dropout=0", "decoder.dropout=0"]
    settings.append(f"training.seed={1 + learning_seed}")
    rows, held_out = pairs(600, 100 * learning_seed), pairs(60, 100 * learning_seed + 9)
    model = regard.fit(rows, run=tmp_path / "run", overrides=settings, device="cpu", quiet=True)
    answers = model.predict([word for word, _ in held_out])
    assert sum(answer.text == spelled for answer, (_, spelled) in zip(answers, held_out, strict=True)) >= 50
    again = regard.load(tmp_path / "run", device="cpu")
    assert again.predict("abca").text == model.predict("abca").text == "A B C A"


@pytest.mark.parametrize("condition", ["[start]", "[every-step]"])
def test_without_attention_short_words_are_learned_too(
    condition: str, tmp_path: Path, learning_seed: int
) -> None:
    """Over four seeds 54 to 60 words are right, before training none."""
    settings = [
        *SMALL,
        "attention=null",
        f"decoder.condition={condition}",
        "training.epochs=12",
        "training.lr=0.015",
    ]
    settings += ["encoder.dropout=0", "decoder.dropout=0", f"training.seed={1 + learning_seed}"]
    rows, held_out = pairs(600, 100 * learning_seed, 4), pairs(60, 100 * learning_seed + 9, 4)
    model = regard.fit(rows, run=tmp_path / "run", overrides=settings, device="cpu", quiet=True)
    answers = model.predict([word for word, _ in held_out])
    assert sum(answer.text == spelled for answer, (_, spelled) in zip(answers, held_out, strict=True)) >= 45
    assert answers[0].trace is not None
    assert not answers[0].trace.attention


def write(path: Path, rows: list[tuple[str, str]]) -> str:
    path.write_text("".join(f"{left}\t{right}\n" for left, right in rows), encoding="utf-8")
    return str(path)


def test_columns_are_inferred_from_the_file(tmp_path: Path) -> None:
    g2p = pairs_spec(write(tmp_path / "g2p.tsv", pairs(40)))
    assert g2p.inputs["source"].unit == "char"
    assert g2p.outputs["target"].unit == "word"  # type: ignore[union-attr]
    assert isinstance(g2p.decoder["target"], RecurrentDecoder.Options)
    sentences = [(f"the {a} sat here", f"le {b} la") for a, b in pairs(40)]
    assert pairs_spec(write(tmp_path / "text.tsv", sentences)).inputs["source"].unit == "word"
    labels = [(f"some words {word}", random.Random(word).choice(["good", "bad"])) for word, _ in pairs(60)]
    spec = pairs_spec(write(tmp_path / "labels.tsv", labels))
    assert spec.outputs["target"].type == "label"
    assert spec.training.metric == "accuracy"


def test_whoever_gives_the_steps_gets_them(tmp_path: Path) -> None:
    """The 20 epochs that are otherwise inferred would end after 40 steps."""
    told = [*SMALL, "training.steps=60", "training.patience=null"]
    regard.fit(pairs(32), run=tmp_path / "run", overrides=told, device="cpu", quiet=True)
    trained = json.loads((tmp_path / "run" / "metrics.json").read_text())
    assert (trained["training"]["steps"], trained["training"]["stopped_because"]) == (60, "steps")


def test_too_few_pairs_are_told(tmp_path: Path) -> None:
    with pytest.raises(RegardError, match="the file has 3 complete rows; `train FILE` needs at least 10"):
        pairs_spec(write(tmp_path / "few.tsv", pairs(3)))


def test_dev_is_held_out_by_input(tmp_path: Path) -> None:
    rows = pairs(200) * 2  # every input at least twice
    file = write(tmp_path / "pairs.tsv", rows)
    experiment = Experiment.start(file, run=tmp_path / "run", overrides=SMALL, device="cpu", quiet=True)
    train = {row["source"] for row in experiment.splits["train"]}
    dev = {row["source"] for row in experiment.splits["dev"]}
    assert train and dev
    assert not train & dev
    assert train | dev == {word for word, _ in rows}
    together = sum(1 for split in ("train", "dev") for _ in experiment.splits[split])
    assert together == len(rows)  # no row is lost


def test_a_longer_run_goes_on_where_it_stood(tmp_path: Path) -> None:
    file = write(tmp_path / "pairs.tsv", pairs(120))
    settings = [*SMALL, "training.evaluate_every=4"]
    Experiment.start(
        file, run=tmp_path / "run", overrides=[*settings, "training.steps=4"], device="cpu", quiet=True
    ).train()
    longer = Experiment.resume(tmp_path / "run", overrides=["training.steps=8"], device="cpu", quiet=True)
    longer.train()
    assert longer.model.metrics["training"]["steps"] == 8
    steps = [line.split(",")[0] for line in (tmp_path / "run" / "log.csv").read_text().splitlines()[1:]]
    assert steps[-1] == "8"
    assert len(steps) == len(set(steps))


@pytest.mark.parametrize("nothing", [None, float("nan")])
def test_a_pair_with_nothing_in_it_is_refused(nothing: float | None, tmp_path: Path) -> None:
    """An empty cell in pandas must not become the text "nan"."""
    with pytest.raises(RegardError, match="row 3: the target is missing"):
        regard.fit([*pairs(2), ("abc", nothing)], run=tmp_path / "run", quiet=True)


@pytest.mark.parametrize("header", ["word\tsound\n", "source\ttarget\n", ""])
def test_what_is_taken_for_a_header_is_told(
    header: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "words.tsv"
    path.write_text(header + "".join(f"{word}\t{said}\n" for word, said in pairs(60)), encoding="utf-8")
    model = regard.fit(path, run=tmp_path / "run", overrides=[*SMALL, "training.steps=1"], device="cpu")
    out = capsys.readouterr().out
    assert ("the first line is a header" in out) == bool(header)
    assert (f"{path}: the first line is read as a row, not as a header" in out) != bool(header)
    known = model.columns["source"].vocabulary
    assert ["a" in known, "w" in known, "u" in known] == [True, False, False]  # no letter of a header


def test_a_spec_file_gives_its_run_its_own_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As in the README: `regard init reverse > my.yaml; regard train my.yaml` creates runs/my."""
    monkeypatch.chdir(tmp_path)
    Path("my.yaml").write_text(zoo.text("reverse"), encoding="utf-8")
    sizes = [
        f"data.world.{split}={count}"
        for split, count in (("train", 40), ("dev", 8), ("test", 8), ("long", 8))
    ]
    experiment = Experiment.start("my.yaml", overrides=[*sizes, "training.steps=1"], quiet=True)
    experiment.close()
    assert experiment.run == Path("runs/my")
    Path("my.yaml").write_text(
        zoo.text("reverse").replace("name: reverse", "name: my chat"), encoding="utf-8"
    )
    experiment = Experiment.start("my.yaml", overrides=[*sizes, "training.steps=1"], quiet=True)
    experiment.close()
    assert experiment.run == Path("runs/my-chat")  # a name of one's own decides
