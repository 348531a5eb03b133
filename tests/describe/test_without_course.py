"""`regard describe --as` without the folder of the course."""

from __future__ import annotations

import pytest

from regard import zoo
from regard.describe import board
from regard.errors import RegardError
from regard.parts import registry


def test_it_says_which_folder_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "_FLOORS", [])
    board(zoo.find("reverse"), "reverse")  # without --as nothing is missing
    with pytest.raises(RegardError, match="regard/course, which is not here"):
        board(zoo.find("reverse"), "reverse", letters="004")
