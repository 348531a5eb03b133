"""What the page is told equals what the Python API computes: texts, scores, weights, with edits and without."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from regard.evaluation import open_dataset
from regard.live import scene_json
from regard.model import Model
from regard.model.recording import read_recording
from regard.studio.looking import RECORDED
from regard.trace.prediction import Prediction
from tests.studio.client import Client
from tests.studio.small_runs import KINDS


def row(model: Model, number: int = 0) -> dict[str, str]:
    raw = open_dataset(model, (), ["test"]).raw(number)
    return {name: raw[name] for name in model.spec.inputs}


def same(told: dict[str, Any], found: Prediction) -> None:
    trace = found.trace
    assert trace is not None
    assert told["text"] == found.text and told["score"] == close(found.score)
    assert [one["text"] for one in told["pieces"]] == list(trace.output)
    if trace.probabilities is not None:
        assert [one["p"] for one in told["pieces"]] == close(trace.probabilities.tolist())
    drawn = scene_json(trace.plot())
    assert told["scene"]["title"] == drawn["title"] and len(told["scene"]["marks"]) == len(drawn["marks"])
    assert told["handles"]["inputs"] == {name: list(pieces) for name, pieces in trace.input.items()}


def close(value: Any) -> Any:
    """Equal but for rounding: the studio computes in a thread of its own."""
    return pytest.approx(value, rel=1e-5, abs=1e-7)


def marks(scene: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for one in scene["marks"]:
        yield one
        if "marks" in one:
            yield from marks(one)


@pytest.mark.parametrize("name", KINDS)
def test_every_kind_of_run_is_looked_at(client: Client, load: Any, name: str) -> None:
    model = load(name)
    rows = open_dataset(model, (), ["test"])
    for output in model.spec.outputs:
        asked = {one: {"row": 1, "split": "test"} for one in model.spec.inputs}
        told = client.look(name, asked, output=output)
        found = model.answer(rows.batch([1]), output=output)[0]
        assert told["text"] == found.text and told["score"] == close(found.score)
        assert told["target"] == rows.references(1, output)
        assert told["scene"]["marks"] and told["scene"]["title"] is not None
        named = [one["name"] for one in told["panels"]]
        plain = [one.name for one in found.trace.panels()]
        recorded = model.answer(rows.batch([1]), output=output, recording=read_recording(RECORDED))[0]
        more = [one.name for one in recorded.trace.panels() if one.name not in plain]
        assert named == [*plain, *more]
        for panel in [*told["panels"][: len(plain)], *told["panels"][len(plain) :][:2]]:
            drawn = client.look(name, asked, output=output, panel=panel["name"])["panel"]
            assert all(scene["marks"] for scene in drawn.get("steps", [drawn.get("scene")]))
        assert told["changed"] == [] and "before" not in told
        for kind in ("svg", "json", "html", "trace"):
            answer = client.ask("download", run=name, inputs=asked, output=output, **{"as": kind})
            assert answer.status_code == 200 and len(answer.content) > 100
            assert f'filename="{name}.{kind}"' in answer.headers["content-disposition"]


def test_a_typed_text_is_predicted(client: Client, load: Any) -> None:
    model = load("translation")
    text = row(model)["source"]
    same(client.look("translation", {"source": text}), model.predict(text))
    same(
        client.look("translation", {"source": text}, search={"beam": 3, "n_best": 2}),
        model.predict(text, method="beam", beam=3, n_best=2),
    )
    same(
        client.look("translation", {"source": text}, search={"beam": 1}), model.predict(text, method="greedy")
    )
    first = model.predict(text).trace.output[1]
    same(client.look("translation", {"source": text}, prefix=first), model.predict(text, prefix=first))
    target = open_dataset(model, (), ["test"]).raw(0)["target"]
    same(client.look("translation", {"source": text}, target=target), model.score(text, target))


EDITS: list[list[dict[str, Any]]] = [
    [{"edit": "pin", "input": "source", "step": 1, "position": 0}],
    [{"edit": "weights", "input": "source", "step": 0, "weights": {"0": 0.25, "2": 0.75}}],
    [{"edit": "zero", "input": "source", "step": None, "positions": [0, 1]}],
    [{"edit": "uniform", "input": "source", "step": None}],
    [{"edit": "permute", "input": "source", "step": None, "seed": 4}],
    [{"edit": "mask", "input": "source", "positions": [1]}],
    [{"edit": "uniform", "step": 0}, {"edit": "pin", "step": 2, "position": 1}],
]


@pytest.mark.parametrize("edits", EDITS)
def test_an_edit_changes_the_output_as_in_python(
    client: Client, load: Any, edits: list[dict[str, Any]]
) -> None:
    model = load("translation")
    text = row(model)["source"]
    before, after = model.predict(text), model.predict(text, look=edits)
    told = client.look("translation", {"source": text}, edits=edits)
    same(told, after)
    assert told["before"]["text"] == before.text and told["before"]["score"] == close(before.score)
    cells = [one["at"] for one in marks(told["scene"]) if one.get("at", {}).get("kind") == "weight"]
    weights = after.trace.attention["source"]
    assert {(one["step"], one["position"]) for one in cells} >= set(np.ndindex(*weights.shape))
    for one in cells:  # a figure has four digits
        assert abs(one["value"] - weights[one["step"], one["position"]]) < 1e-4
    kept = [t for t in range(len(after.trace.output)) if t not in told["changed"]]
    assert all(after.trace.output[t] in before.trace.output for t in kept)
    assert len(told["effects"]) == len(after.trace.output)
    assert all((told["effects"][t] is None) == (t in told["changed"]) for t in range(len(told["effects"])))
    if before.text != after.text:
        assert told["changed"] or len(after.trace.output) < len(before.trace.output)


def test_some_of_these_edits_change_the_text(load: Any) -> None:
    model = load("translation")
    text = row(model)["source"]
    assert len({model.predict(text, look=edits).text for edits in EDITS}) >= 3


def test_the_effect_of_an_edit_is_the_change_of_log_p(client: Client, load: Any) -> None:
    model = load("translation")
    source, target = row(model)["source"], open_dataset(model, (), ["test"]).raw(0)["target"]
    edits = [{"edit": "uniform", "step": None}]
    told = client.look("translation", {"source": source}, target=target, edits=edits)
    before, after = model.score(source, target), model.score(source, target, look=edits)
    assert told["changed"] == [] and told["effects"] == close(
        (after.trace.scores - before.trace.scores).tolist()
    )


def test_the_truth_of_a_row_can_be_imposed(client: Client, load: Any) -> None:
    model = load("translation")
    edits = [{"edit": "truth", "input": "source"}]
    told = client.look("translation", {"source": {"row": 2}}, edits=edits)
    found = model.answer(open_dataset(model, (), ["test"]).batch([2]), edits=model.edits([edits]))[0]
    assert told["text"] == found.text and told["score"] == close(found.score)
    assert told["before"]["score"] != close(found.score)
    error = client.refused("look", run="translation", inputs={"source": row(model)["source"]}, edits=edits)
    assert "is not known for this input" in error["message"]


@pytest.mark.parametrize(
    ("name", "edit"),
    [
        ("caption", {"edit": "region", "input": "image", "step": 0, "box": [0.0, 0.0, 0.4, 0.4]}),
        ("image-qa-attention", {"edit": "region", "input": "image", "step": 0, "box": [0.5, 0.5, 1.0, 1.0]}),
        ("speech", {"edit": "span", "input": "audio", "step": 0, "from": 0.0, "to": 0.2}),
        ("dialog-context", {"edit": "pin", "input": "dialog", "step": 0, "position": 0}),
        ("document-class", {"edit": "uniform", "input": "document", "step": None}),
        ("parser-crf", {"edit": "arc", "input": "words", "head": 0, "dependent": 2, "how": "force"}),
        (
            "translation-segments-word",
            {"edit": "segment", "input": "source", "step": 0, "start": 0, "end": 2, "how": "force"},
        ),
    ],
)
def test_other_layouts_are_edited_as_in_python(
    client: Client, load: Any, name: str, edit: dict[str, Any]
) -> None:
    model = load(name)
    output = next(iter(model.spec.outputs))
    asked = {one: {"row": 0} for one in model.spec.inputs}
    told = client.look(name, asked, output=output, edits=[edit])
    found = model.answer(
        open_dataset(model, (), ["test"]).batch([0]), output=output, edits=model.edits([[edit]], output)
    )[0]
    assert told["text"] == found.text and told["score"] == close(found.score)
    assert told["score"] != told["before"]["score"]


def test_the_python_call_and_the_command_make_the_same_prediction(client: Client, load: Any) -> None:
    text = row(load("translation"))["source"]
    edits = [{"edit": "pin", "input": "source", "step": 0, "position": 2}]
    told = client.look("translation", {"source": text}, edits=edits, search={"beam": 2})
    known: dict[str, Any] = {}
    exec(told["python"].replace("prediction.trace.print()", ""), known)
    assert known["prediction"].text == told["text"] and known["prediction"].score == close(told["score"])
    words = shlex.split(told["command"])
    assert words[:2] == ["regard", "show"]
    done = subprocess.run([sys.executable, "-m", *words], capture_output=True, text=True, env=None)
    assert f"log p {told['score']:.3f}" in done.stdout, done.stdout + done.stderr
    of_row = client.look("caption", {"image": {"row": 3}}, edits=[{"edit": "uniform", "step": None}])
    exec(of_row["python"].replace("prediction.trace.print()", ""), known)
    assert known["prediction"].text == of_row["text"]
    # the call takes a GPU if there is one, whose convolutions round differently
    assert known["prediction"].score == pytest.approx(of_row["score"], rel=1e-3)


def test_hostile_text_is_only_text(client: Client) -> None:
    text = "</script><img src=x onerror=alert(1)> \u202eabc \u2066d"
    told = client.look("translation", {"source": text})
    written = json.dumps(told, ensure_ascii=False)
    assert "onerror" in written and "\u202e" not in written and "\u2066" not in written
    answer = client.ask("look", run="translation", inputs={"source": text})
    assert answer.headers["content-type"] == "application/json"


def test_two_runs_are_compared_on_the_text_of_a_row(client: Client) -> None:
    rows = {"source": {"row": 1, "split": "test"}}
    answer = client.ask("compare", runs=["translation", "second"], inputs=rows).json()
    own = client.ask("look", run="translation", inputs=rows).json()
    assert [look["inputs"] for look in answer["looks"]] == [own["inputs"]] * 2 and own["inputs"]["source"]


def test_two_runs_are_compared(client: Client, load: Any) -> None:
    text = row(load("translation"))["source"]
    answer = client.ask("compare", runs=["translation", "second"], inputs={"source": text})
    assert answer.status_code == 200, answer.text
    found = answer.json()
    assert found["texts"] == [load(name).predict(text).text for name in ("translation", "second")]
    assert len(found["scenes"]) == 2

    pieces = [list(load(name).predict(text).trace.output) for name in ("translation", "second")]
    differ = [one != other for one, other in zip(*pieces, strict=False)]
    assert found["divergence"]["step"] == (differ.index(True) if any(differ) else None)
    assert "second" in found["divergence"]


def test_two_runs_are_compared_on_a_row_of_the_first(client: Client, load: Any) -> None:
    text = row(load("translation"), 2)["source"]
    asked = {"source": {"row": 2, "split": "test"}}
    found = client.ask("compare", runs=["translation", "translation-segments-word"], inputs=asked).json()
    assert found["texts"][1] == load("translation-segments-word").predict(text).text
    assert found["looks"][0]["handles"] == found["looks"][1]["handles"]
    error = client.refused("compare", runs=["translation", "caption"], inputs=asked)
    assert "caption reads image" in error["message"]


def test_the_look_that_makes_a_word_is_found_and_can_be_tried(client: Client, load: Any) -> None:
    model = load("translation")
    text = row(model)["source"]
    words = {
        model.predict(text, look=[{"edit": "pin", "step": 0, "position": place}]).trace.output[0]
        for place in range(5)
    }
    word = (
        next(iter(words - {model.predict(text).trace.output[0]}), None) or model.predict(text).trace.output[0]
    )
    answer = client.ask("why", run="translation", inputs={"source": text}, word=word, step=0)
    found = client.done(answer)["result"]
    assert found["found"] and found["word"] == word and word in found["told"]
    told = client.look("translation", {"source": text}, edits=found["edits"])
    assert told["pieces"][0]["text"] == word
    unknown = client.done(
        client.ask("why", run="translation", inputs={"source": text}, word="no-such-word", step=0)
    )
    assert "no-such-word" in unknown["error"]["message"]


def test_training_rows_that_are_alike_are_named(client: Client, load: Any) -> None:
    model = load("translation")
    train = open_dataset(model, (), ["train"])
    source = train.raw(3)["source"]
    found = client.done(client.ask("like", run="translation", inputs={"source": source}, step=0))["result"]
    first = found["neighbours"][0]
    assert first["distance"] < 1e-4  # a training row is nearest to itself
    assert train.raw(first["row"])["source"] == source
    assert (
        client.done(client.ask("like", run="translation", inputs={"source": source}))["error"]["where"]
        == "step"
    )


def test_a_dialog_is_continued(client: Client, load: Any) -> None:
    model = load("dialog-context")
    turns: list[Any] = ["hello , who made Logan ?"]
    for _ in range(2):
        answer = client.ask("chat", run="dialog-context", turns=turns)
        assert answer.status_code == 200, answer.text
        found = answer.json()
        expected = model.predict(found["inputs"]["dialog"])
        assert found["text"] == expected.text == found["turns"][-1]["text"] and found["scene"]["marks"]
        turns = [*found["turns"], {"speaker": "U", "text": "and when ?"}]
    assert len(found["turns"]) == 4
    assert "dialogs and texts" in client.refused("chat", run="caption", turns=["hello"])["message"]


def test_a_language_model_continues_and_is_surprised(client: Client, load: Any) -> None:
    model = load("lm")
    found = client.ask("continue", run="lm", prompt="the dog ", length=9, seed=5, temperature=0.7).json()
    expected = model.generate("the dog ", length=9, seed=5, temperature=0.7)
    assert found["text"] == expected.text and found["score"] == close(expected.score)
    told = client.look("lm", {"text": "the dog sleeps"})
    nats = [nats for _, nats in model.surprise("the dog sleeps")]
    np.testing.assert_allclose([one["p"] for one in told["pieces"]], np.exp(-np.array(nats)))
    assert "continues no text" in client.refused("continue", run="caption", prompt="a")["message"]


def test_rows_are_listed_with_predictions(client: Client, load: Any) -> None:
    model = load("caption")
    rows = open_dataset(model, (), ["test"])
    found = client.ask("rows", run="caption", start=2, count=3).json()
    assert found["total"] == len(rows) == 6 and [one["row"] for one in found["rows"]] == [2, 3, 4]
    for one in found["rows"]:
        assert one["prediction"] == model.answer(rows.batch([one["row"]]), output="caption")[0].text
        assert one["target"] == rows.references(one["row"], "caption")
        assert one["images"]["image"].startswith("data:image/png;base64,") and one["inputs"]["image"] == ""
    assert client.ask("rows", run="caption", start=6).json()["rows"] == []
    assert client.refused("rows", run="caption", split="nothing")["where"] == "split"


def test_the_strangest_rows_come_first_with_reasons(client: Client) -> None:
    asked = {"run": "translation", "sort": "strange", "count": 4}
    found = client.done(client.ask("rows", **asked))["result"]
    assert found["total"] == 6 and len(found["rows"]) == 4 and all("reasons" in one for one in found["rows"])
    assert client.ask("rows", **asked).json() == found  # now at once


def test_the_runs_are_described(client: Client) -> None:
    told = {one["name"]: one for one in client.get("/api/runs").json()["runs"]}
    kinds = {name: one["kind"] for name, one in told.items()}
    assert (
        kinds["lm"] == "continues" and kinds["dialog-context"] == "dialog" and kinds["caption"] == "answers"
    )
    media = {name: [one["media"] for one in about["inputs"]] for name, about in told.items()}
    assert (
        media["caption"] == ["image"] and media["speech"] == ["audio"] and media["pointer-hull"] == ["points"]
    )
    assert media["image-qa-attention"] == ["image", "text"] and media["video-class"] == ["video"]
    assert told["image-qa-attention"]["outputs"] == ["answer", "caption"]
    assert [one for one in told if told[one]["structured"]] == ["translation-segments-word"]
    assert told["translation"]["search"]["beam"] >= 1 and told["parser-crf"]["search"] == {}
