"""First states copied from an encoder, for cells with any number of state vectors, against computations by hand."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import torch
from torch import Tensor, nn

import regard
from regard.errors import RegardError
from regard.nn import Cell, make_cell
from regard.nn.letters import Letters, gate_letters
from regard.parts import registry
from regard.spec import Spec
from regard.testing import check_part

from .conftest import SOURCE, TARGET, model


class Rings(Cell):
    """h' = tanh(W x + U h + b + m), and every further vector takes the place of the one before it, halved."""

    @classmethod
    def equations(cls, options: Any, mark: str) -> list[str]:
        letters = [chr(ord("k") + number) for number in range(cls.states - 1)]
        moved = ["h", *letters][: cls.states - 1]
        name = cls.written_name(options)
        halves = ", ".join(f"0.5 {one}" for one in moved)
        new = f"tanh(W_h{mark} x + b_h{mark} + U_h{mark} h + c_h{mark} + {letters[0]})"
        return [f"{name}_{mark}({', '.join(['h', *letters, 'x'])}) = ({new}, {halves})"]

    @classmethod
    def letters(cls, options: Any, mark: str) -> Letters:
        return gate_letters("h", mark)

    def advance(self, projected: Tensor, state: Tensor) -> Tensor:
        vectors = state.split(self.size, -1)
        recurrent = nn.functional.linear(vectors[0], self.weight_hh, self.bias_hh)
        new = torch.tanh(projected + recurrent + vectors[1])
        return torch.cat([new, *(0.5 * one for one in vectors[:-1])], -1)


@pytest.fixture(autouse=True)
def cells() -> Iterator[None]:
    made = {
        "three-rings": type("ThreeRings", (Rings,), {"states": 3}),
        "four-rings": type("FourRings", (Rings,), {"states": 4}),
        "wrong-rings": type("WrongRings", (Rings,), {"__init__": _wrongly, "states": 2}),
        "bent-input": type("BentInput", (Rings,), {"states": 2, "projects": True, "project": _bent}),
    }
    for name, cell in made.items():
        regard.register("cell", name)(cell)
    yield
    for name in made:
        registry.PARTS["cell"].pop(name)


def _wrongly(self: Any, input_size: int, size: int) -> None:
    Cell.__init__(self, input_size, size)
    self.state_size = 4 * size


def _bent(self: Any, inputs: Tensor) -> Tensor:
    return torch.tanh(Cell.project(self, inputs))


def ends_by_hand(encoder: Any, row: int, length: int) -> list[list[list[Tensor]]]:
    """The state vectors after the last step: by layer, vector and direction."""
    inputs = [encoder.embedding.weight[int(SOURCE.ids[row, place])] for place in range(length)]
    found = []
    for layer in encoder.layers:
        outputs, ends = [], []
        for direction, cell in enumerate(layer.cells):
            places = range(length)
            places = places if (direction == 0) != layer.backward else reversed(places)
            vectors, here = list(layer.first[direction].split(cell.size)), {}
            for place in places:
                gates = cell.weight_ih @ inputs[place] + cell.bias_ih
                new = torch.tanh(gates + cell.weight_hh @ vectors[0] + cell.bias_hh + vectors[1])
                vectors = [new, *(0.5 * one for one in vectors[:-1])]
                here[place] = new
            outputs.append(here)
            ends.append(vectors)
        inputs = [torch.cat([one[place] for one in outputs]) for place in range(length)]
        found.append([list(both) for both in zip(*ends, strict=True)])
    return found


READINGS = [
    {"bidirectional": True},
    {"bidirectional": False},
    {"bidirectional": False, "direction": "backward"},
]


