"""Specs of images: invalid combinations, and the suggested alternatives."""

from __future__ import annotations

from typing import Any

import pytest

from regard import RegardError, Spec
from regard.describe import answers

CAPTION: dict[str, Any] = {
    "inputs": {"image": {"type": "image", "size": 48}},
    "outputs": {"caption": {"type": "text"}},
    "attention": {"score": "additive"},
}
QUESTION: dict[str, Any] = {
    "inputs": {"image": {"type": "image", "size": 48}, "question": {"type": "text"}},
    "outputs": {"answer": {"type": "label"}},
}


def test_a_picture_has_an_image_encoder_without_being_told():
    spec = Spec.parse(CAPTION)
    assert spec.encoder["image"].type == "image"
    assert Spec.parse(QUESTION).encoder["question"].type == "recurrent"


@pytest.mark.parametrize(
    ("base", "changes", "words"),
    [
        (
            CAPTION,
            ["encoder.type=recurrent"],
            ["the encoder recurrent cannot read image, which is of type image", "Use type: image"],
        ),
        (
            QUESTION,
            ["encoder.question.type=image"],
            ["the encoder image cannot read question, which is of type text", "Use type: recurrent"],
        ),
        (
            CAPTION,
            ["encoder.network={type: lenet, stride: 4}"],
            ["unknown key 'stride'", "It is an option of the networks resnet, vgg."],
        ),
        (
            CAPTION,
            ["encoder.network={type: vgg16, connected: 8}"],
            ["unknown key 'connected'", "It is an option of the networks resnet, timm, vgg."],
        ),
        (
            CAPTION,
            ["encoder.network={type: resnet, pretrained: true}"],
            ["unknown key 'pretrained'", "It is an option of the network timm."],
        ),
        (
            CAPTION,
            ["encoder.pretrained=true"],
            ["has moved", "network: {type: timm, name: …, pretrained: …}"],
        ),
        (CAPTION, ["encoder.network=timm:resnet18"], ["not a known network", "Write  {type: timm, …}"]),
        (CAPTION, ["encoder.network={type: timm}"], ["the key 'name' is missing"]),
        (CAPTION, ["encoder.network={stride: 4}"], ["the key 'type' is missing. Known: lenet, resnet"]),
        (
            CAPTION,
            ["encoder.network={type: timm, name: resnet18, train: frozen}"],
            ["train: frozen needs pretrained weights, and this network has none", "pretrained: true"],
        ),
        (CAPTION, ["encoder.network={type: resnet, stride: 6}"], ["stride is 6", "1, 2, 4, 8 pixels wide"]),
        (
            CAPTION,
            ["encoder.network={type: vgg, connected_norm: true}"],
            ["connected_norm needs a connected layer, and this network has none", "connected: 128"],
        ),
        (CAPTION, ["encoder.network={type: vgg, stride: 16}"], ["stride is 16", "1, 2, 4, 8 pixels wide"]),
        (
            CAPTION,
            ["inputs.image.size=12", "encoder.network=lenet"],
            ["16 pixels or more; these have 12", "size: 32"],
        ),
        (CAPTION, ["encoder.network=resnext"], ["'resnext' is not a known network. Did you mean resnet?"]),
        (CAPTION, ["attention.score=dot"], ["memory of image has 64, the decoder 256"]),
        (
            CAPTION,
            ["attention.score=dot", "encoder.network=vgg16", "encoder.position=coordinates"],
            ["memory of image has 514"],
        ),
        (CAPTION, ["decoder.tie=all"], ["image has no embeddings", "tie: output"]),
        (QUESTION, ["decoder.query=question"], ["query needs an attention", "attention: {over: INPUT}"]),
        (QUESTION, ["decoder.glimpses=2"], ["glimpses needs an attention"]),
        (QUESTION, ["decoder.whole=true"], ["whole needs an attention"]),
        (QUESTION, ["decoder.where=true"], ["where needs an attention"]),
        (
            QUESTION,
            ["decoder.over=image", "decoder.hidden=8", "decoder.combine=gated"],
            ["combine: gated needs two inputs", "beside"],
        ),
        (QUESTION, ["decoder.combine=gated"], ["combine needs a hidden layer", "hidden: 128"]),
        (
            QUESTION,
            ["decoder.attention.over=image", "decoder.query=qestion"],
            ["this decoder has no input 'qestion'", "question"],
        ),
        (
            QUESTION,
            ["decoder.attention.over=image", "decoder.query=image"],
            ["query and attention.over are the same input, image"],
        ),
        (
            QUESTION,
            ["decoder.attention.score=additive", "decoder.hidden=8", "decoder.combine=gated"],
            ["all inputs are attended to", "query: question"],
        ),
        (QUESTION, ["decoder.attention.score=dot"], ["one width", "image", "question", "score: additive"]),
        (
            QUESTION,
            ["decoder.attention={over: image, guide: 1}"],
            ["guide needs the true regions", "Add  truth: {places: {type: places}}"],
        ),
        (
            QUESTION,
            ["decoder.attention={over: question, guide: 1}"],
            [
                "guide needs a true alignment, and a label decoder cannot have one for this input. Leave guide out."
            ],
        ),
        (
            CAPTION,
            ["attention.guide=1"],
            ["guide needs the true regions", "Add  truth: {places: {type: places}}"],
        ),
    ],
)
def test_what_cannot_be(base: dict[str, Any], changes: list[str], words: list[str]):
    with pytest.raises(RegardError) as error:
        Spec.parse(base, changes)
    for word in words:
        assert word in str(error.value)


@pytest.mark.parametrize(
    "network", ["lenet", "resnet", "vgg", "vgg13", "vgg16", "{type: timm, name: resnet18}"]
)
def test_the_board_shows_the_network(network: str):
    shown = answers(Spec.parse(CAPTION, [f"encoder.network={network}"]))
    assert "images of 48 × 48 pixels in color" in shown["data"][1]
    assert any(line.startswith("h = ") for line in shown["encoder"])
    assert any(line.startswith("h_j = G[j]") for line in shown["encoder"])


def test_the_board_shows_who_asks():
    spec = Spec.parse(
        QUESTION,
        [
            "decoder.attention.over=image",
            "decoder.query=question",
            "decoder.glimpses=2",
            "decoder.hidden=64",
        ],
    )
    lines = answers(spec)["decoder"]
    assert "q_k = Q_yk h′ + b_yk" in lines  # h′ is the summary of the question
    assert "r = relu(W_r [c_1; c_2; h′] + b_r)     — 64 units" in lines


def test_places_that_guide_attention_must_not_move():
    guided = {
        **CAPTION,
        "inputs": {"image": {"type": "image", "size": 48, "augment": {"color": 0.2}}},
        "attention": {"score": "additive", "guide": 0.5},
        "truth": {"places": {"type": "places"}},
    }
    Spec.parse(guided)
    for moved in ("inputs.image.augment.flip=true", "inputs.image.augment.crop=0.1"):
        with pytest.raises(RegardError, match="but flip and crop of image move"):
            Spec.parse(guided, [moved])
        Spec.parse(guided, [moved, "attention.guide=0"])
