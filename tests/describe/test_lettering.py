"""`regard describe --as` prints what networks compute, with each weight taken from its stated location."""

from __future__ import annotations

import re
from io import StringIO
from typing import Any

import pytest
import torch
from rich.console import Console

from regard import zoo
from regard.data.batch import BEGIN, END
from regard.describe import board, has_letters, lettered
from regard.errors import RegardError
from regard.nn.packing import forced
from regard.parts import find
from regard.testing.board import Board, Family
from tests.describe.small import made, one_row

pytestmark = pytest.mark.thinned(3)

NAMES = ["enc", "dec", "attn", "init", "out", "w", "s", "q"]
TEXTS = ("translation", "translation-no-attention", "tagger")
FEW = {
    "000": TEXTS,
    "001": ("translation",),
    "002": (*TEXTS, "caption-start", "parity", "translation-segments-word"),
    "003": TEXTS,
    "004": (
        *TEXTS, "translation-every-step", "translation-luong", "caption", "caption-vgg", "parity",
        "document-class-states", "document-class-last", "document-class-hierarchical", "dialog-last",
        "video-class-last", "video-caption", "image-qa-linear",
    ),
}  # fmt: skip
"""Systems whose boards are evaluated in the letters of each lecture."""
LECTURES = {deck: find("notation", deck).letters for deck in FEW}
"""The letters of each lecture."""
CHO = "{type: gru, reset: before, update: cho}"
OTHERS = ("000", "002", "003")
VARIANTS = [
    ["translation", f"encoder.cell={CHO}", f"decoder.cell={CHO}"],
    ["translation", "encoder.cell=rnn", "decoder.cell={type: rnn, activation: sigmoid}"],
    ["translation", "encoder.cell=lstm", "encoder.bidirectional=false", "encoder.direction=backward"],
    ["translation", "decoder.cell=lstm", "encoder.bidirectional=false"],
    ["translation", "attention.score=dot", "decoder.condition=[attention]"],
    ["translation-luong", "encoder.first=zero"],
    ["caption", "attention.feed=false"],
    ["image-qa", "decoder.hidden=null"],
    ["document-class-states", "encoder.words.bidirectional=true", "encoder.sentences.bidirectional=true"],
]  # fmt: skip


LEVELS = {"1": "α", "2": "β"}


def plain(text: str) -> str:
    """Translate a line to the tests' notation: U_dec^o → Udeco, e_enc(w) → an entry, Vᵀ x → V·x, h_ij^1 → hα_ij."""
    text = text.replace("ᵀ ", "·")
    text = re.sub(r"P\((y(?:_\w)?)\|[^)]*\)", r"p(\1)", text)
    text = re.sub(r"CNN\(x(_\w)\)", r"v\1", text)
    text = re.sub(r"CNN\([xI]\)", "cnn", text)
    text = re.sub(r"p_t\(z(?:_i)? = \w\)", "α_ti", text)
    text = re.sub(r"\^\(([^()]*)\)", lambda m: f"_{{{m[1]}}}" if len(m[1]) > 1 else f"_{m[1]}", text)
    text = re.sub(r"e_(enc|dec|q)\(([^()]*)\)", r"e\1[\2]", text)
    text = re.sub(r"(h_(?:\{[^}]*\}|\w+))\^(\d)", lambda m: f"h{LEVELS[m[2]]}{m[1][1:]}", text)
    text = re.sub(r"(GRU|LSTM|RNN)\^(\d)", lambda m: m[1] + LEVELS[m[2]], text)
    return re.sub(
        rf"([A-Za-z]+)_({'|'.join(NAMES)})(?![a-z])(?:\^(\w|\{{[^}}]*\}}))?",
        lambda m: (
            f"{m[1]}{m[2]}" + "".join(LEVELS.get(one, one) for one in (m[3] or "").strip("{}").split(","))
        ),
        text,
    )


def binding(network: Any, spec: Any, batch: Any, found: Any) -> dict[str, Any]:
    """Every weight from its stated location, and the words of the row."""
    state = network.state_dict()
    known: dict[str, Any] = {}
    for weight in found.weights:
        value = state[weight.name][weight.index] if weight.index else state[weight.name]
        sides = [str(side) for side in value.shape]
        assert all(
            said in (side, *(f"V({name})" for name in {**spec.inputs, **spec.outputs}))
            for said, side in zip(weight.sides, sides, strict=True)
        )
        if weight.letter != "W_conv":
            assert weight.letter not in known
            value = value[0] if weight.letter == "q" else value
            known[plain(weight.letter)] = Family(value, (0, 0)) if weight.letter == "θ_a" else value
    (target,) = spec.outputs
    for source, options in spec.encoder.items():
        known |= _source(network, options, batch, source, found)
    if spec.decoder[target].type == "recurrent":
        ids = torch.tensor([BEGIN, *batch[target].ids[0].tolist(), END]) + 1
        known |= {"T": len(ids) - 1, "y": Family(ids, (0,))}
    elif spec.decoder[target].type == "label":
        known["y"] = batch[target][0] + 1
    else:
        known[f"y_{found.index}"] = batch[target].ids[0] + 1
    return known


