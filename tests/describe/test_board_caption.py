"""What stands below the board: the description, unless settings made it untrue."""

from __future__ import annotations

from io import StringIO

import pytest
from rich.console import Console

from regard import zoo
from regard.describe import board


def printed(name: str, *settings: str) -> str:
    console = Console(file=StringIO(), width=200)
    console.print(board(zoo.find(name, settings), name))
    return str(console.file.getvalue())  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("name", "settings", "wrong", "changed"),
    [
        ("lm-word", ("decoder.cell=rnn", "decoder.tie=none"), "(LSTM)", "decoder.cell, decoder.tie"),
        ("translation", ("attention.score=dot",), "additive attention", "attention.score"),
    ],
)
def test_a_description_that_settings_made_untrue_is_not_printed(
    name: str, settings: tuple[str, ...], wrong: str, changed: str
) -> None:
    assert wrong in printed(name)
    assert wrong in printed(name, "training.lr=0.5")  # the network is the described one
    found = printed(name, *settings)
    assert wrong not in found and f"{name} with other settings: {changed}" in found
