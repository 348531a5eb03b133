"""Folders of every format that a published version has written still open and answer the same.

`folders/format-1` is the first: 0.2.0 wrote it. A change of the format adds a folder here and an upgrade to
`regard.model.loading.UPGRADES`; no folder is ever removed.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

import regard
from regard import Model, RegardError
from regard.model import loading
from regard.model.saving import FORMAT

FOLDERS = Path(__file__).parent / "folders"
SAID = {"format-1": {"c a b": ("b a c", -0.01944), "h g f e d c b a": ("a b c d e f g h", -0.05747)}}
"""What each model answered when its folder was written, and the log-probability."""
Command = Callable[..., tuple[int, str, str]]


@pytest.fixture
def copied(tmp_path: Path) -> Path:
    """A copy of the newest folder, to change."""
    return Path(shutil.copytree(FOLDERS / f"format-{FORMAT}", tmp_path / "model"))


def set_format(folder: Path, number: int, **more: object) -> None:
    path = folder / "columns.json"
    content = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps({**content, "format": number, **more}), encoding="utf-8")


def test_there_is_a_folder_of_every_format() -> None:
    assert sorted(path.name for path in FOLDERS.iterdir()) == [f"format-{n}" for n in range(1, FORMAT + 1)]
    assert set(SAID) == {path.name for path in FOLDERS.iterdir()}


@pytest.mark.parametrize("name", SAID)
def test_it_opens_and_answers_as_when_it_was_written(name: str) -> None:
    model = Model.load(FOLDERS / name)
    for given, (text, score) in SAID[name].items():
        found = model.predict(given)
        assert found.text == text and found.score == pytest.approx(score, abs=1e-3)


def test_a_saved_copy_has_the_newest_format(tmp_path: Path) -> None:
    Model.load(FOLDERS / "format-1").save(tmp_path / "again")
    assert json.loads((tmp_path / "again" / "columns.json").read_text())["format"] == FORMAT


def test_a_newer_folder_is_refused_before_its_spec_is_read(copied: Path, regard: Command) -> None:
    """A newer version may have keys that this one does not know."""
    set_format(copied, FORMAT + 1)
    with (copied / "spec.yaml").open("a") as file:
        file.write("something_new: {type: unheard}\n")
    code, _, err = regard("predict", str(copied), "a", "b")
    assert code == 2 and f"this model has format {FORMAT + 1}" in err
    assert "pip install -U regard" in " ".join(err.split())


def test_an_older_format_is_upgraded_step_by_step(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Two formats ago the columns were called fields, one format ago columns of text were called words."""
    columns = json.loads((FOLDERS / "format-1" / "columns.json").read_text(encoding="utf-8"))["columns"]
    older = {name: {**state, "type": "words"} for name, state in columns.items() if state["type"] == "text"}
    path = tmp_path / "columns.json"
    path.write_text(json.dumps({"format": FORMAT - 2, "fields": older}), encoding="utf-8")

    def renamed(content: dict[str, object]) -> dict[str, object]:
        return {"columns": content["fields"]}

    def retyped(content: dict[str, dict[str, dict[str, object]]]) -> dict[str, object]:
        return {"columns": {name: {**state, "type": "text"} for name, state in content["columns"].items()}}

    monkeypatch.setattr(loading, "UPGRADES", {FORMAT - 2: renamed, FORMAT - 1: retyped})
    found = loading.read_columns(path)
    assert {name: one.state() for name, one in found.items()} == {name: columns[name] for name in older}
    monkeypatch.setattr(loading, "UPGRADES", {FORMAT - 1: retyped})
    with pytest.raises(RegardError, match=r"Use the version of regard that card\.md names"):
        loading.read_columns(path)


def test_a_folder_names_the_version_that_wrote_it() -> None:
    written = json.loads((FOLDERS / f"format-{FORMAT}" / "parts.json").read_text(encoding="utf-8"))["regard"]
    assert [int(part) for part in written.split(".")] <= [int(part) for part in regard.__version__.split(".")]
