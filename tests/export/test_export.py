"""A model in ONNX answers as ours, with the same attention, without torch; a failed export leaves nothing."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from regard import Model
from regard.errors import RegardError
from regard.export import export, parity, recipes
from regard.export.exporting import check_free
from regard.export.recording import record
from regard.parts import names
from tests.export.small import TRANSFORMER, UNSEEN, saved, trained

WITHOUT_TORCH = """
import sys
class Refused:
    def find_spec(self, name, *given):
        if name.partition(".")[0] in ("torch", "regard"):
            raise ImportError(f"{name} is not here")
sys.meta_path.insert(0, Refused())
sys.argv = sys.argv[1:]
import runpy
runpy.run_path(sys.argv[0], run_name="__main__")
"""
Command = Callable[..., tuple[int, str, str]]


@pytest.fixture(scope="session")
def model(tmp_path_factory: pytest.TempPathFactory) -> Model:
    parts = {"encoder": {"size": 8, "embedding": 6, "bidirectional": False, "direction": "backward"}}
    return saved(
        trained(**parts, search={"method": "beam", "beam": 3}), tmp_path_factory.mktemp("run") / "my"
    )


@pytest.fixture(scope="session")
def exported(model: Model, tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("onnxruntime")
    return export(model, tmp_path_factory.mktemp("export") / "my")


def test_onnx_answers_without_torch(model: Model, exported: Path, tmp_path: Path) -> None:
    (tmp_path / "inputs.txt").write_text("\n".join(UNSEEN) + "\n", encoding="utf-8")
    program = tmp_path / "without.py"
    program.write_text(WITHOUT_TORCH)
    given = [str(exported / "run.py"), "-f", str(tmp_path / "inputs.txt"), "--json"]
    done = subprocess.run([sys.executable, str(program), *given], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    theirs = [json.loads(line) for line in done.stdout.splitlines()]
    ours = model.predict(UNSEEN)
    assert len({answer.text for answer in ours}) > 3, "the answers should differ"
    assert [one["text"] for one in theirs] == [one.text for one in ours]
    for mine, other in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(other["attention"]["source"], mine.trace.attention["source"], atol=1e-5)


def test_the_folder_says_what_it_holds(exported: Path) -> None:
    names_ = {path.name for path in exported.iterdir()}
    assert names_ == {"encoder.onnx", "step.onnx", "model.json", "run.py", "README.md", "manifest.json"}
    readme = (exported / "README.md").read_text(encoding="utf-8")
    told = json.loads((exported / "model.json").read_text(encoding="utf-8"))
    assert told["digest"] in readme and "python run.py" in readme
    assert told["search"] == {
        "method": "beam", "beam": 3, "length_penalty": 1.0, "n_best": 1, "min_length": 0, "max_length": None,
        "replace_unknown": False,
    }  # fmt: skip


def test_axes_of_any_length_have_names(exported: Path) -> None:
    onnx = pytest.importorskip("onnx")
    step = onnx.load(str(exported / "step.onnx")).graph
    shapes = {
        value.name: [size.dim_param or size.dim_value for size in value.type.tensor_type.shape.dim]
        for value in (*step.input, *step.output)
    }
    assert shapes["tokens"] == ["rows", "hypotheses"]
    assert shapes["attention.source"] == ["rows", "hypotheses", shapes["memory.source.mask"][1]]


def test_only_an_export_is_replaced(model: Model, exported: Path, tmp_path: Path) -> None:
    check_free(exported)
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(RegardError, match="not written by an export"):
        export(model, tmp_path)
    assert (tmp_path / "notes.txt").read_text() == "mine" and len(list(tmp_path.iterdir())) == 1


def test_a_difference_is_found(model: Model) -> None:
    """Parity against the modules themselves with one attention weight moved."""
    graphs = record(model.network, "target", recipes.examples(model))

    def run(name: str, given: Mapping[str, np.ndarray], moved: float = 0.0) -> dict[str, np.ndarray]:
        import torch

        graph = graphs.named(name)
        found = graph.module(*(torch.from_numpy(np.array(given[one])) for one in graph.inputs))
        outputs = {one: part.numpy().copy() for one, part in zip(graph.outputs, found, strict=True)}
        if "attention.source" in outputs:
            outputs["attention.source"][0, 0, 0] += moved
        return outputs

    found = parity.compare(graphs, recipes.input_recipes(model), run)
    assert found.rows == 14 and found.attention < 1e-6
    with pytest.raises(RegardError, match=r"differ by .* in attention.source"):
        parity.compare(graphs, recipes.input_recipes(model), lambda *given: run(*given, moved=2e-5))


def test_a_failed_export_leaves_nothing(
    model: Model, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*given: Any) -> None:
        raise RuntimeError("torch cannot record this.\nmore lines")

    monkeypatch.setattr("regard.export.exporters.torch.record", fail)
    with pytest.raises(RegardError, match=r"torch cannot record this\. Nothing was written"):
        export(model, tmp_path / "out", to="torch")
    assert list(tmp_path.iterdir()) == []


CRF = {"outputs": {"tags": {"type": "tags", "of": "source"}}, "decoder": {"type": "crf"}, "attention": None}
LETTERS = {"outputs": {"target": {"type": "text", "unit": "char"}}, "decoder": {"size": 10, "copy": True}}


@pytest.mark.parametrize(
    ("parts", "reason"),
    [
        (CRF, "answers by a structure"),
        ({"search": {"method": "sample"}}, "it searches by sample"),
        (LETTERS, "copies words of source"),
    ],
    ids=["crf", "sample", "copy"],
)
def test_what_cannot_be_exported_is_said_first(parts: dict[str, Any], reason: str, tmp_path: Path) -> None:
    with pytest.raises(RegardError, match=f"cannot be exported.*({reason})"):
        export(trained(0, **parts), tmp_path / "out")
    assert list(tmp_path.iterdir()) == []


def test_formats_and_missing_packages(model: Model, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert names("exporter") == ["aoti", "ctranslate2", "onnx", "torch"]
    with pytest.raises(RegardError, match="there is no format 'tensorflow'"):
        export(model, tmp_path / "out", to="tensorflow")
    with pytest.raises(RegardError, match="the encoder is no Transformer"):
        export(model, tmp_path / "out", to="ctranslate2")
    monkeypatch.setattr("regard.export.exporting.find_spec", lambda name: None)
    for to in ("onnx", "ctranslate2"):
        with pytest.raises(RegardError, match="which is not installed") as told:
            export(model, tmp_path / "out", to=to)
        assert f"pip install 'regard[{to}]'" in str(told.value)


def test_a_transformer_for_ctranslate2(tmp_path: Path) -> None:
    pytest.importorskip("ctranslate2")
    model = trained(80, encoder=TRANSFORMER, decoder=TRANSFORMER, attention=None)
    assert (export(model, tmp_path / "out", to="ctranslate2") / "model.bin").is_file()


def test_the_command_checks_without_writing(
    regard: Command, model: Model, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("regard.export.checking._recorded", lambda *given: "")
    code, out, _ = regard("export", str(model.folder), "--check")
    assert code == 0 and "onnx: yes" in out and "ctranslate2: the encoder is no Transformer" in out
    assert list(tmp_path.iterdir()) == []