@pytest.mark.parametrize("name", ["three-rings", "four-rings"])
@pytest.mark.parametrize("reading", READINGS, ids=str)
@pytest.mark.parametrize("layers", [1, 2])
def test_every_state_vector_is_copied_to_its_own(name: str, reading: dict[str, Any], layers: int) -> None:
    size = 8 if reading["bidirectional"] else 4
    encoder, decoder = model(
        cell=name,
        size=size,
        layers=layers,
        bridge="copy",
        dtype=torch.float64,
        encoder_options={"cell": name, "layers": layers, **reading},
    )
    memories = {"source": encoder(SOURCE)}
    first = decoder.start(memories).layers
    for row, length in enumerate(SOURCE.lengths.tolist()):
        for layer, vectors in enumerate(ends_by_hand(encoder, row, length)):
            expected = torch.cat([torch.cat(both) for both in vectors])
            torch.testing.assert_close(first[layer][row, 0], expected)
    assert decoder.loss(memories, TARGET).total.isfinite()


def spec(encoder: str, decoder: str, **more: Any) -> dict[str, Any]:
    return {
        "inputs": {"source": {"type": "text"}},
        "outputs": {"target": {"type": "text"}},
        "encoder": {"source": {"type": "recurrent", "cell": encoder, "size": 4, "bidirectional": False}},
        "decoder": {"target": {"type": "recurrent", "cell": decoder, "size": 4, "bridge": "copy", **more}},
    }


@pytest.mark.parametrize(
    ("encoder", "decoder", "words"),
    [
        ("lstm", "four-rings", "the state of the encoder has 2 vectors, that of the decoder 4"),
        ("gru", "three-rings", "the state of the encoder has 1 vector, that of the decoder 3"),
        ("four-rings", "lstm", "the state of the encoder has 4 vectors, that of the decoder 2"),
        ("four-rings", "three-rings", "the state of the encoder has 4 vectors, that of the decoder 3"),
    ],
)
def test_a_spec_whose_states_differ_is_refused(encoder: str, decoder: str, words: str) -> None:
    with pytest.raises(RegardError, match=words) as refused:
        Spec.parse(spec(encoder, decoder))
    assert refused.value.where == "decoder.target.bridge"
    with pytest.raises(RegardError, match=words) as refused:
        model(
            cell=decoder,
            size=4,
            bridge="copy",
            encoder_options={"cell": encoder, "bidirectional": False},
        )
    assert refused.value.where == "decoder.bridge"


@pytest.mark.parametrize(("encoder", "decoder"), [("four-rings", "four-rings"), ("four-rings", "gru")])
def test_a_spec_whose_states_fit_is_accepted_and_described(encoder: str, decoder: str) -> None:
    from regard.describe.six_answers import answers

    lines = str(answers(Spec.parse(spec(encoder, decoder))))
    assert "h_j, m_j, m̂_j, m̃_j = fourrings_x(h_{j−1}, m_{j−1}, m̂_{j−1}, m̃_{j−1}, x_j)" in lines
    assert "s_0 = h" in lines and ("n̂_0 = m̂_S" in lines) == (decoder == "four-rings")


def test_a_state_that_is_not_declared_is_refused() -> None:
    with pytest.raises(
        RegardError, match=r"a state of 16 features; with states = 2 and size 4, 8 are"
    ) as refused:
        model(
            cell="wrong-rings",
            size=4,
            bridge="copy",
            encoder_options={"cell": "wrong-rings", "bidirectional": False},
        )
    assert "states" in refused.value.fix


def test_a_cell_that_says_that_it_carries_has_two_states() -> None:
    carrying = type("Carrying", (Rings,), {"carries": True})
    assert (carrying.states, carrying(3, 4).state_size) == (2, 8)
    assert [make_cell(name, 3, 4).states for name in ("gru", "lstm", "deep")] == [1, 2, 2]
    assert [make_cell(name, 3, 4).carries for name in ("gru", "lstm", "deep")] == [False, True, True]


def test_a_decoder_refuses_a_cell_whose_input_it_could_not_project() -> None:
    with pytest.raises(RegardError, match="bent-input computes more than W x") as refused:
        Spec.parse(spec("bent-input", "bent-input"))
    assert refused.value.where == "decoder.target.cell"
    with pytest.raises(RegardError, match="bent-input computes more than W x"):
        model(cell="bent-input")
    Spec.parse(spec("bent-input", "gru"))


@pytest.mark.parametrize("name", ["three-rings", "four-rings"])
def test_a_cell_of_several_states_passes_the_checks_of_its_kind(name: str) -> None:
    check_part("cell", name)
