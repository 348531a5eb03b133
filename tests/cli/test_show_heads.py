"""`regard show --heads`: the attention of each head of a run."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from xml.etree import ElementTree

import numpy as np
import pytest

from regard.cli import showing
from regard.trace import LayerHeads, Trace
from regard.trace.prediction import Prediction

Run = Callable[..., tuple[int, str, str]]
FIRST, SECOND = "source: encoder layer 1", "decoder layer 1 over source"


def trace(*, heads: bool) -> Trace:
    source, output = ["a", "b"], ["B", "A", "</s>"]
    weights = np.full((2, 2, 2), 0.5)
    found = {
        FIRST: LayerHeads("source", weights, source, source),
        SECOND: LayerHeads("source", np.full((2, 3, 2), 0.5), output, source),
    }
    return Trace({"source": source}, output, {"source": np.full((3, 2), 0.5)}, heads=found if heads else {})


@pytest.fixture
def answering(monkeypatch: pytest.MonkeyPatch) -> Callable[[dict[str, Trace]], None]:
    """Make a run answer with these traces, by output."""

    def answer(traces: dict[str, Trace]) -> None:
        model = SimpleNamespace(
            spec=SimpleNamespace(inputs={"source": None}, outputs=dict.fromkeys(traces)),
            output_name=lambda name, *_: name,
        )
        monkeypatch.setattr(showing, "load_any", lambda *_: model)
        monkeypatch.setattr(
            showing.ShowRequest, "by", lambda self, model, name: Prediction("BA", "BA", -0.5, traces[name])
        )

    return answer


def test_the_terminal_shows_all_heads_or_those_of_a_layer(
    regard: Run, answering: Callable[[dict[str, Trace]], None]
) -> None:
    answering({"target": trace(heads=True)})
    code, out, err = regard("show", "run", "ab", "--heads")
    assert code == 0, err
    assert FIRST in out and SECOND in out and out.count("head 2") == 2 and "log p -0.500" in out
    for chosen in ("2", SECOND):
        code, out, err = regard("show", "run", "ab", "--heads", "--layer", chosen)
        assert code == 0, err
        assert FIRST not in out and SECOND in out
    assert regard("show", "run", "ab", "--layer", "2")[1] == out
    _, both, _ = regard("show", "run", "ab", "--layer", "2", "--layer", "1")
    assert both.index(SECOND) < both.index(FIRST)


@pytest.mark.parametrize("ending", ["svg", "html", "png", "pdf"])
def test_heads_are_written_as_files(
    regard: Run, answering: Callable[[dict[str, Trace]], None], tmp_path: Path, ending: str
) -> None:
    answering({"target": trace(heads=True)})
    path = tmp_path / f"heads.{ending}"
    code, out, err = regard("show", "run", "ab", "--heads", "-o", str(path))
    assert code == 0, err
    assert out.splitlines() == ["BA", str(path)]
    start = {"svg": b"<svg", "html": b"<!doctype", "png": b"\x89PNG", "pdf": b"%PDF-"}[ending]
    assert path.read_bytes().startswith(start)
    if ending == "svg":
        groups = ElementTree.parse(path).getroot().iter("{http://www.w3.org/2000/svg}g")
        assert [group.get("class") for group in groups].count("matrix") == 4


def test_outputs_without_heads_are_left_out_where_another_has_some(
    regard: Run, answering: Callable[[dict[str, Trace]], None], tmp_path: Path
) -> None:
    answering({"label": trace(heads=False), "target": trace(heads=True)})
    code, _, err = regard("show", "run", "ab", "--heads", "-o", str(tmp_path / "heads.svg"))
    assert code == 0, err
    assert [path.name for path in tmp_path.iterdir()] == ["heads.svg"]
    assert regard("show", "run", "ab", "--heads", "--of", "label")[0] == 2


@pytest.mark.parametrize(
    ("heads", "arguments", "expected"),
    [
        (False, ["--heads"], "--heads: this model has no attention heads to show"),
        (False, ["--layer", "1"], "Leave out --heads and --layer to see the attention."),
        (True, ["--layer", "9"], f"no layer '9' with heads. Choose from 1 ({FIRST}), 2 ({SECOND})."),
        (True, ["--heads", "--look", "0-0"], "Leave out --look."),
        (True, ["--heads", "-o", "x.jpg"], ".jpg"),
    ],
)
def test_what_cannot_be_shown_is_refused_with_a_remedy(
    regard: Run,
    answering: Callable[[dict[str, Trace]], None],
    heads: bool,
    arguments: list[str],
    expected: str,
) -> None:
    answering({"target": trace(heads=heads)})
    code, _, err = regard("show", "run", "ab", *arguments)
    assert code == 2
    assert expected in " ".join(err.split())
    assert "Traceback" not in err


def test_a_gallery_draws_no_heads(regard: Run) -> None:
    code, _, err = regard("show", "run", "--gallery", "2", "--heads")
    assert code == 2 and "Use --heads with a text or --row." in err