def _source(network: Any, options: Any, batch: Any, source: str, found: Any) -> dict[str, Any]:
    """What the encoder of an input is given; what a convolutional network makes of images."""
    index, length = found.index, found.length
    if options.type == "hierarchical":
        (tokens,) = batch[source].buckets
        return {"K": len(tokens.ids), "T_i": tokens.lengths, "w_ij": tokens.ids + 1}
    memory = network.encode(batch)[source]
    if options.type == "image":
        if len(network.encoders) > 1:
            return {"cnn": memory.summary[0]}
        value = LECTURES[found.deck].value
        return {"S": memory.values.shape[1], f"{value}_{index}": memory.values[0], "cnn": memory.summary[0]}
    if options.type == "video":
        frames = batch[source].frames[0]
        encoder = network.encoders[source]
        seen = encoder.frames((frames.to(encoder.mean.dtype) - encoder.mean) / encoder.std)[1]
        return {length: len(frames), f"v_{index}": seen}
    ids = batch[source].ids[0]
    word = "q" if len(network.encoders) > 1 else "w"
    return {length: len(ids), f"{word}_{index}": ids + 1}


class Found:
    """The lines and weights in the letters of a deck."""

    def __init__(self, spec: Any, deck: str) -> None:
        made_of = lettered(spec, deck)
        self.deck, self.weights = deck, made_of.weights
        at_once = deck == "004" and next(iter(spec.decoder.values())).type == "label"
        self.index, self.length = ("t", "T") if at_once else (LECTURES[deck].position, "S")
        self.lines = [
            plain(line) for side in ("encoder", "decoder", "loss") for line in made_of.answers[side]
        ]


def check(name: str, more: list[str], deck: str, wrong: tuple[str, str] | None = None) -> None:
    network, spec, columns = made(name, more)
    batch, found = one_row(spec, columns), Found(spec, deck)
    lines = found.lines
    if wrong is not None:
        assert any(wrong[0] in line for line in lines), lines
        lines = [line.replace(*wrong) for line in lines]
    board = Board(lines, binding(network, spec, batch, found))
    (target,) = spec.outputs
    memories, decoder = network.memories(target, network.encode(batch)), network.decoders[target]

    def same(ours: Any, theirs: Any) -> None:
        torch.testing.assert_close(ours.double(), theirs.double(), rtol=1e-6, atol=1e-6)

    if spec.decoder[target].type == "recurrent":
        previous, _, packing = forced(batch[target])
        unrolled = decoder.unroll(memories, previous, packing)
        same(board.all(f"p(y_{LECTURES[deck].step})"), torch.softmax(decoder.output(unrolled.readouts), -1))
        at = plain(LECTURES[deck].weight)
        for looks in unrolled.looks.values():
            same(board.all(at).T if at == "α_jt" else board.all(at), looks)
    else:
        chances = decoder.predict(memories).log_probabilities[0].exp()
        one = "p(y)" if spec.decoder[target].type == "label" else f"p(y_{found.index})"
        same(board(one) if one == "p(y)" else board.all(one), chances)
    same(board("loss"), decoder.loss(memories, batch[target]).mean)
    feature_map = {f"{LECTURES[deck].value}_{found.index}", "cnn", "S", "T", "K"}
    unused = board.unused() - feature_map  # a decoder need not read all of what a CNN gives
    assert not unused, unused


@pytest.fixture(scope="module")
def supported() -> list[str]:
    return [name for name in zoo.names() if has_letters(zoo.find(name), "004")]


def test_the_systems_of_the_lectures_are_supported(supported: list[str]) -> None:
    wanted = {
        "translation",
        "translation-no-attention",
        "translation-every-step",
        "translation-luong",
        "transliteration",
    }
    wanted |= {"caption", "caption-start", "caption-every-step", "image-class", "parity", "tagger"}
    wanted |= {"document-class-states", "document-class-last", "document-class-hierarchical", "dialog-last"}
    wanted |= {"video-class", "video-caption", "video-class-last", "video-caption-last", "image-qa-linear"}
    assert {*wanted, "caption-vgg", "dialog-single", "summary-plain"} <= {*supported}


@pytest.mark.parametrize(
    ("name", "deck"),
    [(name, deck) for deck in sorted(FEW) for name in FEW[deck]],
)
@torch.no_grad()
def test_the_letters_of_a_lecture_compute_what_the_network_does(name: str, deck: str) -> None:
    check(name, [], deck)


