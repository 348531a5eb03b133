"""Parts of one's own that fail, or return what regard cannot use, in a model: the message names the part."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

import regard
import regard.cli
from regard.data.columns import LabelColumn
from regard.errors import RegardError
from regard.nn.cells.gru import GRUCell
from regard.nn.decoders import LabelDecoder
from regard.nn.encoders.recurrent import RecurrentEncoder
from regard.nn.scores.dot import Dot
from regard.nn.selections.softmax import Softmax
from regard.parts import KINDS, names, register, registry

ROWS = [(word, word[0]) for word in ("abc", "bca", "cab", "acb", "bac", "cba")] * 3
SPEC: dict[str, Any] = {
    "inputs": {"source": {"type": "text", "unit": "char"}},
    "outputs": {"target": {"type": "label"}},
    "encoder": {"type": "recurrent", "size": 4, "embedding": 4},
    "training": {"steps": 1},
}


@pytest.fixture(autouse=True)
def only_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Forget what a test registers."""
    monkeypatch.chdir(tmp_path)
    for kind in KINDS:
        names(kind)
    before = {kind: dict(known) for kind, known in registry.PARTS.items()}
    yield
    for kind in KINDS:
        registry.PARTS[kind] = before[kind]


def fitted(**changes: Any) -> regard.Model:
    return regard.fit(ROWS, dev=ROWS, spec={**SPEC, **changes}, device="cpu", quiet=True)


def derived(kind: str, base: Any, **methods: Any) -> Any:
    """A subclass of one of our parts, registered as `bad`."""
    options = type("Options", (base.Options,), {"__doc__": "Bad.", "__module__": __name__})
    body = {**methods, "Options": options, "__module__": __name__, "__doc__": "Bad."}
    return register(kind, "bad")(type("Bad", (base,), body))


def fails(self: Any, *args: Any, **kwargs: Any) -> Any:
    raise IndexError("the sky is green")


def returns(value: Any) -> Callable[..., Any]:
    return lambda *args, **kwargs: value


CASES: dict[str, tuple[str, Any, dict[str, Any], dict[str, Any]]] = {
    "a cell's tuple": (
        "cell",
        GRUCell,
        {"advance": returns((torch.zeros(1), torch.zeros(1)))},
        {"encoder": {**SPEC["encoder"], "cell": "bad"}},
    ),
    "a cell without an argument": (
        "cell",
        GRUCell,
        {"advance": lambda self, projected: projected},
        {"encoder": {**SPEC["encoder"], "cell": "bad"}},
    ),
    "a score's shape": (
        "score",
        Dot,
        {"forward": returns(torch.zeros(2, 9, 9, 9))},
        {"attention": {"score": "bad"}},
    ),
    "a score without an argument": (
        "score",
        Dot,
        {"forward": lambda self, query: query},
        {"attention": {"score": "bad"}},
    ),
    "a selection's tuple": (
        "selection",
        Softmax,
        {"forward": returns((1, 2))},
        {"attention": {"score": "dot", "select": "bad"}},
    ),
    "an encoder's tensor": (
        "encoder",
        RecurrentEncoder,
        {"forward": returns(torch.zeros(3))},
        {"encoder": {**SPEC["encoder"], "type": "bad"}},
    ),
    "a decoder's loss": (
        "decoder",
        LabelDecoder,
        {"loss": returns(None)},
        {"decoder": {"type": "bad"}},
    ),
    "a decoder's error": (
        "decoder",
        LabelDecoder,
        {"build": classmethod(fails)},
        {"decoder": {"type": "bad"}},
    ),
    "a column's codes": (
        "column",
        LabelColumn,
        {"encode": fails},
        {"outputs": {"target": {"type": "bad"}}, "decoder": {"type": "label"}},
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_training_names_the_part_and_keeps_the_cause(case: str) -> None:
    kind, base, methods, changes = CASES[case]
    if kind == "column":
        methods = {**methods, "decoder": "wide"}
        register("decoder", "wide")(
            type("Wide", (LabelDecoder,), {"writes": ("bad",), "__module__": __name__, "__doc__": "Wide."})
        )
        changes = {"outputs": changes["outputs"]}
    derived(kind, base, **methods)
    with pytest.raises(RegardError) as caught:
        fitted(**changes)
    assert f"the {kind} 'bad' ({__name__})" in caught.value.what
    assert f"regard.testing.check_part('{kind}', 'bad')" in caught.value.fix
    cause = caught.value.__cause__
    assert cause is not None
    assert not isinstance(cause, RegardError)
    assert f"{type(cause).__name__}: {cause}" in caught.value.what


@pytest.fixture
def trained() -> tuple[regard.Model, Any]:
    made = derived("cell", GRUCell, advance=lambda self, *args: GRUCell.advance(self, *args))
    return fitted(encoder={**SPEC["encoder"], "cell": "bad"}), made


def test_predicting_scoring_and_evaluating_name_the_method(
    trained: tuple[regard.Model, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    model, made = trained
    monkeypatch.setattr(made, "advance", fails)
    said = r"the cell 'bad' \(.*\): fails failed, or returned what regard cannot use: IndexError: the sky"
    for call in (
        lambda: model.predict("abc"),
        lambda: model.score("abc", "a"),
        lambda: model.evaluate(data=ROWS),
    ):
        with pytest.raises(RegardError, match=said):
            call()


def test_the_command_line_says_one_line(
    trained: tuple[regard.Model, Any], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    model, made = trained
    model.save("saved")
    monkeypatch.setattr(made, "advance", fails)
    monkeypatch.setattr("sys.argv", ["regard", "predict", "saved", "abc"])
    with pytest.raises(SystemExit) as ended:
        regard.cli.main()
    assert ended.value.code == 2
    told = capsys.readouterr().err
    assert "Traceback" not in told
    assert "IndexError: the sky is green" in told
    monkeypatch.setenv("REGARD_TRACEBACK", "1")
    with pytest.raises(RegardError):
        regard.cli.main()


def test_other_exceptions_stay_what_they_are(
    trained: tuple[regard.Model, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    class Ends(regard.training.Callback):
        def on_end(self, figures: Any) -> None:
            raise IndexError("mine")

    changed = {**SPEC, "encoder": {**SPEC["encoder"], "cell": "bad"}}
    with pytest.raises(IndexError, match="mine"):
        regard.fit(ROWS, dev=ROWS, spec=changed, device="cpu", quiet=True, callbacks=[Ends()])
    model, made = trained
    for kind in (MemoryError, KeyboardInterrupt, torch.OutOfMemoryError, FileNotFoundError):

        def ends(*args: Any, kind: type[BaseException] = kind) -> Any:
            raise kind("no")

        monkeypatch.setattr(made, "advance", ends)
        with pytest.raises(kind):
            model.predict("abc")


def test_a_bug_of_ours_keeps_its_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    model = fitted()
    monkeypatch.setattr(RecurrentEncoder, "forward", fails)
    with pytest.raises(IndexError, match="the sky"):
        model.predict("abc")
