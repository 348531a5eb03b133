"""Every lab as a user runs it: figure, page, numbers and sentence; errors end with exit 2 and a remedy."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, get_args
from xml.etree import ElementTree

import pytest

from regard.course.lab import run
from regard.course.lab.reference import page
from regard.errors import RegardError
from regard.parts import names, part
from tests.course.lab.settings import SMALL, as_arguments

LABS = names("lab")
WANTED = {
    "bptt", "jacobian", "spectrum", "gradient-flow", "clipping", "error-surface", "attractors", "gates", "carousel",
    "ladder", "residual", "cells", "convolution", "lossy", "depth", "timing", "forward-backward", "inside-outside",
    "eisner", "tree-gradient", "unrolled", "hessian-free", "overfitting", "glimpses", "memory", "word-order",
    "transition", "turing", "structure-speed",
}  # fmt: skip
DOCS = Path(__file__).parents[3] / "docs"
SVG = "{http://www.w3.org/2000/svg}"
COLUMNS = 100
"""Width of the terminal."""

Command = Callable[..., tuple[int, str, str]]


def flat(text: str) -> str:
    return " ".join(text.split())


def test_all_labs_of_the_lectures_are_there() -> None:
    assert set(LABS) >= WANTED


@pytest.mark.parametrize("name", LABS)
def test_a_lab_prints_draws_and_counts(name: str, regard: Command, tmp_path: Path) -> None:
    figure, numbers = tmp_path / "figure.svg", tmp_path / "numbers.json"
    code, out, err = regard("lab", name, "-o", str(figure), "--json", str(numbers), *as_arguments(name))
    assert code == 0, err
    told = json.loads(numbers.read_text(encoding="utf-8"))
    assert told["lab"] == name and told["numbers"] and told["table"]["rows"]
    assert flat(told["see"]) in flat(out) and "".join(out.split()).endswith("figure.svg")
    assert set(told["settings"]) == set(part("lab", name).Options.model_fields)
    drawing = figure.read_text(encoding="utf-8")
    root = ElementTree.fromstring(drawing)
    assert root.get("role") == "img"
    title, description = root.find(f"{SVG}title"), root.find(f"{SVG}desc")
    assert title is not None and title.text and description is not None and description.text
    assert told["see"] in description.text  # the text for screen readers
    assert float(root.get("width", "999")) <= 420  # on a screen of 360 pixels the text keeps 85 % of its size
    assert "prefers-color-scheme:dark" in drawing
    assert not re.search(r'(href|src)="(?!data:|#)', drawing)  # an image that is drawn twice is stored once
    smallest = min(float(size) for size in re.findall(r'font-size="([\d.]+)"', drawing))
    assert smallest >= 8


@pytest.mark.parametrize("name", LABS)
def test_the_page_of_a_lab_stands_alone(name: str) -> None:
    found = run(name, **SMALL.get(name, {}))
    text = found.page()
    assert not re.search(r'(href|src)="(?!data:|#)', text) and "@import" not in text
    assert text.count('role="img"') == (len(found.steps) or 1)
    assert ('type="range"' in text) == bool(found.steps)


@pytest.mark.parametrize(
    "name",
    ["bptt", "forward-backward", "inside-outside", "convolution", "eisner", "tree-gradient", "unrolled"],
)
def test_what_fills_has_a_slider(name: str) -> None:
    found = run(name)
    assert len(found.steps) > 5
    headings = [card.heading for card in found.steps]
    assert len(set(headings)) == len(headings)
    drawn = [card.figure.svg() for card in found.steps]  # type: ignore[union-attr]
    assert len(set(drawn)) == len(drawn)


def test_the_list_has_a_line_for_each(regard: Command) -> None:
    code, out, _ = regard("lab")
    assert code == 0
    for name in LABS:
        assert re.search(rf"^{re.escape(name)} +\S", out, re.M)
        assert flat(part("lab", name).summary)[:30] in flat(out)


def test_png_and_standard_output(regard: Command, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    code, out, _ = regard("lab", "gates", "-o", str(tmp_path / "gates.png"), "--json", "-")
    assert code == 0 and json.loads(out)["lab"] == "gates"
    assert (tmp_path / "gates.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("name", LABS)
def test_an_unknown_setting_is_refused(name: str, regard: Command) -> None:
    key = next(iter(part("lab", name).Options.model_fields))
    code, _, err = regard("lab", name, "--set", f"{key}x=1")
    assert code == 2 and f"unknown key '{key}x'" in err and f"Did you mean {key}?" in err


def numeric(name: str) -> list[str]:
    """The numeric options that have a minimum."""
    fields = part("lab", name).Options.model_fields
    return [key for key, field in fields.items() if field.annotation in (int, float) and field.metadata]


@pytest.mark.parametrize("name", [name for name in LABS if numeric(name)])
def test_values_that_cannot_be_are_refused(name: str, regard: Command) -> None:
    for key in numeric(name):
        for value in ("-1000000", "abc"):
            code, out, err = regard("lab", name, "--set", f"{key}={value}")
            assert code == 2 and err.startswith(f"error: --set {key}={value}") and not out


@pytest.mark.parametrize("name", [name for name in LABS if "seed" in part("lab", name).Options.model_fields])
def test_seeds_up_to_the_largest_of_torch_are_accepted(name: str, regard: Command) -> None:
    assert run(name, **{**SMALL.get(name, {}), "seed": 2**63 - 1}).see
    code, out, err = regard("lab", name, "--set", f"seed={2**63}")
    assert code == 2 and err.startswith(f"error: --set seed={2**63}: expected less than") and not out


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("depth", {"gain": 100.0, "leaves": 2}),
        ("residual", {"gain": 100.0}),
        ("residual", {"gain": 40.0, "size": 64, "layers": 500}),
        ("clipping", {"rate": 1000.0, "small_rate": 1000.0}),
        ("ladder", {"updates": 1}),
        ("lossy", {"lengths": [1]}),
    ],
)
def test_extreme_values_are_drawn(name: str, settings: dict[str, Any]) -> None:
    """All gradients are 0, or infinite; or there is one point."""
    found = run(name, **{**SMALL[name], **settings})
    assert found.see and "nan" not in found.figure.svg()


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["jacobian", "--set", "steps=-1"], "expected greater than or equal to 2, received -1"),
        (["jacobian", "--set", "steps=.nan"], "expected a"),
        (["jacobian", "--set", "steps=[1, 2]"], "expected a"),
        (["jacobian", "--set", "steps="], "expected a"),
        (["jacobain"], "Did you mean jacobian?"),
        (["jacobian", "--set", "steps"], "expected key.path=value"),
        (["jacobian", "-o", "figure.gif"], "cannot be written as .gif"),
        (["jacobian", "-o", "no-such-folder/figure.svg"], "does not exist"),
        (["--set", "steps=3"], "name the lab"),
        (["bptt", "--set", "network=lstn"], "Did you mean lstm?"),
        (["bptt", "--set", "targets=[1]"], "targets has 1 numbers, inputs has 4"),
        (["forward-backward", "--set", "sentence="], "expected"),
        (["forward-backward", "--set", f"sentence={'word ' * 13}"], "has 13 words"),
        (["forward-backward", "--set", "nodes.dgo.N=1"], "Did you mean dog?"),
        (["forward-backward", "--set", "edges.D.X=1"], "'X' is not one of D, N, V"),
        (["forward-backward", "--set", "states=[A, A]"], "named twice"),
        (["forward-backward", "--set", "step=99"], "there are 11 steps"),
        (["forward-backward", "--set", "of=6-V"], "--set of=1-D"),
        (["inside-outside", "--set", "spans.3-2=1"], "no span of these 6 words"),
        (["inside-outside", "--set", "spans.1-7=1"], "no span of these 6 words"),
        (["eisner", "--set", "arcs.2-2=1"], "no arc over these 6 words"),
        (["eisner", "--set", "of=1-0"], "no arc over these 6 words"),
        (["unrolled", "--set", "frame=11"], "there are 10 frames"),
        (["tree-gradient", "--set", "tree=(1 2"], "a node needs two children"),
        (["tree-gradient", "--set", "tree=(1 x)"], "'x' is no number"),
        (["convolution", "--set", "window=4", "--set", "stride=4"], "too few for windows"),
        (["error-surface", "--set", "weights=[3, 1]"], "smaller end first"),
        (["depth", "--set", "gain=1e9"], "expected less than or equal to 100"),
        (["residual", "--set", "gain=1e300"], "expected less than or equal to 100"),
        (["clipping", "--set", "rate=1e300"], "expected less than or equal to 1000"),
        (["clipping", "--set", "small_rate=1e300"], "expected less than or equal to 1000"),
        (["cells", "--set", "text=/no/such/file"], "No such file"),
        (["clipping", "--set", "text=/dev/null"], "not a regular file"),
        (["cells", "--set", "run=/no/such/run"], "/no/such/run"),
    ],
)
def test_mistakes_end_with_a_remedy(arguments: list[str], told: str, regard: Command) -> None:
    code, _, err = regard("lab", *arguments)
    assert code == 2 and told in flat(err), err


def test_settings_in_python_are_checked_too() -> None:
    with pytest.raises(RegardError, match="Did you mean steps"):
        run("jacobian", stepz=3)
    assert len(run("jacobian", steps=7).numbers["steps"]) == 7


def test_a_text_that_is_too_short_or_no_text(regard: Command, tmp_path: Path) -> None:
    short, binary = tmp_path / "short.txt", tmp_path / "binary.txt"
    short.write_text("one line\n")
    binary.write_bytes(b"\xff\xfe" * 400)
    for path, told in ((short, "expected at least 400"), (binary, "not UTF-8")):
        code, _, err = regard("lab", "clipping", "--set", f"text={path}")
        assert code == 2 and told in flat(err)


def test_docs_say_what_is_registered() -> None:
    """All but the numbers, which `python -m regard.course.lab.reference` writes next to the figures."""
    written = (DOCS / "lab.md").read_text(encoding="utf-8")
    for line in page().splitlines():
        assert line in written
    for name in LABS:
        figure = DOCS / "figures" / "lab" / f"{name}.svg"
        assert f"figures/lab/{name}.svg" in written and "<desc>" in figure.read_text(encoding="utf-8")


def others(annotation: Any, value: Any) -> list[Any]:
    """Other values of an option."""
    if isinstance(value, bool):
        return [not value]
    if isinstance(value, int):
        return [value + 1, max(0, value - 1), 2 * value]
    if isinstance(value, float):
        return [value * 1.1 + 0.01, value * 0.9]
    if isinstance(value, str):
        return [one for one in get_args(annotation) if one != value]
    if isinstance(value, tuple) and value and not isinstance(value[0], tuple | str):
        return [[*value[:-1], value[-1] * 2], list(value[:-1])]
    return []


CHECKED_ELSEWHERE = {
    "text",
    "run",
    "sentence",
    "states",
    "nodes",
    "edges",
    "spans",
    "arcs",
    "of",
    "step",
    "frame",
    "tree",
    "weights",
    "targets",
    "rules",
    "tape",
}
NEED = {("bptt", "size"): {"network": "rnn"}, ("bptt", "seed"): {"network": "rnn"}}
"""Other settings without which an option has no effect."""
EXACT = {
    ("carousel", "seed"),
    ("timing", "repetitions"),
    ("timing", "size"),
    ("structure-speed", "repetitions"),
}
"""Exceptions: `carousel` shows that the seed changes nothing, and times always vary."""


@pytest.mark.parametrize("name", LABS)
def test_every_setting_changes_something(name: str) -> None:
    options = part("lab", name).Options
    shown: dict[str, str] = {}
    for key, field in options.model_fields.items():
        if key in CHECKED_ELSEWHERE or (name, key) in EXACT:
            continue
        base = {**SMALL.get(name, {}), **NEED.get((name, key), {})}
        before = shown.setdefault(str(base), "") or _shown(run(name, **base))
        shown[str(base)] = before
        for value in others(field.annotation, options.model_validate(base).model_dump()[key]):
            try:
                if _shown(run(name, **{**base, key: value})) != before:
                    break
            except RegardError:
                continue
        else:
            pytest.fail(f"{key} changes nothing")


def _shown(found: Any) -> str:
    return str(found.figure.svg())