@pytest.mark.parametrize(
    ("variant", "deck"),
    [
        (variant, deck)
        for place, variant in enumerate(VARIANTS)
        for deck in (OTHERS[place % 3], "004")
        if deck == "004" or place < 7
    ],
)
@torch.no_grad()
def test_so_they_do_with_other_options(variant: list[str], deck: str) -> None:
    check(variant[0], variant[1:], deck)


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("Wattn s_{t−1}", "Wattn s_t"),
        ("Udeco x", "Udeci x"),
        ("Winit h", "Winit h_1"),
        ("Uenc_d x", "Wenc_d x"),
    ],
)
@torch.no_grad()
def test_wrong_letters_are_noticed(right: str, wrong: str) -> None:
    with pytest.raises((AssertionError, ValueError, RuntimeError, RecursionError)):
        check("translation", [], "004", (right, wrong))


def test_every_parameter_has_a_letter(supported: list[str]) -> None:
    """And no parameter has two letters."""
    for name in supported:
        network, spec, _ = made(name)
        counts = {one: torch.zeros(value.shape) for one, value in network.named_parameters()}
        for weight in lettered(spec, "004").weights:
            counts[weight.name][weight.index or ...] += 1
        wrong = [one for one, count in counts.items() if not (count == 1).all()]
        assert not wrong, (name, wrong)


@pytest.mark.parametrize(
    ("name", "deck", "told"),
    [
        ("translation", "009", "there is no notation .009."),
        ("document-class", "004", "values: inputs; the slide sums the states"),
        ("document-class-states", "003", "the encoder hierarchical"),
        ("image-qa", "004", "the decoder label with these options"),
        ("video-caption-both", "004", "a video encoder without"),
        ("nli-plain", "004", "several inputs"),
        ("speech", "004", "the encoder pyramidal"),
        ("translation-segments-char", "004", "the selection segments"),
        ("tagger-crf", "003", "the decoder crf"),
        ("lm-word", "004", "tied weights"),
        ("lm-word", "003", "a model without an input"),
    ],
)
def test_what_a_lecture_has_no_letters_for_is_refused(name: str, deck: str, told: str) -> None:
    with pytest.raises(RegardError, match=told):
        lettered(zoo.find(name), deck)


@pytest.mark.parametrize("width", [100, 60])
def test_letters_shapes_and_places_stand_in_columns(width: int) -> None:
    """At 100 columns a weight takes one line; on a narrow terminal its location wraps."""
    console = Console(width=width, record=True, file=StringIO())
    console.print(board(zoo.find("translation"), "translation", letters="004"))
    lines = console.export_text().splitlines()
    first = next(place for place, line in enumerate(lines) if "U_enc^o_→   128 × 128" in line)
    column = lines[first].index("encoders.")
    whole = lines[first][column:].strip()
    while "]" not in whole:
        first += 1
        assert not lines[first][:column].strip()
        whole += lines[first][column:].strip()
    assert whole == "encoders.source.layers.0.cells.0.weight_ih[0:128]"
    assert width == 60 or "counted     encoder source: 198,400 + 128 V(source)" in "\n".join(lines)


SLIDES = {
    "document-class-last": [
        "s_i = h_{i,T_i}^1",
        "h_i^2 = GRU^2(h_{i−1}^2, s_i)",
        "s = h_K^2",
        "P(y|document) = softmax(V s + b)",
    ],
    "document-class-states": [
        "u_ij = tanh(W_w h_ij + b_w)",
        "α_ij = exp(u_ijᵀ u_w) / Σ_j exp(u_ijᵀ u_w)",
        "s_i = Σ_j α_ij h_ij",
        "u_i = tanh(W_s h_i + b_s)",
        "α_i = exp(u_iᵀ u_s) / Σ_i exp(u_iᵀ u_s)",
        "s = Σ_i α_i h_i",
        "P(y|document) = softmax(V s + b)",
    ],
    "image-qa-linear": [
        "ĥ_I = CNN(I)",
        "h̃_t = GRU_q(h̃_{t−1}, x_t)",
        "s = [h̃_T; ĥ_I]",
        "P(y|q, I) = softmax(V s + b)",
    ],
    "video-class-last": ["h_t = GRU_enc(h_{t−1}, CNN(x_t))", "s = h_T", "P(y|x) = softmax(V s + b)"],
    "video-caption-last": ["h_j = GRU_enc(h_{j−1}, CNN(x_j))", "s_t = GRU_dec(s_{t−1}, e_dec(y_{t−1}))"],
    "caption-vgg": ["s_0 = CNN(x)", "P(y_t|y_1^{t−1}, I) = softmax(V s_t + b)"],
    "translation": [
        "e_jt = V_attnᵀ tanh(W_attn s_{t−1} + U_attn h_j)",
        "c_t = Σ_j α_jt h_j",
        "s_t = GRU_dec(s_{t−1}, [e_dec(y_{t−1}); c_t])",
    ],
}
"""Lines of the slides, with GRU for RNN and without the number of the example."""
PRINTED = {
    "translation-no-attention": "U_dec, V, W_dec, U_enc, W_enc, b",
    "translation": "U_dec, V, W_dec, U_enc, W_enc, b, U_attn, V_attn",
    "caption-vgg": "U_dec, V, W_dec, W_conv, b",
    "image-qa-linear": "V, b, U_q, W_q, W_conv, b",
    "video-caption-last": "U_dec, W_dec, V, b, W_conv, U_enc, W_enc, b",
    "video-class-last": "V, b, W_conv, U_enc, W_enc, b",
    "document-class-last": "W_enc^1, U_enc^1, W_enc^2, U_enc^2, V, b",
    "document-class-states": "W_w, W_s, V, b_w, b_s, b, u_w, u_s",
}
"""The parameters of each application, as its slide prints them."""


