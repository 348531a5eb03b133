"""Overriding the attention: the model reads the imposed positions, and earlier steps do not change."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from regard import Model, RegardError, Trace

from .small import build, rows, spec
from .test_images import CAPTION, QUESTION, built
from .test_images import rows as scenes

WORD, WRITTEN = "bead", "D A E B"
FIVE = range(5)  # the four letters of WRITTEN, and END
WAYS: dict[str, dict[str, Any]] = {
    "from the previous state": {},
    "from the current state, fed back": {"attention": {"score": "general", "state": "current"}},
    "from the current state, not fed": {"attention": {"state": "current", "feed": False}},
    "two layers of lstm": {"decoder": {"cell": "lstm", "size": 10, "layers": 2, "embedding": 6}},
}


def opinionated(**parts: Any) -> Model:
    """A model whose attention is far from uniform."""
    model = build(spec(**parts))
    with torch.no_grad():
        for weight in model.network.parameters():
            weight.mul_(4)
    return model


def twin(model: Model, **parts: Any) -> Model:
    """A model of another spec with the same weights, where it has them."""
    other = build(spec(**parts))
    other.network.load_state_dict(model.network.state_dict(), strict=False)
    return other


def selecting(way: str, select: str) -> dict[str, Any]:
    """The attention of a way, with a selection that ignores scores."""
    asked = {key: value for key, value in WAYS[way].get("attention", {}).items() if key != "score"}
    return {**asked, "select": select}


def everywhere(length: int) -> str:
    return " ".join(f"{position}-{t}" for t in FIVE for position in range(length))


@pytest.mark.parametrize("way", WAYS)
def test_overridden_to_look_everywhere_it_is_the_model_that_always_does(way: str) -> None:
    model = opinionated(**WAYS[way])
    even = {**WAYS[way], "attention": selecting(way, "uniform")}
    wanted = twin(model, **even).score([WORD], [WRITTEN])[0]
    found = model.score([WORD], [WRITTEN], look=everywhere(4))[0]
    assert found.trace is not None and wanted.trace is not None
    np.testing.assert_allclose(found.trace.scores, wanted.trace.scores, atol=1e-4)
    np.testing.assert_allclose(found.trace.attention["source"], np.full((5, 4), 0.25), atol=1e-6)
    assert abs(model.score([WORD], [WRITTEN])[0].score - found.score) > 1e-2


@pytest.mark.parametrize("way", WAYS)
def test_overridden_with_the_truth_it_is_the_model_that_knows_it(way: str) -> None:
    """An oracle model attends to nothing at END; all other steps are overridden."""
    model = opinionated(**WAYS[way])
    attention, truth = selecting(way, "oracle"), {"alignment": {"type": "alignment"}}
    oracle = twin(model, **{**WAYS[way], "attention": attention, "truth": truth})
    alignment = "3-0 2-1 1-2 0-3"
    batch = oracle.dataset(
        [rows(1)[0] | {"source": WORD, "target": WRITTEN, "alignment": alignment}], ["target", "alignment"]
    ).batch([0])  # fmt: skip
    wanted = oracle.score_batch(batch, "target")[0]
    found = model.score([WORD], [WRITTEN], look=alignment)[0]
    assert found.trace is not None and wanted.trace is not None
    np.testing.assert_allclose(found.trace.scores[:4], wanted.trace.scores[:4], atol=1e-4)


@pytest.mark.parametrize("search", [{"method": "greedy"}, {"method": "beam", "beam": 3}])
def test_what_comes_before_the_edit_stays_and_the_edit_is_in_the_trace(search: dict[str, Any]) -> None:
    model = build(spec(search={**search, "min_length": 5, "max_length": 6}))
    before = model.predict(WORD, prefix="D A").trace
    after = model.predict(WORD, prefix="D A", look="0-2 1-2").trace
    assert before is not None and after is not None
    np.testing.assert_allclose(after.attention["source"][:2], before.attention["source"][:2], atol=1e-6)
    np.testing.assert_allclose(after.attention["source"][2], [0.5, 0.5, 0, 0], atol=1e-6)
    np.testing.assert_allclose(after.truth["source"][2], [0.5, 0.5, 0, 0], atol=1e-6)
    assert not after.truth["source"][3:].any()
    assert not before.truth
    assert before.overridden == () and after.overridden == ("source",)
    assert Trace.from_dict(after.to_dict()).overridden == ("source",)
    assert "imposed position" in after.plot().svg() and "true position" not in after.plot().svg()


def test_boxes_of_an_image_override_captions_and_glimpses() -> None:
    data = scenes("caption")
    trace = built(CAPTION, data).predict(data[0]["image"], look="1:0,0,0.5,0.5").trace
    assert trace is not None
    looked = trace.attention["image"][1].reshape(6, 6)
    np.testing.assert_allclose(looked[:3, :3], 1 / 9, atol=1e-6)
    assert not looked[3:].any() and not looked[:, 3:].any()
    data = scenes("question")
    model = built(QUESTION, data)
    given = {name: data[0][name] for name in ("image", "question")}
    free, both, second = (
        model.predict(given, look=look).trace for look in (None, "0:0,0,0.2,0.2", "1:0,0,0.2,0.2")
    )
    assert free is not None and both is not None and second is not None
    # An override of glimpse 0 also applies to the other glimpse, if that has none of its own.
    np.testing.assert_allclose(both.glimpses["image"].weights[:, 0], [1.0, 1.0], atol=1e-6)
    np.testing.assert_allclose(second.glimpses["image"].weights[1, 0], 1.0, atol=1e-6)
    np.testing.assert_allclose(
        second.glimpses["image"].weights[0], free.glimpses["image"].weights[0], atol=1e-6
    )
    assert len({trace.scores[0] for trace in (free, both, second)}) == 3


@pytest.mark.parametrize(
    ("look", "says"),
    [
        ("4-0", "no position 4; the positions of 'source' are 0 to 3"),
        ("0", "expected source-target positions"),
        ("0:0.5,0.1", "empty"),
        ("x:0.1,0.5", "expected token:left,top,right,bottom or token:begin,end"),
        ("0:0,0,0.5,0.5", "'source' is a sequence: a region has two numbers"),
        ({"source": 3}, "expected a text such as 3-0, received 3"),
        ({"sauce": "0-0"}, "does not attend to 'sauce'"),
    ],
)
def test_what_cannot_be_looked_at_is_refused(look: Any, says: str) -> None:
    with pytest.raises(RegardError, match=says):
        build(spec()).predict(WORD, look=look)


def test_a_span_of_a_line_overrides_too() -> None:
    trace = build(spec(search={"min_length": 2, "max_length": 6})).predict(WORD, look="0:0.5,1").trace
    assert trace is not None
    np.testing.assert_allclose(trace.attention["source"][0], [0, 0, 0.5, 0.5], atol=1e-6)


def test_one_input_of_one_model_can_be_overridden() -> None:
    model = build(spec())
    with pytest.raises(RegardError, match="one input and no ensemble"):
        model.predict(["ab", "cd"], look="0-0")
    with pytest.raises(RegardError, match="one input and no ensemble"):
        model.predict("ab", look="0-0", ensemble=[model])
    blind = build(spec(attention=None, decoder={"size": 10, "condition": ["start"]}))
    with pytest.raises(RegardError, match="no attention"):
        blind.predict("ab", look="0-0")
