"""What a part can do it declares; a method without its declaration, or the reverse, is refused."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pytest
import torch

import regard
from regard import RegardError, parts
from regard.data import Column
from regard.data.ragged import Array, Ragged
from regard.parts.contract import check_class


class Bare(Column):
    """A column that can do nothing but what every column must."""

    roles = ("inputs",)
    encoder = "mean"

    def learn(self, values: Iterable[str]) -> None: ...

    def encode(self, value: str) -> Array:
        return np.zeros(1, dtype=np.int32)

    def decode(self, ids: Sequence[int]) -> str:
        return ""

    def tokens(self, value: str | Sequence[int]) -> list[str]:
        return []

    def collate(
        self, encoded: Sequence[Array] | Ragged, beside: Mapping[str, Any] | None = None
    ) -> torch.Tensor:
        return torch.zeros(1)

    def options(self) -> dict[str, Any]:
        return {}


def located(self: Any, value: str, file: str) -> str:
    return value


def made(body: Mapping[str, Any], *bases: type) -> type:
    return type("Made", bases or (Bare,), {"__module__": "elsewhere", **body})


@pytest.mark.parametrize("kind", ["column", "selection", "cell", "decoder", "metric"])
def test_every_part_of_ours_declares_what_it_writes(kind: str) -> None:
    for name in parts.names(kind):
        check_class(kind, name, parts.part(kind, name))


def test_a_method_that_nothing_would_call_is_refused_with_its_declaration() -> None:
    with pytest.raises(RegardError, match=r"writes located, and does not declare names_files = True"):
        regard.register("column", "half-a-path")(made({"located": located}))
    with pytest.raises(
        RegardError, match=r"declares names_files = True and does not write located\(value, file\)"
    ):
        regard.register("column", "half-a-path")(made({"names_files": True}))
    assert parts.part("column", "half-a-path") is None


def test_whoever_derives_from_an_able_column_is_able_and_may_decline() -> None:
    able = made({"names_files": True, "located": located})
    check_class("column", "able", able)
    check_class("column", "heir", made({}, able))
    check_class("column", "declining", made({"names_files": False}, able))
    check_class("column", "by-options", made({"varies": property(lambda self: False), "varied": located}))
