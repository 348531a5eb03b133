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
from regard.describe.lettering import LECTURES
from regard.errors import RegardError
from regard.nn.packing import forced
from regard.testing.board import Board, Family
from tests.describe.small import made, one_row

NAMES = {"enc", "dec", "attn", "init", "out"}
CHO = "{type: gru, reset: before, update: cho}"
VARIANTS = [
    ["translation", f"encoder.cell={CHO}", f"decoder.cell={CHO}"],
    ["translation", "encoder.cell=rnn", "decoder.cell={type: rnn, activation: sigmoid}"],
    ["translation", "encoder.cell=lstm", "encoder.bidirectional=false", "encoder.direction=backward"],
    ["translation", "decoder.cell=lstm", "encoder.bidirectional=false"],
    ["translation", "attention.score=dot", "decoder.condition=[attention]"],
    ["translation-luong", "encoder.first=zero"],
    ["caption", "attention.feed=false"],
]  # fmt: skip


def plain(text: str) -> str:
    """Translate a line to the tests' notation: U_dec^o → Udeco, e_enc(w) → an entry, Vᵀ x → V·x."""
    text = text.replace("ᵀ ", "·")
    text = re.sub(r"e_(enc|dec)\(([^()]*)\)", r"e\1[\2]", text)
    return re.sub(
        rf"([A-Za-z]+)_({'|'.join(NAMES)})(?:\^([a-z]))?",
        lambda m: "".join(part or "" for part in m.groups()),
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
            known[plain(weight.letter)] = value
    (source,), (target,) = spec.encoder, spec.outputs
    index = LECTURES_INDEX[found.deck]
    if spec.encoder[source].type == "image":
        memory = network.encode(batch)[source]
        known |= {"S": memory.values.shape[1], f"h_{index}": memory.values[0], "h": memory.summary[0]}
    else:
        ids = batch[source].ids[0]
        known |= {"S": len(ids), f"w_{index}": ids + 1}
    if spec.decoder[target].type == "recurrent":
        ids = torch.tensor([BEGIN, *batch[target].ids[0].tolist(), END]) + 1
        known |= {"T": len(ids) - 1, "y": Family(ids, (0,))}
    elif spec.decoder[target].type == "label":
        known["y"] = batch[target][0] + 1
    else:
        known[f"y_{index}"] = batch[target].ids[0] + 1
    return known


LECTURES_INDEX = {deck: letters.position for deck, letters in LECTURES.items()}


class Found:
    """The lines and weights in the letters of a deck."""

    def __init__(self, spec: Any, deck: str) -> None:
        made_of = lettered(spec, deck)
        self.deck, self.weights = deck, made_of.weights
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
        same(board.all("p(y_t)"), torch.softmax(decoder.output(unrolled.readouts), -1))
        at = LECTURES[deck].weight
        for looks in unrolled.looks.values():
            same(board.all(f"α_{at}") if at[0] == "t" else board.all(f"α_{at}").T, looks)
    else:
        chances = decoder.predict(memories).log_probabilities[0].exp()
        one = "p(y)" if spec.decoder[target].type == "label" else f"p(y_{LECTURES_INDEX[deck]})"
        same(board(one) if one == "p(y)" else board.all(one), chances)
    same(board("loss"), decoder.loss(memories, batch[target]).mean)
    unused = board.unused() - {
        f"h_{LECTURES_INDEX[deck]}",
        "h",
        "S",
    }  # the feature map of a CNN, which a decoder may attend to
    assert not unused, unused


SUPPORTED = [name for name in zoo.names() if has_letters(zoo.find(name), "004")]


def test_the_systems_of_the_lectures_are_supported() -> None:
    wanted = {
        "translation",
        "translation-no-attention",
        "translation-every-step",
        "translation-luong",
        "transliteration",
    }
    assert {*wanted, "caption", "caption-start", "caption-every-step", "image-class", "parity", "tagger"} <= {
        *SUPPORTED
    }


@pytest.mark.parametrize("deck", sorted(LECTURES))
@pytest.mark.parametrize("name", [name for name in SUPPORTED if name != "image-class"])
@torch.no_grad()
def test_the_letters_of_a_lecture_compute_what_the_network_does(name: str, deck: str) -> None:
    check(name, [], deck)


@pytest.mark.parametrize("deck", sorted(LECTURES))
@pytest.mark.parametrize("variant", VARIANTS, ids=" ".join)
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


def test_every_parameter_has_a_letter() -> None:
    """And no parameter has two letters."""
    for name in SUPPORTED:
        network, spec, _ = made(name)
        counts = {one: torch.zeros(value.shape) for one, value in network.named_parameters()}
        for weight in lettered(spec, "004").weights:
            counts[weight.name][weight.index or ...] += 1
        wrong = [one for one, count in counts.items() if not (count == 1).all()]
        assert not wrong, (name, wrong)


@pytest.mark.parametrize(
    ("name", "deck", "told"),
    [
        ("translation", "000", "has no notation for weights"),
        ("nli-plain", "004", "several inputs"),
        ("speech", "004", "the encoder pyramidal"),
        ("translation-segments-char", "004", "the selection segments"),
        ("tagger-crf", "003", "the decoder crf"),
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
