"""Edits of the attention: each against numbers computed by hand, by another model, or by another call."""

from __future__ import annotations

import base64
import io
import json
from typing import Any

import numpy as np
import pytest
from PIL import Image

from regard import Model, RegardError, Spec, Trace
from regard.model.edits import (
    ArcEdit,
    Edit,
    MaskEdit,
    PermuteEdit,
    PinEdit,
    RegionEdit,
    SegmentEdit,
    SpanEdit,
    TruthEdit,
    UniformEdit,
    WeightsEdit,
    ZeroEdit,
    edit_of,
    parsed,
    written,
)

from .small import build, rows, spec
from .test_images import CAPTION, QUESTION, built
from .test_images import rows as scenes
from .test_override import WAYS, WORD, WRITTEN, opinionated, selecting, twin

EVERY: list[Edit] = [
    WeightsEdit(step=1, weights={3: 0.7, 4: 0.3}),
    PinEdit(step=0, position=2),
    UniformEdit(step=3),
    PermuteEdit(step=None, seed=7),
    RegionEdit(step=5, box=(0.1, 0.2, 0.3, 0.5)),
    SpanEdit(step=6, start=0.25, end=1 / 3),
    ArcEdit(head=0, dependent=3),
    ArcEdit(head=2, dependent=1, how="forbid"),
    SegmentEdit(step=None, start=2, end=5),
    SegmentEdit(step=4, start=0, end=1, how="forbid"),
    TruthEdit(),
    ZeroEdit(step=None, positions=(1, 3)),
    ZeroEdit(step=2, positions=(0,)),
    MaskEdit(positions=(3, 5)),
]
FIXED = {"min_length": 5, "max_length": 6}


def traced(model: Model, look: Any = None, given: Any = WORD, **how: Any) -> Trace:
    trace = model.predict(given, look=look, **how).trace
    assert trace is not None
    return trace


def test_edits_are_data_in_both_directions() -> None:
    for one in [*EVERY, MaskEdit(input="image", box=(0.0, 0.0, 0.5, 1.0))]:
        assert edit_of(json.loads(json.dumps(one.to_dict()))) == one
    assert edit_of({"edit": "span", "step": 0, "from": 0.1, "to": 0.4}) == SpanEdit(
        step=0, start=0.1, end=0.4
    )
    assert WeightsEdit(step=0, weights={3: 0.5}).to_dict() == {
        "edit": "weights",
        "step": 0,
        "weights": {"3": 0.5},
    }
    assert ZeroEdit(positions=[1], input="source").to_dict()["step"] is None


def test_edits_are_a_text_in_both_directions() -> None:
    text = (
        "3-1=0.7 4-1=0.3 2-0 uniform-3 permute-*=7 5:0.1,0.2,0.3,0.5 6:0.25,0.3333333333333333 0>3 !2>1 2..5-* "
        "!0..1-4 truth !1-* !3-* !0-2 mask-3 mask-5"
    )
    assert written(EVERY) == text and parsed(text) == EVERY
    named = [PinEdit(input="image", step=0, position=1), PinEdit(input="text", step=0, position=2)]
    assert json.loads(written(named)) == {"image": "1-0", "text": "2-0"}
    assert written(named[:1], only="image") == "1-0"
    ordered = [
        ZeroEdit(step=0, positions=[1]),
        PinEdit(step=0, position=1),
    ]  # a text names what gets none last
    assert [edit_of(one) for one in json.loads(written(ordered))] == ordered


@pytest.mark.parametrize("way", WAYS)
def test_zero_renormalizes_the_own_row(way: str) -> None:
    model = opinionated(**WAYS[way], search=FIXED)
    own = traced(model, prefix="D A").attention["source"]
    found = traced(model, [ZeroEdit(step=2, positions=[0, 3])], prefix="D A")
    by_hand = own[2] * [0, 1, 1, 0]
    np.testing.assert_allclose(found.attention["source"][:2], own[:2], atol=1e-6)
    np.testing.assert_allclose(found.attention["source"][2], by_hand / by_hand.sum(), atol=1e-5)
    assert found.overridden == ("source",) and not found.truth
    same = traced(model, "!0-2 !3-2", prefix="D A")
    np.testing.assert_array_equal(same.attention["source"], found.attention["source"])


