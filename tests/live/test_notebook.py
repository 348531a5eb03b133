"""The live view of a notebook: what the model answers to edits, and a notebook that is executed."""

import builtins
import gc
import pickle
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

import regard
from regard.errors import RegardError
from regard.live import notebook
from tests.inspect.drawn_traces import tiny
from tests.studio.small_runs import small_run

PIN = {"edit": "pin", "input": "source", "step": 0, "position": 2}


NOTEBOOK = pytest.mark.skipif(find_spec("anywidget") is None, reason="anywidget is not installed")


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return regard.load(
        small_run("translation", tmp_path_factory.mktemp("runs") / "translation"), device="cpu"
    )


def asked(widget, **content):
    widget._asked(widget, content, [])
    return widget.state


@NOTEBOOK
def test_an_edit_is_answered_as_by_predict(model):
    prediction = model.predict("I see the onion")
    widget = prediction.explore()
    assert widget.state["editable"] and widget.state["answer"]["text"] == prediction.text
    state = asked(widget, edits=[PIN], panel=None)
    edited = model.predict("I see the onion", look=[PIN])
    answer = state["answer"]
    assert (answer["text"], answer["before"]["text"]) == (edited.text, prediction.text)
    assert [one["text"] for one in answer["pieces"]] == list(edited.trace.output)
    cells = [mark for mark in _marks(answer["scene"]["marks"]) if mark.get("at", {}).get("kind") == "weight"]
    row = {cell["at"]["position"]: cell["at"]["value"] for cell in cells if cell["at"]["step"] == 0}
    assert row[2] == 1.0 and sum(row.values()) == pytest.approx(1.0)


def _marks(marks):
    for mark in marks:
        yield mark
        yield from _marks(mark.get("marks", ()))


@NOTEBOOK
def test_a_wrong_edit_is_told_in_its_place_and_the_answer_stays(model):
    widget = model.predict("I see the onion").explore()
    before = widget.state["answer"]
    state = asked(widget, edits=[{**PIN, "input": "nobody"}], panel=None)
    assert "nobody" in state["error"]["message"] and state["error"]["fix"]
    assert state["answer"] == before
    assert asked(widget, edits=[], panel=None)["error"] is None


@NOTEBOOK
def test_panels_are_drawn_when_they_are_asked_for(model):
    widget = model.predict("I see the onion").explore()
    names = [panel["name"] for panel in widget.state["answer"]["panels"]]
    for name in names:
        panel = asked(widget, edits=[], panel=name)["answer"]["panel"]
        assert panel["name"] == name and (panel.get("scene") or panel.get("steps"))


@NOTEBOOK
def test_without_a_model_a_view_is_only_read(tmp_path):
    assert not tiny().explore().state["editable"]
    model = regard.load(small_run("translation", tmp_path / "run"), device="cpu")
    prediction = model.predict("I see")
    assert pickle.loads(pickle.dumps(prediction)).again is None
    del model
    gc.collect()
    with pytest.raises(RegardError, match="not in memory"):
        prediction.again([PIN])


def test_without_the_library_the_extra_is_named(monkeypatch):
    real = builtins.__import__

    def without(name, *args, **options):
        if name == "anywidget":
            raise ImportError(name)
        return real(name, *args, **options)

    notebook._widget_class.cache_clear()
    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(RegardError, match="anywidget") as told:
        tiny().explore()
    assert "regard[notebook]" in str(told.value)


@NOTEBOOK
def test_a_view_is_found_after_another_figure_was_drawn():
    """The drawings may be loaded by a figure that needs no registry, such as an evaluation's."""
    code = "import regard.inspect\nfrom tests.inspect.drawn_traces import tiny\ntiny().explore()"
    subprocess.run([sys.executable, "-c", code], check=True, cwd=Path(__file__).parents[2])


@NOTEBOOK
def test_a_notebook_shows_it_with_its_script(monkeypatch):
    nbclient, nbformat = pytest.importorskip("nbclient"), pytest.importorskip("nbformat")
    pytest.importorskip("ipykernel")
    code = "from tests.inspect.drawn_traces import tiny\ntiny().explore()"
    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(code)])
    nbclient.NotebookClient(book, timeout=120, kernel_name="python3").execute()
    (output,) = book.cells[0].outputs
    view = output["data"]["application/vnd.jupyter.widget-view+json"]
    assert "<svg" in output["data"]["text/html"]
    states = book.metadata["widgets"]["application/vnd.jupyter.widget-state+json"]["state"]
    shown = states[view["model_id"]]["state"]
    assert shown["state"]["answer"]["scene"]["title"] == tiny().plot().title
    assert "createElementNS" in shown["_esm"] and ".rg-figure" in shown["_css"]
