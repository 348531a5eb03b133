"""What cannot be exported is said before anything is written, and nothing of others is replaced. The answers of an
export are checked by bench/export.py, and where the commands of its page are run (`bench/machines.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from regard import Model
from regard.errors import RegardError
from regard.export import Exporter, compare, export, programs, runner
from regard.parts import names, registry
from tests.export.small import LABEL, TRANSFORMER, UNSEEN, saved, trained

Command = Callable[..., tuple[int, str, str]]


@pytest.fixture(scope="session")
def model(tmp_path_factory: pytest.TempPathFactory) -> Model:
    parts = {"encoder": {"size": 8, "embedding": 6, "bidirectional": False, "direction": "backward"}}
    return saved(
        trained(20, **parts, search={"method": "beam", "beam": 3}), tmp_path_factory.mktemp("run") / "my"
    )


class Spelled(Exporter):
    """The number of weights, as an exporter of somebody else's would write it."""

    @classmethod
    def refused(cls, model: Any, output: str) -> str:
        return ""

    @classmethod
    def write(cls, model: Any, output: str, folder: Path) -> list[str]:
        (folder / "count.txt").write_text(str(sum(one.numel() for one in model.network.parameters())))
        return [f"- `count.txt`: the weights of {output}"]


def test_only_an_export_is_replaced(model: Model, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(registry.PARTS["exporter"], "spelled", Spelled)
    out = tmp_path / "out"
    for _ in range(2):
        assert export(model, out, to="spelled") == out
    assert {path.name for path in out.iterdir()} == {"count.txt", "README.md", "manifest.json"}
    assert "the weights of target" in (out / "README.md").read_text(encoding="utf-8")
    (out / "count.txt").write_text("7")
    with pytest.raises(RegardError, match="was changed since"):
        export(model, out, to="spelled")
    export(model, out, to="spelled", overwrite=True)
    assert (out / "count.txt").read_text() != "7"
    (out / "notes.txt").write_text("mine")
    with pytest.raises(RegardError, match="not written by an export"):
        export(model, out, to="spelled", overwrite=True)
    assert (out / "notes.txt").read_text() == "mine" and [path.name for path in tmp_path.iterdir()] == ["out"]


def test_a_difference_is_found(model: Model) -> None:
    """Parity against the modules themselves with one attention weight moved."""
    graphs = programs(model, "target")

    def run(name: str, given: Mapping[str, np.ndarray], moved: float = 0.0) -> dict[str, np.ndarray]:
        graph = graphs.named(name)
        found = graph.module(*(torch.from_numpy(np.array(given[one])) for one in graph.inputs))
        outputs = {one: part.numpy().copy() for one, part in zip(graph.outputs, found, strict=True)}
        if "attention.source" in outputs:
            outputs["attention.source"][0, 0, 0] += moved
        return outputs

    found = compare(graphs, run)
    assert found.rows == 14 and found.attention < 1e-6
    with pytest.raises(RegardError, match=r"differ by .* in attention.source"):
        compare(graphs, lambda *given: run(*given, moved=2e-5))


def test_a_failed_export_leaves_nothing(
    model: Model, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*given: Any) -> None:
        raise RuntimeError("torch cannot record this.\nmore lines")

    monkeypatch.setattr("regard.export.recipes.record", fail)
    with pytest.raises(RegardError, match=r"torch cannot record this\. Nothing was written"):
        export(model, tmp_path / "out", to="torch")
    assert list(tmp_path.iterdir()) == []


class Opened(runner.Exported):
    """The runner, with programs of `torch.export` in the place of ONNX graphs."""

    def run(self, name: str, given: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        told = self.description["graphs"][name]
        program = torch.export.load(str(self.folder / told["file"])).module()
        found = program(*(torch.from_numpy(np.array(given[one])) for one in told["inputs"]))
        return {one: part.detach().numpy() for one, part in zip(told["outputs"], found, strict=True)}


def test_programs_of_torch_answer_alike(tmp_path: Path) -> None:
    """The cheapest model; bench/export.py tries those with an encoder and steps."""
    model = trained(30, **LABEL)
    out = export(model, tmp_path / "out", to="torch")
    assert {path.name for path in out.iterdir()} == {"model.pt2", "model.json", "README.md", "manifest.json"}
    ours, theirs = model.predict(UNSEEN), Opened(out).predict(UNSEEN)
    assert [one.text for one in theirs] == [one.text for one in ours]
    assert len({one.text for one in ours}) == 2
    assert [one.score for one in theirs] == pytest.approx([one.score for one in ours], abs=1e-5)


def test_double_precision_is_that_of_the_weights(model: Model, tmp_path: Path) -> None:
    label = trained(30, **LABEL)
    out = export(label, tmp_path / "out", to="torch", double=True)
    assert {one.dtype for one in label.network.parameters()} == {torch.float32}, "the model stays as it was"
    exact = [one.score for one in Opened(out).predict(UNSEEN)]
    label.network.double()
    assert exact == pytest.approx([one.score for one in label.predict(UNSEEN)], abs=1e-12)
    with pytest.raises(RegardError, match="no double precision"):
        export(
            trained(0, encoder=TRANSFORMER, decoder=TRANSFORMER, attention=None),
            tmp_path,
            to="ctranslate2",
            double=True,
        )


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
    model = trained(0, encoder=TRANSFORMER, decoder=TRANSFORMER, attention=None)
    assert (export(model, tmp_path / "out", to="ctranslate2") / "model.bin").is_file()


def test_the_command_checks_without_writing(
    regard: Command, model: Model, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("regard.export.checking._recorded", lambda *given: "")
    code, out, _ = regard("export", str(model.folder), "--check")
    assert code == 0 and "onnx: yes" in out and "ctranslate2: the encoder is no Transformer" in out
    assert list(tmp_path.iterdir()) == []