@pytest.mark.parametrize("way", WAYS)
def test_uniform_everywhere_is_the_model_that_always_is(way: str) -> None:
    model = opinionated(**WAYS[way])
    even = twin(model, **{**WAYS[way], "attention": selecting(way, "uniform")})
    wanted = even.score([WORD], [WRITTEN])[0].trace
    found = model.score([WORD], [WRITTEN], look=[{"edit": "uniform", "step": None}])[0].trace
    assert wanted is not None and found is not None
    np.testing.assert_allclose(found.scores, wanted.scores, atol=1e-4)


def test_rows_of_a_batch_have_their_own_edits() -> None:
    model = opinionated(search=FIXED)
    words = ["bead", "cabbage", "fed"]
    looks: list[list[Any]] = [
        [PinEdit(step=0, position=1), ZeroEdit(step=None, positions=[2])],
        [],
        [{"edit": "weights", "step": 1, "weights": {"0": 1, "2": 3}}],
    ]
    together = model.predict(words, look=looks)
    for word, look, one in zip(words, looks, together, strict=True):
        alone = model.predict(word, look=look)
        assert one.text == alone.text and one.trace is not None and alone.trace is not None
        np.testing.assert_allclose(one.trace.attention["source"], alone.trace.attention["source"], atol=1e-5)
    last = together[2].trace
    assert last is not None
    np.testing.assert_allclose(last.attention["source"][1], [0.25, 0, 0.75], atol=1e-6)
    free = model.predict(words[1])
    assert together[1].text == free.text and abs(together[1].score - free.score) < 1e-5
    with pytest.raises(RegardError, match="2 lists of edits; received 3 inputs"):
        model.predict(words, look=looks[:2])


def test_permute_keeps_the_weights_and_moves_them() -> None:
    model = opinionated(search=FIXED)
    own = traced(model, given="cabbage").attention["source"]
    found = [
        traced(model, [PermuteEdit(step=0, seed=seed)], "cabbage").attention["source"][0] for seed in range(4)
    ]
    for one in found:
        np.testing.assert_allclose(np.sort(one), np.sort(own[0]), atol=1e-6)
    assert len({tuple(one.round(6)) for one in found}) == 4


def test_the_truth_of_a_row_is_imposed() -> None:
    truth = {"alignment": {"type": "alignment"}}
    model = opinionated(attention={"score": "additive", "guide": 1.0}, truth=truth, search={"min_length": 4})
    given = next(row for row in rows() if len(row["source"]) == 4)
    found = traced(model, [TruthEdit()], given, prefix=given["target"])
    np.testing.assert_allclose(found.attention["source"][:4], np.eye(4)[::-1], atol=1e-6)
    same = traced(model, given["alignment"], given, prefix=given["target"])
    np.testing.assert_allclose(found.scores[:4], same.scores[:4], atol=1e-6)
    with pytest.raises(RegardError, match="not known for this input"):
        model.predict("bead", look=[TruthEdit()])


def test_a_masked_letter_is_an_unknown_letter() -> None:
    model = opinionated(search=FIXED)
    masked, unknown = model.predict("bead", look=[MaskEdit(positions=[1])]), model.predict("bzad")
    assert masked.text == unknown.text and masked.score == pytest.approx(unknown.score, abs=1e-6)
    assert masked.score != pytest.approx(model.predict("bead").score, abs=1e-4)