@pytest.mark.parametrize("name", SLIDES)
def test_the_lines_are_those_of_the_slide(name: str) -> None:
    found = lettered(zoo.find(name), "004")
    lines = [
        line.partition("—")[0].strip() for side in ("encoder", "decoder") for line in found.answers[side]
    ]
    assert [line for line in SLIDES[name] if line not in lines] == []


@pytest.mark.parametrize("name", PRINTED)
def test_the_parameters_are_those_of_the_slide_and_each_of_them_is_there(name: str) -> None:
    found = lettered(zoo.find(name), "004")
    assert found.parameters == PRINTED[name]
    letters = {weight.letter.removesuffix("_→").removesuffix("_←") for weight in found.weights}
    made = {line.split(" = ")[0] for side in ("encoder", "decoder") for line in found.answers[side]}
    assert {*found.parameters.split(", ")} <= letters | made  # b_w is a product


def test_other_lectures_write_attention_in_their_letters() -> None:
    def shows(deck: str, *wanted: str) -> None:
        lines = [
            line.partition("—")[0].strip()
            for line in lettered(zoo.find("translation"), deck).answers["decoder"]
        ]
        assert {*wanted} <= {*lines}, lines

    for deck in ("000", "001"):
        shows(deck, "c^(i) = Σ_j α_ij h^(j)", "α_ij = exp(α̃_ij) / Σ_j exp(α̃_ij)")
    shows("002", "c_t = Σ_i p_t(z = i) x_i", "p_t(z = i) = exp(θ_ti) / Σ_i exp(θ_ti)")
    shows("003", "C_t = Σ_i α_ti h_i", "α_ti = exp(e_ti) / Σ_i exp(e_ti)")


@pytest.mark.parametrize("cell", ["{type: rnn, activation: sigmoid}", "{type: gru, reset: before}", "lstm"])
@torch.no_grad()
def test_a_language_model_in_the_letters_of_its_slides(cell: str) -> None:
    """Its slides name weights without a module: U, V, W, b and c."""
    network, spec, columns = made("lm-word", [f"decoder.cell={cell}", "decoder.tie=none"])
    found, (target,) = lettered(spec, "004"), spec.outputs
    assert found.parameters == "U, V, W, b, c"
    lines = [line for side in ("decoder", "loss") for line in found.answers[side]]
    assert "P(y_t = j|y_1^{t−1}) = softmax(V s_t + c)_j" in lines
    if "rnn" in cell:
        assert {"s_t = RNN(s_{t−1}, x_t)", "RNN(s, x) = σ(U x + b + W s + d)"} <= {*lines}
    lines = [
        plain(line.replace("P(y_t = j|", "P(y_t|").replace("c)_j", "c)").replace("e(y_{t−1})", "e[y_{t−1}]"))
        for line in lines
    ]
    lines = [re.sub(r"(?<!\w)([UWbd])\^(\w)", r"\1\2", line) for line in lines]
    batch, state, decoder = one_row(spec, columns), network.state_dict(), network.decoders[target]
    span = batch[target]
    words = torch.cat([span.before[0, :1], span.ids[0]]) + 1
    known = {
        one.letter.replace("^", ""): state[one.name][one.index] if one.index else state[one.name]
        for one in found.weights
    }
    assert sum(value.numel() for value in known.values()) == sum(one.numel() for one in network.parameters())
    board_ = Board(lines, {**known, "T": len(words) - 1, "y": Family(words, (0,))})
    hidden, _ = decoder(span.before, decoder.start(1))
    same = {"rtol": 1e-6, "atol": 1e-6}
    torch.testing.assert_close(board_.all("p(y_t)"), torch.softmax(decoder.output(hidden[0]), -1), **same)
    torch.testing.assert_close(board_("loss"), decoder.loss({}, span).mean, **same)
    assert not board_.unused()
