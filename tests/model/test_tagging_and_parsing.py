"""Taggers and parsers from their specs: trained for a few steps, evaluated, saved, applied to treebanks."""

from __future__ import annotations

import gzip
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import regard
from regard.cli.main import app
from regard.describe import answers
from regard.errors import RegardError
from regard.evaluation import evaluate
from regard.fitting.experiment import Experiment
from regard.spec import Spec
from regard.trace import Arcs
from regard.worlds import world

SMALL = {"encoder": {"type": "recurrent", "size": 8, "embedding": 8}}
TRAINING = {"steps": 3, "batch_rows": 16, "epochs": 1}


@pytest.fixture(scope="module")
def treebank(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The grammar world as CoNLL-U: some trees cross; each sentence has a range and an empty node."""
    lines = []
    for row in world("grammar", train=60, dev=1, test=1, crossing=0.5).splits()["train"]:
        lines.append(f"# text = {row['words']}")
        cells = zip(row["words"].split(), row["tags"].split(), row["tree"].split(), strict=True)
        for number, (word, tag, arc) in enumerate(cells, start=1):
            if number == 1:
                lines.append("1-2\twhole" + "\t_" * 8)
            head, _, relation = arc.partition(":")
            lines.append(f"{number}\t{word}\t{word.lower()}\t{tag}\t_\t_\t{head}\t{relation}\t_\tId={number}")
        lines += ["1.1\tempty" + "\t_" * 8, ""]
    path = tmp_path_factory.mktemp("treebank") / "small.conllu"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def document(treebank: Path, **more: Any) -> dict[str, Any]:
    return {
        "inputs": {"words": {"type": "text"}},
        "outputs": {"tree": {"type": "tree", "of": "words"}},
        **SMALL,
        "decoder": {"type": "tree", "size": 8, "relation_size": 4},
        "training": TRAINING,
        "data": {"train": str(treebank), "dev": str(treebank)},
        **more,
    }


def train(spec: dict[str, Any], folder: Path, capsys: Any = None) -> regard.Model:
    experiment = Experiment(Spec.parse(spec), folder, device="cpu", quiet=capsys is None)
    return experiment.train()


@pytest.fixture(scope="module")
def joint(treebank: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[regard.Model, Path]:
    """Tags and tree from one encoder that reads characters."""
    spec = document(treebank)
    spec["outputs"] = {"upos": {"type": "tags", "of": "words"}, "tree": {"type": "tree", "of": "words"}}
    spec["decoder"] = {"upos": {"type": "crf"}, "tree": {"size": 8, "relation_size": 4}}
    spec["encoder"] = {
        **SMALL["encoder"],
        "characters": {"type": "convolutional", "size": 6},
        "word_dropout": 0.1,
    }
    folder = tmp_path_factory.mktemp("joint") / "run"
    return train(spec, folder), folder


def test_a_joint_model_comes_back_from_its_folder(joint: tuple[regard.Model, Path], treebank: Path) -> None:
    model, folder = joint
    again = regard.load(folder, device="cpu")
    for output in ("upos", "tree"):
        sentence = "the unheard dog saw her ."
        first, second = (one.predict(sentence, output=output) for one in (model, again))
        assert first.text == second.text and first.score == pytest.approx(second.score, rel=1e-4, abs=1e-6)
        assert len(first.value) == 6
    assert {"upos.tag_accuracy", "tree.uas", "tree.las"} <= set(model.metrics["scores"]["dev"])


def test_the_trace_of_a_tree_has_its_marginals(joint: tuple[regard.Model, Path]) -> None:
    prediction = joint[0].predict("the dog saw the old man with a hat .", output="tree")
    assert prediction.trace is not None and prediction.trace.kind == "tree"
    arcs = prediction.trace.structures["words"]
    assert isinstance(arcs, Arcs) and arcs.marginals is not None
    assert np.allclose(arcs.marginals[:, 1:].sum(0), 1.0, atol=1e-4), "every word has one head"
    assert arcs.marginals[0].sum() == pytest.approx(1.0, abs=1e-4), "one root"
    heads = [int(arc.partition(":")[0]) for arc in prediction.value]
    assert arcs.heads.tolist() == heads and heads.count(0) == 1
    assert [arc.partition(":")[2] for arc in prediction.value] == list(arcs.relations)


def test_evaluation_prints_the_chance_level(joint: tuple[regard.Model, Path], treebank: Path) -> None:
    from regard.evaluation import open_dataset

    found = evaluate(joint[0], open_dataset(joint[0], [str(treebank)], []))
    assert found.chance["tree.uas"].value < 0.5 and "left-branching" in found.chance["tree.uas"].signature
    assert 0.05 < found.chance["upos.tag_accuracy"].value < 0.5


@pytest.mark.parametrize("ending", ["", ".gz"])
def test_predict_writes_a_treebank_back(
    joint: tuple[regard.Model, Path], treebank: Path, tmp_path: Path, ending: str
) -> None:
    out = tmp_path / f"out.conllu{ending}"
    result = CliRunner().invoke(
        app, ["predict", str(joint[1]), str(treebank), "-o", str(out), "--device", "cpu"]
    )
    assert result.exit_code == 0, result.output
    content = gzip.decompress(out.read_bytes()) if ending else out.read_bytes()
    before, after = treebank.read_text("utf-8").split("\n"), content.decode().split("\n")
    assert len(before) == len(after)
    changed = 0
    for old, new in zip(before, after, strict=True):
        if "\t" not in old or old.startswith(("1-2", "1.1")):
            assert old == new
            continue
        cells, predicted = old.split("\t"), new.split("\t")
        assert [cells[place] for place in (0, 1, 2, 4, 5, 8, 9)] == [
            predicted[place] for place in (0, 1, 2, 4, 5, 8, 9)
        ]
        assert predicted[6].isdigit() and predicted[7] != "_"
        changed += cells != predicted
    assert changed > 10
    words = [line.split("\t") for line in after[: after.index("")] if line.partition("\t")[0].isdigit()]
    text = " ".join(cells[1] for cells in words)
    assert [cells[3] for cells in words] == joint[0].predict(text, output="upos").value
    assert [f"{cells[6]}:{cells[7]}" for cells in words] == joint[0].predict(text, output="tree").value


def test_outputs_that_conllu_has_no_column_for(treebank: Path, tmp_path: Path) -> None:
    spec = document(treebank)
    spec["outputs"] = {"label": {"type": "label", "field": "words"}}
    train({**spec, "decoder": {"type": "label"}}, tmp_path / "run")
    result = CliRunner().invoke(app, ["predict", str(tmp_path / "run"), str(treebank), "--device", "cpu"])
    assert "no column for the output label" in str(result.exception)


def test_nonprojective_trees_are_lifted_and_counted(treebank: Path, tmp_path: Path, capsys: Any) -> None:
    model = train(document(treebank), tmp_path / "run", capsys)
    told = capsys.readouterr().out
    assert re.search(r"trees are not projective \(\d+ arcs lifted\)", " ".join(told.split()))
    assert np.isfinite(model.metrics["scores"]["dev"]["uas"]["value"])


def test_nonprojective_trees_are_refused_where_that_is_wanted(treebank: Path, tmp_path: Path) -> None:
    spec = document(treebank)
    spec["decoder"] = {**spec["decoder"], "nonprojective": "refuse"}
    with pytest.raises(RegardError, match=r"small.conllu:\d+: tree is not projective: the arcs to words"):
        train(spec, tmp_path / "run")


@pytest.mark.parametrize("decode", ["map", "marginal"])
def test_spanning_trees_take_them_as_they_are(treebank: Path, tmp_path: Path, decode: str) -> None:
    spec = document(treebank)
    spec["decoder"] = {**spec["decoder"], "structure": "spanning", "decode": decode}
    model = train(spec, tmp_path / "run")
    prediction = model.predict("she laughed .")
    heads = [int(arc.partition(":")[0]) for arc in prediction.value]
    assert heads.count(0) == 1


def chunks(folder: Path) -> Path:
    path = folder / "chunks.conll"
    sentences = ["the dog saw a cat", "dogs sleep", "my old friend sang"]
    tags = ["I-NP I-NP I-VP B-NP I-NP", "I-NP I-VP", "I-NP I-NP I-NP I-VP"]
    lines = []
    for words, spans in zip(sentences * 8, tags * 8, strict=True):
        lines += [f"{word} X {tag}" for word, tag in zip(words.split(), spans.split(), strict=True)] + [""]
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


@pytest.mark.parametrize(("decoder", "scheme"), [("crf", "bio"), ("crf", "bioes"), ("tags", "bioes")])
def test_chunks_from_conll_columns_obey_their_scheme(tmp_path: Path, decoder: str, scheme: str) -> None:
    path = chunks(tmp_path)
    spec = {
        "inputs": {"words": {"type": "text"}},
        "outputs": {"chunks": {"type": "tags", "of": "words", "scheme": scheme}},
        **SMALL,
        "decoder": {"type": decoder, "constraints": scheme},
        "training": TRAINING,
        "data": {"train": str(path), "dev": str(path), "fields": ["words", "_", "chunks"]},
        "metrics": ["chunk_f1", "tag_accuracy"],
    }
    model = train(spec, tmp_path / "run")
    assert 0.0 <= model.metrics["scores"]["dev"]["chunk_f1"]["value"] <= 1.0
    from regard.data.columns.spans import first_fault

    for sentence in ("the dog saw a cat", "cat cat cat cat cat cat", "sang"):
        assert first_fault(model.predict(sentence).value, scheme) is None  # type: ignore[arg-type]


def test_the_board_and_the_errors_of_the_spec() -> None:
    base = {"inputs": {"words": {"type": "text"}}, "outputs": {"tags": {"type": "tags", "of": "words"}}}

    def refused(decoder: dict[str, Any], message: str, output: Sequence[tuple[str, str]] = ()) -> None:
        tags = {"type": "tags", "of": "words", **dict(output)}
        with pytest.raises(RegardError, match=message):
            Spec.parse({**base, "outputs": {"tags": tags}, "decoder": decoder})

    refused({"crf": True}, "the key 'crf' has moved. Write  type: crf")
    refused({"constraints": "bio"}, "converts its tags to bioes", [("scheme", "bioes")])
    refused({"decode": "marginal"}, "decode.*Write  type: crf")
    refused({"type": "crf", "class_weights": "balanced"}, "class_weights.*Write  type: tags")
    refused({"type": "crf", "constraints": "bio"}, "converts its tags to bioes", [("scheme", "bioes")])
    told = r"a tags decoder cannot write a tree column: it writes tags\. Use type: tree"
    with pytest.raises(RegardError, match=told):
        Spec.parse({**base, "outputs": {"t": {"type": "tree", "of": "words"}}, "decoder": {"type": "tags"}})
    spec = Spec.parse(
        {
            **base,
            "outputs": {**base["outputs"], "tree": {"type": "tree", "of": "words"}},
            "encoder": {"characters": {"size": 16}},
            "decoder": {"tags": {"type": "crf", "constraints": "bio"}, "tree": {"structure": "spanning"}},
        }
    )
    board = "\n".join(line for lines in answers(spec).values() for line in lines)
    for words in (
        "forward algorithm",
        "−∞ where bio does not allow it",
        "matrix-tree",
        "the highest expected number of correct heads",
        "χ_j: 16 features of the characters",
    ):
        assert words in board


def test_a_sentence_that_comes_twice_is_measured_twice(treebank: Path, tmp_path: Path) -> None:
    from regard.evaluation import open_dataset

    twice = tmp_path / "twice.conllu"
    twice.write_text(treebank.read_text("utf-8") * 2, encoding="utf-8")
    model = train(document(treebank), tmp_path / "run")
    assert len(open_dataset(model, [str(twice)], [])) == 2 * len(open_dataset(model, [str(treebank)], []))
