"""The alarm of `predict --watch`, against probabilities by `model.score`; and the signs on maps."""

from __future__ import annotations

import io
import json
import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from rich.console import Console

from regard import Model, Spec, Trace
from regard.questions.dependence import LEAST, DependenceWatch
from regard.questions.faithfulness.signs import with_effects

Run = Callable[..., tuple[int, str, str]]
WORDS = ["the", "small", "cat", "sees", "a", "big", "dog", "now"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run with random weights, large enough that words matter, and its data."""
    here = tmp_path_factory.mktemp("run")
    generator = np.random.default_rng(0)
    lines, rows = ["source\ttarget\ttopic"], []
    for _ in range(30):
        words = generator.choice(WORDS, size=int(generator.integers(3, 6)))
        rows.append(
            {
                "source": " ".join(words),
                "target": " ".join(words).upper(),
                "topic": str(words[0]),
            }
        )
        lines.append("\t".join(rows[-1].values()))
    for name in ("train", "dev", "test"):
        (here / f"{name}.tsv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    described = Spec.parse(
        {
            "inputs": {"source": {"type": "text", "unit": "word"}},
            "outputs": {"target": {"type": "text", "unit": "word"}, "topic": {"type": "label"}},
            "encoder": {"size": 8, "embedding": 6},
            "decoder": {
                "target": {
                    "type": "recurrent",
                    "size": 10,
                    "embedding": 6,
                    "attention": {"score": "additive"},
                },
                "topic": {"type": "label", "attention": {"score": "additive"}},
            },
            "search": {"max_length": 6, "min_length": 2},
            "data": {name: str(here / f"{name}.tsv") for name in ("train", "dev", "test")},
        }
    )
    torch.manual_seed(1)
    model = Model.build(described, rows=rows).eval()
    with torch.no_grad():
        for weight in model.network.parameters():
            weight.mul_(2.5)
    model.save(here / "run")
    return here / "run"


@pytest.fixture(scope="module")
def model(folder: Path) -> Model:
    return Model.load(folder, device="cpu")


@pytest.mark.parametrize("output", ["target", "topic"])
def test_dependence_is_the_gain_over_other_inputs(model: Model, output: str) -> None:
    watch = DependenceWatch.of(model, output)
    text = "the small cat"
    answer = model.predict(text, output=output)
    (found,) = watch.dependence([text], [answer])
    order = np.random.default_rng(watch.seed).permutation(len(watch.pool))
    others = [watch.pool[place]["source"] for place in order if watch.pool[place]["source"] != text][:8]
    if output == "topic":
        shares = [model.predict(other, output=output).probabilities[answer.text] for other in others]
    else:
        shares = [math.exp(model.score(other, answer.text, output=output).score) for other in others]
    assert found == pytest.approx(answer.score - math.log(sum(shares) / 8), abs=1e-4)


def test_the_threshold_is_a_quantile_of_dev_within_its_bounds(model: Model) -> None:
    watch = DependenceWatch.of(model, "target")
    found = watch.dependence(watch.pool, model.predict(list(watch.pool), output="target"))
    assert watch.false_rate == pytest.approx((found < watch.threshold).mean())
    assert LEAST <= watch.threshold <= math.log(10)


def test_every_answer_of_a_model_that_cannot_see_its_input_alarms(model: Model) -> None:
    watch = DependenceWatch.of(model, "target")

    def emptied(module: Any, given: Any, memory: Any) -> Any:
        return replace(memory, values=memory.values * 0, summary=memory.summary * 0)

    hook = model.network.reader("source").register_forward_hook(emptied)
    try:
        texts = ["the small cat", "a big dog now", "cat sees dog"]
        assert watch.alarms(texts, model.predict(texts, output="target")) == [True, True, True]
    finally:
        hook.remove()


def test_predict_watches_without_changing_answers(regard: Run, folder: Path) -> None:
    plain = regard("predict", str(folder), "the small cat", "--of", "target")
    code, out, err = regard("predict", str(folder), "the small cat", "--of", "target", "--watch")
    assert (code, out) == (plain[0], plain[1]) == (0, out)
    assert "of 1 answers do not depend on their input; false alarms on dev:" in err


def test_effects_are_those_of_a_plain_loop(model: Model) -> None:
    text = "the small cat sees"
    answer = with_effects(model, text, model.predict(text, output="target"), output="target")
    trace = answer.trace
    assert trace is not None
    words = text.split()
    for place in range(len(words)):
        left = " ".join(words[:place] + words[place + 1 :])
        scored = model.score(left, answer.text, output="target").trace
        np.testing.assert_allclose(trace.effects["source"][:, place], trace.scores - scored.scores, atol=1e-4)  # type: ignore[union-attr]


def signed() -> Trace:
    """Three weights of at least 0.2, of which two are without effect, and a small one."""
    return Trace(
        {"source": ["a", "b"]},
        ["X", "Y"],
        attention={"source": [[0.9, 0.1], [0.5, 0.5]]},
        effects={"source": [[0.004, 0.0], [-0.009, 2.0]]},
    )


def test_a_weight_without_effect_has_a_sign_in_every_form() -> None:
    trace = signed()
    assert trace.idle("source").tolist() == [[True, False], [True, False]]  # type: ignore[union-attr]
    drawn = trace.plot()
    assert drawn.svg().count('data-idle="1"') == 2 * 2 + 2  # two lines each, and the legend
    assert "no effect on log p" in drawn.svg()
    assert "X looks at a (0.90, no effect on log p)" in drawn.description
    for color in (None, "truecolor"):
        console = Console(file=io.StringIO(), width=60, color_system=color, force_terminal=color is not None)  # type: ignore[arg-type]
        trace.print(console)
        assert console.file.getvalue().count("×") == 3  # type: ignore[attr-defined]


def test_words_of_a_label_have_the_sign_too() -> None:
    trace = replace(
        signed(),
        output=["yes"],
        kind="label",
        attention={"source": [[0.9, 0.1]]},
        effects={"source": [[0.004, 0.0]]},
    )
    assert trace.plot().svg().count('data-idle="1"') == 2 + 2
    assert "a (0.90, no effect on log p)" in trace.plot().description


def test_effects_are_in_json_only_where_they_are_known() -> None:
    trace = signed()
    again = Trace.from_dict(json.loads(json.dumps(trace.to_dict())))
    np.testing.assert_array_equal(again.effects["source"], trace.effects["source"])
    without = replace(trace, effects={})
    assert "effects" not in without.to_dict() and without.idle("source") is None
    assert "data-idle" not in without.plot().svg()


def test_show_marks_and_tells(regard: Run, folder: Path, tmp_path: Path) -> None:
    code, out, err = regard("show", str(folder), "the small cat", "--of", "target", "--faithful")
    assert code == 0, err
    assert "log p without it" in out and "no effect on log p" in out
    code, _, err = regard(
        "show", str(folder), "the small cat", "--of", "target", "--faithful", "--look", "0-0"
    )
    assert code == 2 or "Leave out --look" in err


def test_the_command_prints_a_table_and_writes_figures(regard: Run, folder: Path, tmp_path: Path) -> None:
    figure, numbers = tmp_path / "f.svg", tmp_path / "f.json"
    code, out, err = regard("faithful", str(folder), "--of", "topic", "--rows", "4", "-o", str(figure))
    assert code == 0, err
    assert "comprehensiveness" in out and "Rank correlation" in out and figure.read_text().startswith("<svg")
    code, out, _ = regard(
        "faithful", str(folder), str(folder), "--of", "target", "--rows", "3", "--quick", "-o", str(numbers)
    )
    assert code == 0 and "paired by answer" in out
    found = json.loads(numbers.read_text())
    assert [one["name"] for one in found["runs"]] == ["run", "run"]
    assert all(pair["difference"]["value"] == 0 for pair in found["paired"])
    code, _, err = regard("faithful", str(folder), "--remove", "burn", "--of", "topic")
    assert code != 0 and "expected delete, mask, zero" in err
