"""Mistakes of an author: each ends in a sentence that names the part, the method, and what was expected."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import regard
from regard.data import Row
from regard.errors import RegardError
from regard.nn.letters import gate_letters
from regard.parts import find
from regard.testing import check_part

Mine: type
GRU, LABEL, NTM = find("cell", "gru"), find("decoder", "label"), find("store", "ntm")
NAN = float("nan")


def derived(kind: str, name: str, base: Any = None, **written: Any) -> type:
    """A class that is right except for what is written here."""
    global Mine  # where pickle looks for it
    base = base or find(kind, name)
    Mine = type("Mine", (base,), {"__module__": __name__, **written})
    return Mine


def of_class(function: Callable[..., Any]) -> Any:
    return classmethod(function)


def sum_of_all(self: Any, scores: Any, mask: Any, given: Any = None) -> Any:
    return torch.softmax(scores, -1)


class Mean(find("encoder", "mean")):  # type: ignore[misc]
    """An encoder whose values depend on the padding."""

    class Options(find("encoder", "mean").Options):  # type: ignore[misc]
        """As mean."""

    def forward(self, tokens: Any) -> Any:
        found = super().forward(tokens)
        return regard.nn.Memory(found.values, found.mask, found.values.mean(1) + found.mask.shape[1])


CHECKED: dict[str, tuple[str, Any, str]] = {
    # what is wrong: (kind, class, what the sentence says)
    "the mask is ignored": (
        "selection",
        lambda: derived("selection", "softmax", forward=sum_of_all),
        "forward: expected a weight of 0 where the mask is False",
    ),
    "weights of the wrong shape": (
        "selection",
        lambda: derived("selection", "softmax", forward=lambda self, scores, mask, given=None: scores.sum(-1)),
        r"forward: expected the shape \(B, T, S\) = \(2, 3, 4\); received \(2, 3\)",
    ),
    "weights of the wrong type": (
        "selection",
        lambda: derived("selection", "softmax", forward=lambda self, scores, mask, given=None: scores.argsort(-1)),
        "forward: expected floating-point numbers; received torch.int64",
    ),
    "NaN is swallowed": (
        "selection",
        lambda: derived(
            "selection",
            "softmax",
            forward=lambda self, scores, mask, given=None: regard.nn.masked_softmax(
                scores.nan_to_num(), mask if mask.ndim == 3 else mask.unsqueeze(1)
            ),
        ),
        "forward: expected NaN in the scores to reach the weights",
    ),
    "nonsense in the notation": (
        "selection",
        lambda: derived("selection", "softmax", equations=of_class(lambda cls, options, look: ["α is = what ++"])),
        "equations: expected lines of the notation",
    ),
    "equations of something else": (
        "selection",
        lambda: derived(
            "selection",
            "softmax",
            equations=of_class(lambda cls, options, look: [f"{look.weights} = softmax_{look.below}(2 {look.energy})"]),
        ),
        "equations: expected equations that give α_tj as the code computes it; received other values",
    ),
    "one text instead of lines": (
        "cell",
        lambda: derived("cell", "gru", equations=of_class(lambda cls, options, mark: "h = x")),
        "equations: expected a list of lines; received str",
    ),
    "a cell with another recurrence than its equations": (
        "cell",
        lambda: derived("cell", "gru", advance=lambda self, p, s: GRU.advance(self, p, s) * 0.9),
        "equations: expected equations that give",
    ),
    "a state of the wrong size": (
        "cell",
        lambda: derived("cell", "gru", advance=lambda self, projected, state: projected),
        r"advance: expected the shape \(…, state_size\) = \(2, 4\); received \(2, 12\)",
    ),
    "a cell that only takes two dimensions": (
        "cell",
        lambda: derived("cell", "gru", advance=lambda self, projected, state: _two(self, projected, state)),
        "advance: expected any number of leading dimensions, as a beam search has them; received ValueError",
    ),
    "rows that see each other": (
        "cell",
        lambda: derived(
            "cell", "gru", advance=lambda self, p, s: GRU.advance(self, p, s) + GRU.advance(self, p, s).mean()
        ),
        "advance: expected a row's output not to depend on the other rows",
    ),
    "a weight without a gradient": (
        "cell",
        lambda: derived("cell", "gru", __init__=_more),
        "advance: expected a gradient for every parameter; received none for unused",
    ),
    "state beside the weights": (
        "cell",
        lambda: derived("cell", "gru", __init__=_hidden, advance=_scaled),
        "state_dict: expected the same output after saving and loading its state",
    ),
    "something that cannot be copied": (
        "cell",
        lambda: derived("cell", "gru", __init__=_locked),
        "copy.deepcopy: expected a copy; received TypeError",
    ),
    "scores of the wrong shape": (
        "score",
        lambda: derived("score", "general", forward=lambda self, query, keys, previous=None: query @ query.mT),
        r"forward: expected the shape \(B, T, S\) = \(2, 3, 5\); received \(2, 3, 3\)",
    ),
    "a call that fails": (
        "score",
        lambda: derived("score", "general", forward=lambda self, query, keys: query.nothing),
        "forward: expected scores; received AttributeError",
    ),
    "a composer's node of the wrong size": (
        "composer",
        lambda: derived("composer", "rnn", pair=lambda self, left, right: torch.cat([left, right], -1)),
        r"pair: expected the shape \(…, state_size\) = \(2, 4\); received \(2, 8\)",
    ),
    "a store that returns a tuple": (
        "store",
        lambda: derived("store", "ntm", step=lambda self, controller, state: (controller, state)),
        "step: expected a StoreStep; received AttributeError",
    ),
    "a network without a summary": (
        "network",
        lambda: derived("network", "resnet", forward=lambda self, pixels: pixels),
        "forward: expected a tuple of features and a summary; received Tensor",
    ),
    "features that are NaN": (
        "network",
        lambda: derived("network", "resnet", forward=_bad_features),
        "forward: expected finite numbers for finite inputs; received NaN in features",
    ),
    "an encoder of NaN": (
        "encoder",
        lambda: derived("encoder", "mean", forward=_bad_memory),
        "forward: expected finite numbers for finite inputs; received NaN in values",
    ),
    "a cell of NaN": (
        "cell",
        lambda: derived("cell", "gru", advance=lambda self, p, s: GRU.advance(self, p, s) * NAN),
        "advance: expected finite numbers for finite inputs; received NaN",
    ),
    "a score of NaN": (
        "score",
        lambda: derived("score", "general", forward=lambda self, q, k, previous=None: q @ k.mT * NAN),
        "forward: expected finite numbers for finite inputs; received NaN",
    ),
    "a composer of NaN": (
        "composer",
        lambda: derived("composer", "rnn", pair=lambda self, left, right: left * NAN),
        "pair: expected finite numbers for finite inputs; received NaN",
    ),
    "a store of NaN": (
        "store",
        lambda: derived("store", "ntm", step=lambda self, control, state: _stepped(self, control, state, NAN)),
        "step: expected finite numbers for finite inputs; received NaN",
    ),
    "a loss that is NaN": (
        "decoder",
        lambda: derived("decoder", "label", loss=_bad_loss),
        "loss: expected finite numbers for finite inputs; received NaN in total",
    ),
    "a decoder that refuses by an exception of its own": (
        "decoder",
        lambda: derived("decoder", "label", loss=_distributed),
        "loss: expected a Loss; received ValueError",
    ),
    "a cell in double precision": (
        "cell",
        lambda: derived("cell", "gru", advance=lambda self, p, s: GRU.advance(self, p, s).double()),
        "advance: expected numbers of torch.float32, as its inputs are; received torch.float64",
    ),
    "a score in double precision": (
        "score",
        lambda: derived("score", "dot", forward=lambda self, q, k, previous=None: (q @ k.mT).double()),
        "forward: expected numbers of torch.float32, as its inputs are; received torch.float64",
    ),
    "a composer in double precision": (
        "composer",
        lambda: derived("composer", "rnn", pair=lambda self, left, right: (left + right).double()),
        "pair: expected numbers of torch.float32, as its inputs are; received torch.float64",
    ),
    "a store in double precision": (
        "store",
        lambda: derived("store", "ntm", step=lambda self, control, state: _stepped(self, control, state, 1.0)),
        "step: expected numbers of torch.float32, as its inputs are; received torch.float64",
    ),
    "a store that starts with one row": (
        "store",
        lambda: derived("store", "ntm", start=lambda self, rows: NTM.start(self, 1)),
        "start: expected a state with 2 rows, as asked; received a tensor",
    ),
    "an option without a default": (
        "logger",
        lambda: derived("logger", "mine", regard.training.Logger, Options=Needy, write=lambda self, values: None),
        "Options: expected options with defaults; received the option 'must' without a default",
    ),
    "no prediction has a trace": (
        "decoder",
        lambda: derived("decoder", "label", predictions=_untraced),
        "predictions: expected a trace in every prediction, as asked; received None",
    ),
    "a metric whose value is nothing": (
        "metric",
        lambda: derived("metric", "exact", value=lambda self, sums: None),
        "the metric mine: value returned NoneType, expected a number",
    ),
    "a world with a field in no row": (
        "world",
        lambda: derived("world", "copy", splits=lambda self: {"train": [Row({"source": "a", "target": "a"})]}),
        "fields: expected fields that some row has; received no row with alignment",
    ),
    "a reader of another reader's extension": (
        "reader",
        lambda: derived("reader", "csv", suffixes=(".tsv",)),
        "suffixes: expected extensions that no other reader takes; received '.tsv', which the reader tsv takes",
    ),
    "a sentence in place of an equation": (
        "cell",
        lambda: derived("cell", "gru", equations=of_class(lambda cls, options, mark: ["h equals x"])),
        "equations: expected lines of the notation; received 'h equals x', a line that cannot be read",
    ),
    "letters that no weight fits": (
        "score",
        lambda: derived("score", "dot", equation=of_class(lambda cls, options, q, k, mark: f"{q}·W_{mark} {k}")),
        "letters: expected a parameter for each letter of the equations; received none for W_a; it has no weights",
    ),
    "letters of gates in another order": (
        "cell",
        lambda: derived(
            "cell",
            "gru",
            written_name=of_class(lambda cls, options: "gru"),
            letters=of_class(lambda cls, options, mark: gate_letters("zrn", mark)),
        ),
        "equations: expected equations that give gru_x.h, x. as the code computes it; received other values",
    ),
    "a parameter without a letter": (
        "score",
        lambda: derived("score", "general", letters=of_class(lambda cls, options, look: {})),
        "letters: expected a letter for each parameter; received none for key.weight",
    ),
    "letters of more gates than there are": (
        "cell",
        lambda: derived("cell", "gru", letters=of_class(lambda cls, options, mark: gate_letters("rzfgo", mark))),
        "letters: expected 5 equal pieces of weight_ih, for W_rx, .*; received 12 rows",
    ),
    "a letter that is on no line": (
        "encoder",
        lambda: derived("encoder", "mean", letters=of_class(lambda cls, options: {"embedding.weight": "W_z"})),
        "letters: expected letters that stand in the equations; received W_z of encoders.*embedding.weight",
    ),
    "an encoder that sees the padding": (
        "encoder",
        lambda: Mean,
        "forward: expected a summary that does not depend on the padding",
    ),
    "an encoder without a memory": (
        "encoder",
        lambda: derived("encoder", "mean", forward=lambda self, tokens: self.embedding.read(tokens)),
        "forward: expected a Memory; received Tensor",
    ),
    "a loss that is a number": (
        "decoder",
        lambda: derived("decoder", "label", loss=lambda self, memories, target, truth=None: torch.zeros(())),
        "loss: expected a Loss; received TypeError: the decoder of .*: loss returned Tensor, expected a Loss",
    ),
    "too few answers": (
        "decoder",
        lambda: derived("decoder", "label", predictions=lambda self, *more: LABEL.predictions(self, *more)[:-1]),
        "predict.*predictions returned 5 answers for 6 rows",
    ),
    "a column that forgets what it learned": (
        "column",
        lambda: derived("column", "text", learned=lambda self: {"pieces": []}, relearn=lambda self, learned: None),
        "relearn: expected",
    ),
    "a column with a scalar that is a sequence": (
        "column",
        lambda: derived("column", "number", encode=lambda self, value: np.array([float(value)])),
        "encode: expected|collate: expected",
    ),
    "a metric of three columns without `value`": (
        "metric",
        lambda: derived(
            "metric",
            "mine",
            regard.metrics.OutputMetric,
            suits=("text",),
            statistics=lambda self, predictions, references: np.ones((len(predictions), 3)),
            describe=lambda self, count: "three",
        ),
        "measure: expected a Score.*received RegardError: the metric mine has lines of 3 numbers",
    ),
    "a metric with too few lines": (
        "metric",
        lambda: derived(
            "metric",
            "mine",
            regard.metrics.OutputMetric,
            suits=("text",),
            statistics=lambda self, predictions, references: np.ones((1, 2)),
            describe=lambda self, count: "one",
        ),
        r"the metric mine: statistics returned an array of shape \(1, 2\), expected \(6, k\)",
    ),
    "a metric in the wrong direction": (
        "metric",
        lambda: derived("metric", "exact", higher_is_better=False),
        "value: expected the truth to be no worse than wrong answers",
    ),
    "a metric of an unknown type": (
        "metric",
        lambda: derived("metric", "exact", suits=("txet",)),
        "suits: expected types of columns; received .'txet'., which is not registered",
    ),
    "a world with missing fields": (
        "world",
        lambda: derived("world", "copy", splits=_shorter),
        "splits: expected some of source, target, alignment as texts, the same in every row; received a row with",
    ),
    "a world of plain dictionaries": (
        "world",
        lambda: derived("world", "copy", splits=lambda self: {"train": [{"source": "a", "target": "a"}]}),
        "splits: expected rows of the class Row in train; received dict",
    ),
    "a world without train": (
        "world",
        lambda: derived("world", "copy", splits=lambda self: {"test": []}),
        "splits: expected a mapping with the split train; received test",
    ),
    "a world that differs every time": (
        "world",
        lambda: derived("world", "parity", splits=_changing),
        "splits: expected the same rows in every call",
    ),
    "a rate that is NaN": (
        "schedule",
        lambda: derived("schedule", "constant", after_warmup=lambda self, step: float("nan")),
        r"after_warmup: .*after_warmup\(1\) returned nan, expected a rate of 0 or more",
    ),
    "a schedule that forgets": (
        "schedule",
        lambda: derived("schedule", "plateau", state=lambda self: {}, restore=lambda self, state: None),
        "state: expected the same rates after a resumption",
    ),
    "shares that do not sum to one": (
        "curriculum",
        lambda: derived("curriculum", "baseline", shares=lambda self, epoch: np.ones(len(self.members))),
        r"shares: .*shares\(0\) returned .1.0, 1.0, 1.0, 1.0., expected 4 numbers",
    ),
    "a logger that raises": (
        "logger",
        lambda: derived("logger", "mine", regard.training.Logger, write=lambda self, values: values["nothing"]),
        "write: expected nothing; received KeyError: 'nothing'",
    ),
    "a logger that hides its file": (
        "logger",
        lambda: derived(
            "logger", "mine", regard.training.Logger, write=lambda self, values: (self.run / "f.csv").write_text("1")
        ),
        "files: expected every file that it writes to be declared in `files`; received f.csv",
    ),
    "a lab that returns nothing": (
        "lab",
        lambda: derived("lab", "gates", run=of_class(lambda cls, options: None)),
        "run: expected a LabResult; received NoneType",
    ),
}  # fmt: skip


class Needy(regard.training.Logger.Options):
    """An option that must be given."""

    must: int
    """Of no use."""


def _bad_features(self: Any, pixels: Any) -> Any:
    features, summary = find("network", "resnet").forward(self, pixels)
    return features * NAN, summary


def _bad_memory(self: Any, tokens: Any) -> Any:
    found = find("encoder", "mean").forward(self, tokens)
    return regard.nn.Memory(found.values * NAN, found.mask, found.summary * NAN)


def _stepped(self: Any, control: Any, state: Any, factor: float) -> Any:
    done = NTM.step(self, control, state)
    return dataclasses.replace(done, reads=done.reads.double() if factor == 1.0 else done.reads * factor)


def _bad_loss(self: Any, memories: Any, target: Any, truth: Any = None) -> Any:
    found = LABEL.loss(self, memories, target)
    return dataclasses.replace(found, total=found.total * NAN)


def _distributed(self: Any, memories: Any, target: Any, truth: Any = None) -> Any:
    torch.distributions.Normal(torch.tensor(NAN), 1.0, validate_args=True)


def _untraced(self: Any, *more: Any) -> Any:
    return [dataclasses.replace(one, trace=None) for one in LABEL.predictions(self, *more)]


def _shorter(self: Any) -> Any:
    return {"train": [Row({"source": "a", "target": "b"}), Row({"source": "a"})]}


CALLS: list[int] = []


def _changing(self: Any) -> Any:
    CALLS.append(1)
    return {"train": [Row(dict.fromkeys(self.fields, str(len(CALLS))))]}


def _two(cell: Any, projected: Any, state: Any) -> Any:
    if state.ndim != 2:
        raise ValueError("not enough values to unpack")
    return GRU.advance(cell, projected, state)


def _more(self: Any, input_size: int, size: int, **more: Any) -> None:
    GRU.__init__(self, input_size, size)
    self.unused = torch.nn.Parameter(torch.zeros(2))


def _hidden(self: Any, input_size: int, size: int, **more: Any) -> None:
    GRU.__init__(self, input_size, size)
    self.scale = float(torch.rand(()))


def _scaled(self: Any, projected: Any, state: Any) -> Any:
    return GRU.advance(self, projected, state) * self.scale


def _locked(self: Any, input_size: int, size: int, **more: Any) -> None:
    import threading

    GRU.__init__(self, input_size, size)
    self.lock = threading.Lock()


@pytest.mark.parametrize("mistake", CHECKED)
def test_a_mistake_is_told_with_its_method(mistake: str) -> None:
    kind, make, expected = CHECKED[mistake]
    regard.register(kind, "mine")(make())
    with pytest.raises(RegardError, match=expected) as told:
        check_part(kind, "mine")
    assert str(told.value).startswith(f"{kind} mine: ")


def test_a_name_that_is_taken_and_a_kind_that_is_none() -> None:
    with pytest.raises(
        RegardError, match=r"the cell 'gru' is defined twice: by regard\.nn\.cells\.gru\.GRUCell and"
    ):
        regard.register("cell", "gru")(derived("cell", "gru"))
    with pytest.raises(RegardError, match="there is no kind of part 'cel'"):
        regard.register("cel", "mine")
    with pytest.raises(RegardError, match=r"there is no kind of part 'cel'\. Did you mean cell\?"):
        check_part("cel", "gru")
    with pytest.raises(RegardError, match=r"there is no cell 'gur'\. Did you mean gru\?"):
        check_part("cell", "gur")


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ({"splits": lambda self: []}, "the world mine: splits returned list, expected a mapping"),
        ({"splits": lambda self: {"train": [{"source": "a"}]}}, "the world mine: splits returned rows of the class d"),
        ({"splits": lambda self: {"train": [Row({"words": "a"})]}}, "a row of train without its fields, source"),
    ],
)  # fmt: skip
def test_a_wrong_world_is_told_when_it_is_used(written: dict[str, Any], expected: str) -> None:
    regard.register("world", "mine")(derived("world", "copy", **written))
    spec = regard.zoo.find("copy").changed("data={world: {type: mine}}")
    with pytest.raises(RegardError, match=expected):
        regard.fit(spec, epochs=1, quiet=True, run=None)


def test_a_wrong_reader_is_told_when_it_is_used(tmp_path: Path) -> None:
    def read(self: Any, files: Any, fields: Any, *, images: Any = None) -> Any:
        yield {"source": "a"}

    made = derived("reader", "mine", regard.data.Reader, read=read, suffixes=(".mine",), fields=("source",))
    regard.register("reader", "mine")(made)
    file = tmp_path / "rows.mine"
    file.write_text("a\n", encoding="utf-8")
    with pytest.raises(RegardError, match="the reader mine: read yielded a dict, expected a Row"):
        list(regard.data.read_rows(file, fields=["source"]))
    with pytest.raises(RegardError, match="reader mine: read: expected rows of the class Row; received dict"):
        check_part("reader", "mine", file=file)


def test_a_wrong_lab_and_a_wrong_metric_are_told_when_they_are_used() -> None:
    regard.register("lab", "mine")(derived("lab", "gates", run=of_class(lambda cls, options: 3)))
    with pytest.raises(RegardError, match="the lab mine: run returned a int, expected a LabResult"):
        regard.course.lab.run("mine")
    short = derived("metric", "exact", statistics=lambda self, predictions, references: np.ones((1, 2)))
    regard.register("metric", "mine")(short)
    with pytest.raises(RegardError, match=r"the metric mine: statistics returned an array of shape \(1, 2\)"):
        regard.metrics.output_metric("mine")(["a", "b"], ["a", "b"])
    nothing = derived("metric", "exact", value=lambda self, sums: None)
    regard.register("metric", "none")(nothing)
    with pytest.raises(RegardError, match="the metric none: value returned NoneType, expected a number"):
        regard.metrics.output_metric("none")(["a", "b"], ["a", "b"])


def told_by(kind: str, made: type, **more: Any) -> str:
    regard.register(kind, "mine")(made)
    with pytest.raises(RegardError) as told:
        check_part(kind, "mine", **more)
    return str(told.value)


ROWS = [{"source": f"{word} dog saw", "topic": word} for word in ("a", "the", "one", "no")]
SMALL: dict[str, Any] = {
    "inputs": {"source": {"type": "text"}},
    "outputs": {"topic": {"type": "label"}},
    "encoder": {"type": "mean", "embedding": 4},
}


@pytest.mark.parametrize("section", ["decoder", "encoder"])
def test_a_spec_may_be_short(section: str) -> None:
    """A section without the name of its input or output, as regard.Spec accepts it."""
    name = {"decoder": "label", "encoder": "mean"}[section]
    options = {"encoder": {"embedding": 4}}.get(section, {})
    check_part(section, name, spec={**SMALL, section: {"type": name, **options}}, rows=ROWS)
    check_part(section, name, spec=regard.Spec(**{**SMALL, section: {"type": name, **options}}), rows=ROWS)


def test_a_spec_that_is_refused_is_told() -> None:
    with pytest.raises(RegardError, match=r"decoder label: spec: expected a spec that regard\.Spec accepts"):
        check_part("decoder", "label", spec={**SMALL, "decoder": {"type": "lable"}}, rows=ROWS)


def test_padding_is_checked_with_rows_of_one_length() -> None:
    told = told_by("encoder", Mean, spec={**SMALL, "encoder": {"type": "mine", "embedding": 4}}, rows=ROWS)
    assert "forward: expected a summary that does not depend on the padding" in told


def test_one_mistake_does_not_hide_another() -> None:
    written = {"__init__": _locked, "equations": of_class(lambda cls, options, mark: ["what is this"])}
    told = told_by("cell", derived("cell", "gru", advance=lambda self, p, s: p, **written))
    for method in (
        "advance: expected the shape",
        "copy.deepcopy: expected a copy",
        "equations: expected lines",
    ):
        assert method in told


def test_what_follows_from_a_mistake_is_not_told_again() -> None:
    told = told_by("store", derived("store", "ntm", start=lambda self, rows: NTM.start(self, 1)))
    assert "step: expected an output" not in told


def test_a_column_that_cannot_be_copied_is_checked_further() -> None:
    class Local(find("column", "label")):  # type: ignore[misc]
        """Which pickle cannot find."""

        def collate(self, encoded: Any, beside: Any = None) -> Any:
            return super().collate(encoded)[1:]

    told = told_by("column", Local)
    assert "pickle: expected a copy" in told and "collate: expected" in told


def test_a_world_says_what_is_wrong_with_a_row() -> None:
    rows = [Row({"source": "a", "target": 3, "alignment": ""})]  # type: ignore[dict-item]
    told = told_by("world", derived("world", "copy", splits=lambda self: {"train": rows}))
    assert "a row with source, target, alignment: target is of the type int" in told


def test_a_column_whose_methods_disagree_names_both() -> None:
    told = told_by("column", derived("column", "number", learned=lambda self: {"words": []}))
    assert "learned, relearn: expected relearn to accept what learned returned; received " in told


def test_a_column_that_encodes_texts_is_told_to_encode_numbers() -> None:
    told = told_by("column", derived("column", "number", encode=lambda self, value: np.array(str(value))))
    assert "Return numbers from the method encode of Mine" in told and "np.<" not in told


class Coins(find("column", "label")):  # type: ignore[misc]
    """Classes such as $3, which none of our rows have."""

    class Options(find("column", "label").Options):  # type: ignore[misc]
        """As label."""

    def check_value(self, value: Any) -> Any:
        return None if str(value).startswith("$") else "is not money"


def test_a_metric_of_a_foreign_column_is_not_passed_unchecked() -> None:
    regard.register("column", "coins")(Coins)
    made = derived(
        "metric", "exact", suits=("coins",), statistics=lambda self, predictions, references: 1 / 0
    )
    told = told_by("metric", made)
    assert (
        "expected a spec and rows that it can be tried with; received none; pass spec= with an output" in told
    )
    rows = [{**row, "topic": f"${number}"} for number, row in enumerate(ROWS)]
    with pytest.raises(RegardError, match="received ZeroDivisionError"):
        check_part("metric", "mine", spec=SMALL | {"outputs": {"topic": {"type": "coins"}}}, rows=rows)


@pytest.mark.parametrize("bias", [True, False])
def test_a_linear_layer_of_one_output_is_a_vector_and_a_number(bias: bool) -> None:
    class Gated(regard.nn.AttentionScore):
        def __init__(self, query_size: int, key_size: int) -> None:
            super().__init__(query_size, key_size)
            self.gate = torch.nn.Linear(query_size, 1, bias=bias)
            self.key = torch.nn.Linear(key_size, query_size, bias=False)

        @classmethod
        def equation(cls, options: Any, query: str, key: str, mark: str) -> str:
            return f"σ(v_{mark}·{query}{f' + b_{mark}' if bias else ''}) ({query}·W_{mark} {key})"

        @classmethod
        def letters(cls, options: Any, look: Any) -> Any:
            return {"gate.weight": "v_a", "gate.bias": "b_a", "key.weight": "W_a"}

        def forward(self, query: Any, keys: Any, previous: Any = None) -> Any:
            return torch.sigmoid(self.gate(query)) * (query @ self.key(keys).mT)

    regard.register("score", "mine")(Gated)
    check_part("score", "mine")