def test_a_masked_box_has_the_mean_color() -> None:
    data = scenes("caption")
    model = built(CAPTION, data)
    pixels = np.asarray(
        Image.open(io.BytesIO(base64.b64decode(data[0]["image"].partition(",")[2]))).convert("RGB")
    ).copy()
    height, width, _ = pixels.shape
    pixels[: height // 2, : width // 2] = pixels.reshape(-1, 3).mean(0).round()
    by_hand, free = traced(model, given=pixels), traced(model, given=data[0]["image"])
    masked = traced(model, [MaskEdit(box=(0, 0, 0.5, 0.5))], data[0]["image"])
    np.testing.assert_allclose(masked.scores, by_hand.scores, atol=1e-5)
    assert masked.scores[0] != pytest.approx(free.scores[0], abs=1e-6)


def test_glimpses_and_regions() -> None:
    data = scenes("question")
    model = built(QUESTION, data)
    given = {name: data[0][name] for name in ("image", "question")}
    first = traced(model, [RegionEdit(step=0, box=(0, 0, 0.2, 0.2))], given).glimpses["image"].weights
    free = traced(model, given=given).glimpses["image"].weights
    assert first[0, 0] == pytest.approx(1.0)  # an edit is about its own glimpse alone
    np.testing.assert_allclose(first[1], free[1], atol=1e-6)
    two = [RegionEdit(step=0, box=(0, 0, 0.2, 0.2)), RegionEdit(step=0, box=(0.9, 0.9, 1, 1))]
    both = traced(model, two, given).glimpses["image"].weights[0]
    assert both[0] == pytest.approx(0.5) and both[-1] == pytest.approx(0.5)


@pytest.mark.parametrize(
    ("look", "says"),
    [
        ([{"edit": "pin", "step": 0, "position": 4}], "no position 4; the positions of 'source' are 0 to 3"),
        ([{"edit": "pin", "step": 0}], "the pin edit lacks 'position'"),
        ([{"edit": "pin", "step": -1, "position": 0}], "step of a pin edit: expected a number from 0"),
        ([{"edit": "pon", "step": 0, "position": 0}], "there is no edit 'pon'"),
        ([{"edit": "zero", "step": 0, "position": [1]}], "a zero edit has no 'position'"),
        ([{"edit": "zero", "step": 0, "positions": [0, 1, 2, 3]}], "no position of 'source' would keep"),
        ([{"edit": "weights", "step": 0, "weights": {"1": -1}}], "weights of at least 0"),
        ([{"edit": "pin", "input": "sauce", "step": 0, "position": 0}], "does not attend to 'sauce'"),
        ([{"edit": "region", "step": 0, "box": [0, 0, 1, 1]}], "'source' is a sequence"),
        ([{"edit": "mask", "positions": [9]}], "no position 9"),
        ([{"edit": "mask", "box": [0, 0, 1, 1]}], "no regions of an image to mask"),
        ([{"edit": "uniform", "step": 40}], "the output has no piece 40"),
        ([3], "expected an edit, received 3"),
        (3, "expected a text such as 3-0, or a list of edits"),
        ("!4-0", "no position 4"),
        ("3-0=x", "expected source-target positions"),
    ],
)
def test_edits_that_cannot_apply_are_refused(look: Any, says: str) -> None:
    with pytest.raises(RegardError, match=says):
        build(spec()).predict(WORD, look=look)


def test_every_head_of_a_transformer_is_edited() -> None:
    model = build(
        spec(
            encoder={"type": "transformer", "size": 8, "embedding": 8, "layers": 1, "heads": 2},
            decoder={"type": "transformer", "size": 8, "embedding": 8, "layers": 2, "heads": 2},
            attention=None,
            search=FIXED,
        )
    )
    own, found = traced(model), traced(model, [ZeroEdit(step=1, positions=[0]), PinEdit(step=2, position=3)])
    heads, before = (one.heads["decoder layer 1 over source"].weights for one in (found, own))
    by_hand = before[:, 1] * [0, 1, 1, 1]
    if found.output[0] == own.output[0]:  # the same word before: the same queries in the first layer
        np.testing.assert_allclose(heads[:, 1], by_hand / by_hand.sum(-1, keepdims=True), atol=1e-5)
    assert (heads[:, 1, 0] == 0).all() and (heads[:, 2] == [0, 0, 0, 1]).all()
    np.testing.assert_allclose(found.attention["source"][2], [0, 0, 0, 1], atol=1e-6)
    given = model.score(WORD, "D A E", look=[UniformEdit()]).trace
    assert given is not None
    np.testing.assert_allclose(given.attention["source"], 0.25, atol=1e-6)


def test_hops_of_a_memory_network_are_edited() -> None:
    data: list[dict[str, Any]] = [
        {"story": "Mary went home. John slept. Mary sat.", "question": "where is mary", "answer": "home"},
        {"story": "John went out. Mary slept.", "question": "where is john", "answer": "out"},
    ]
    document = {
        "inputs": {"story": {"type": "story"}, "question": {"type": "text", "shared": "story"}},
        "outputs": {"answer": {"type": "label"}},
        "encoder": {
            "story": {"type": "story", "embedding": 6},
            "question": {"type": "bag", "embedding": 6, "like": "story"},
        },
        "attention": {"score": "dot", "select": "softmax"},
        "decoder": {"type": "memory-network", "hops": 2},
    }
    model = Model.build(Spec.parse(document), rows=data).eval()
    given = {name: data[0][name] for name in ("story", "question")}
    edits = [PinEdit(step=1, position=2), ZeroEdit(step=0, positions=[0])]
    free, found = (traced(model, look, given).structures["story"].weights for look in (None, edits))
    np.testing.assert_allclose(found[1], [0, 0, 1], atol=1e-6)
    by_hand = free[0] * [0, 1, 1]
    np.testing.assert_allclose(found[0], by_hand / by_hand.sum(), atol=1e-5)
