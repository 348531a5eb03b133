"""The section on the notation in docs/extending.md: complete, and its examples mean what it says."""

from __future__ import annotations

import dataclasses
import re
import textwrap
from pathlib import Path

import pytest
import torch

from regard.nn.symbols import LookSymbols, MemorySymbols
from regard.notation.grammar import COMPARISONS, OVER
from regard.notation.reading import BoardLines
from regard.testing.board import Board
from regard.testing.board.values import FUNCTIONS, OPERATIONS

GUIDE = Path(__file__).parents[2] / "docs" / "extending.md"
SECTION = GUIDE.read_text(encoding="utf-8").partition("\n## The notation\n")[2].partition("\n## ")[0]
BLOCKS = [
    textwrap.dedent(block)
    for block in re.findall(r"(?:^    .*\n(?:^ *\n(?=    ))?)+", SECTION, flags=re.MULTILINE)
]


def example(start: str) -> str:
    return next(block for block in BLOCKS if start in block)


@pytest.mark.parametrize("name", sorted({*FUNCTIONS, *OVER, "projective", "spanning"}))
def test_every_function_is_listed(name: str) -> None:
    assert re.search(rf"[` ]{name}[`( ]|`{name}_j\(", SECTION), name


@pytest.mark.parametrize("name", OVER)
def test_every_function_over_an_index_is_listed(name: str) -> None:
    assert f"`{name}_j(" in SECTION


@pytest.mark.parametrize("sign", sorted({*COMPARISONS, *OPERATIONS} - {"times"}))
def test_every_sign_is_listed(sign: str) -> None:
    assert any(sign in piece for piece in re.findall(r"`[^`\n]+`|signs are .*", SECTION))


def test_the_attributes_of_look_exist() -> None:
    look = LookSymbols("q_t", MemorySymbols())
    told = SECTION.partition("**Attributes of `look`**")[2].partition("\n\n")[0]
    names = {name.partition("(")[0] for name in re.findall(r"`([a-z.]+(?:\(|(?=`)))", told)} - {"equations"}
    fields = {one.name for one in dataclasses.fields(LookSymbols)}
    assert {"query", "energy", "weights", "below", "only", "sub", "mark"} <= names
    for name in names - {"memory.length"}:
        assert name in fields or hasattr(look, name), name
    assert (look.energy, look.weight, look.weights, look.context) == ("e_tj", "α_tj", "α_t", "c_t")
    assert (look.step, look.index, look.memory.length) == ("t", "j", "S")
    assert look.sub("τ", look.step) == "τ_t"


@pytest.mark.parametrize("block", BLOCKS)
def test_every_example_can_be_read(block: str) -> None:
    BoardLines(block)


def test_the_cell_computes_what_it_says() -> None:
    generator = torch.Generator().manual_seed(1)

    def normal(*shape: int) -> torch.Tensor:
        return torch.randn(shape, generator=generator, dtype=torch.float64)

    x, h, m = normal(3), normal(4), normal(4)
    known = {"x": x, "h": h, "m": m}
    gates = {}
    for gate in "fgo":
        weight, bias, inner, other = normal(4, 3), normal(4), normal(4, 4), normal(4)
        known |= {f"W_{gate}x": weight, f"b_{gate}x": bias, f"U_{gate}x": inner, f"c_{gate}x": other}
        gates[gate] = weight @ x + bias + inner @ h + other
    f, g, o = torch.sigmoid(gates["f"]), torch.tanh(gates["g"]), torch.sigmoid(gates["o"])
    state = f * m + (1 - f) * g
    found = Board(example("coupled_x"), known)("coupled_x(h, m, x)")
    torch.testing.assert_close(found[0], o * torch.tanh(state))
    torch.testing.assert_close(found[1], state)


def test_the_score_and_the_softmax_compute_what_they_say() -> None:
    generator = torch.Generator().manual_seed(1)

    def normal(*shape: int) -> torch.Tensor:
        return torch.randn(shape, generator=generator, dtype=torch.float64)

    q, h, weight, v, b = normal(2, 3), normal(5, 3), normal(3, 3), normal(3), normal()
    known = {"q_t": q, "h_j": h, "W_a": weight, "v_a": v, "b_a": b, "S": 5, "T": 2}
    energies = q @ weight @ h.T + h @ v + b
    torch.testing.assert_close(Board(example("e_tj = q_t"), known).all("e_tj"), energies)
    board = Board(example("τ_t = mean_j"), {"e_tj": energies, "S": 5, "T": 2})
    low = energies < energies.mean(1, keepdim=True)
    torch.testing.assert_close(board.all("α_t"), energies.masked_fill(low, -torch.inf).softmax(1))
