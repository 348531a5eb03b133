"""The inputs of exported programs: their tensors by name, and made-up rows of any lengths."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from regard.data.batch import Tokens
from regard.data.media import Images

Made = Callable[[Mapping[str, Any], Sequence[int], torch.Generator], dict[str, Tensor]]


def _token_rows(
    recipe: Mapping[str, Any], lengths: Sequence[int], generator: torch.Generator
) -> dict[str, Tensor]:
    known = torch.tensor(lengths)
    ids = torch.randint(1, recipe["size"], (len(lengths), int(known.max())), generator=generator)
    mask = torch.arange(ids.shape[1]) < known[:, None]
    return {"ids": ids.masked_fill(~mask, 0), "lengths": known}


def _image_rows(
    recipe: Mapping[str, Any], lengths: Sequence[int], generator: torch.Generator
) -> dict[str, Tensor]:
    height, width = recipe["canvas"]
    shape = (len(lengths), recipe["channels"], height, width)
    return {"pixels": torch.randint(0, 256, shape, generator=generator, dtype=torch.uint8)}


FORMS: dict[str, tuple[Callable[..., Any], Made]] = {
    "tokens": (Tokens, _token_rows),
    "pixels": (Images, _image_rows),
}
"""What an encoder reads of a column, by the form of its recipe, and how rows are made up."""


@dataclass(frozen=True)
class ExampleInputs:
    """Inputs of a program.

    values   {input: {field: tensor}}
    recipes  how each input is read, as its column gives it (`Column.exported`)
    """

    values: Mapping[str, Mapping[str, Tensor]]
    recipes: Mapping[str, Mapping[str, Any]]

    @classmethod
    def made_up(
        cls, recipes: Mapping[str, Mapping[str, Any]], lengths: Mapping[str, Sequence[int]], seed: int = 0
    ) -> ExampleInputs:
        """Random rows of these lengths."""
        generator = torch.Generator().manual_seed(seed)
        values = {
            name: FORMS[recipe["form"]][1](recipe, lengths[name], generator)
            for name, recipe in recipes.items()
        }
        return cls(values, recipes)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(f"{name}.{part}" for name, parts in self.values.items() for part in parts)

    @property
    def tensors(self) -> tuple[Tensor, ...]:
        return tuple(tensor for parts in self.values.values() for tensor in parts.values())

    def collated(self, tensors: Sequence[Tensor]) -> dict[str, Any]:
        """Other tensors in the places of these, as the encoders read them."""
        given = iter(tensors)
        return {
            name: FORMS[self.recipes[name]["form"]][0](**{part: next(given) for part in parts})
            for name, parts in self.values.items()
        }
