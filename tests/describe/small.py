"""Small networks of the zoo, a made-up row for each, and what the Python of the bindings knows of them."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from regard import zoo
from regard.data.batch import BEGIN, Batch, Sentences, Tokens, Trees
from regard.data.perceived import Films, Pictures, Series
from regard.model.building import build_network
from regard.model.counting import _fitted
from regard.model.network import Network
from tests.describe.drafts import System
from tests.describe.notation import Family

SMALL = {
    "encoder.size": 6,
    "encoder.embedding": 5,
    "decoder.size": 12,
    "decoder.embedding": 5,
    "encoder.channels": "[3,4,5]",
    "encoder.frame.channels": "[3,4,5]",
    "encoder.frame.size": 6,
    "encoder.premise.embedding": 6,
    "encoder.premise.parents.size": 4,
    "encoder.parents.size": 4,
    "encoder.story.embedding": 6,
    "encoder.question.embedding": 6,
    "encoder.image.channels": "[3,4,5]",
    "encoder.image.size": 7,
    "encoder.question.size": 4,
    "decoder.answer.hidden": 6,
    "decoder.answer.size": 7,
    "decoder.caption.size": 7,
    "decoder.hidden": 6,
    "decoder.relation_size": 4,
    "inputs.image.size": "[16,24]",
    "inputs.film.size": 16,
}
KEPT = {("image-class", "inputs.image.size"), ("image-class", "encoder.channels")}
"""Where the published size is the only one."""
LENGTH = 4
"""Positions of a text, so that all structures over it can be listed."""


def overrides(name: str) -> list[str]:
    """Small sizes, for the parts that have one."""
    spec = zoo.find(name)
    found = []
    for path, value in SMALL.items():
        side, *keys = path.split(".")
        where: Any = getattr(spec, side)
        if side != "inputs" and len(where) == 1:
            where = next(iter(where.values()))
        for key in keys:
            where = where.get(key) if isinstance(where, dict) else getattr(where, key, None)
        if where is not None and (name, path) not in KEPT:
            found.append(f"{path}={value}")
    return found


def made(system: System) -> tuple[Network, Any, dict[str, Any]]:
    """A small network in double precision, all weights at random."""
    torch.manual_seed(1)
    spec = zoo.find(system.name, [*overrides(system.name), *system.overrides])
    columns = _fitted(spec, {})
    network = build_network(spec, columns, read_files=False).double().eval()
    with torch.no_grad():
        for parameter in network.parameters():
            parameter += 0.3 * torch.randn_like(parameter)
        for module in network.modules():
            if isinstance(module, nn.BatchNorm2d):
                module.running_mean.normal_()
                module.running_var.uniform_(0.5, 2)
    return network.requires_grad_(False), spec, columns


def one_row(spec: Any, columns: dict[str, Any]) -> Batch:
    """A row of made-up values for every column that is no truth."""
    found: dict[str, Any] = {}
    for name, part in {**spec.inputs, **spec.outputs}.items():
        column, count = columns[name], LENGTH - (name == "hypothesis") - (part.type in ("tags", "tree"))
        few = any(one.type in ("tags", "tree") for one in spec.outputs.values())
        length = torch.tensor([3 if few else count])
        if part.type == "text":
            ids = torch.randint(4, column.size, (1, int(length)))
            found[name] = Tokens(ids, length, length)
        elif part.type == "tags":
            found[name] = Tokens(torch.randint(0, column.size, (1, 3)), length, length)
        elif part.type == "tree":
            words = found[part.of].ids.shape[1]
            heads = torch.tensor([[2, 0, *[2] * (words - 2)]])
            found[name] = Trees(heads, torch.zeros_like(heads), torch.tensor([words]))
        elif part.type == "label":
            found[name] = torch.tensor([0])
        elif part.type == "image":
            found[name] = Pictures(
                torch.randint(0, 256, (1, column.channels, *column.canvas), dtype=torch.uint8)
            )
        elif part.type == "video":
            pixels = torch.randint(0, 256, (1, 3, column.channels, *column.canvas), dtype=torch.uint8)
            found[name] = Films(pixels, torch.tensor([3]), torch.tensor([3]))
        elif part.type == "audio":
            found[name] = Series(
                torch.randn(1, 9, column.width).double(), torch.tensor([9]), torch.tensor([9])
            )
        else:
            ids = torch.randint(4, columns[name].words.size, (1, LENGTH, 5))
            ids[0, 1, 3:] = 0
            found[name] = Sentences(ids, torch.tensor([LENGTH]))
    return Batch(found, (0,))


def lengths(frames: int, layers: int) -> list[int]:
    return [frames, *(lengths((frames + 1) // 2, layers - 1) if layers > 1 else [])]


def stages(network: nn.Module) -> list[Any]:
    return [layer for layer in network.layers if isinstance(layer, nn.Sequential)]


def scattered(seen: Tensor, kernels: Tensor) -> Tensor:
    filters = kernels.new_zeros(*seen.shape, *kernels.shape[1:])
    filters[seen] = kernels
    return filters


def by_place(weight: Tensor, features: int) -> Tensor:
    """Columns ordered by feature and place → by place and feature."""
    return weight.unflatten(1, (features, -1)).transpose(1, 2).flatten(1)


PYTHON = {
    "torch": torch,
    "BEGIN": BEGIN,
    "Family": Family,
    "from0": lambda tensor: Family(tensor, (0,)),
    "from_": lambda *parts: Family(parts[-1], parts[:-1]),
    "padded": lambda ids: nn.functional.pad(ids, (0, 8 - len(ids))),
    "lengths": lengths,
    "stages": stages,
    "pooled": lambda network: sum(isinstance(layer, nn.MaxPool2d) for layer in network.layers),
    "blocks": lambda encoder: [layer for layer in encoder.network.stages if hasattr(layer, "past")],
    "scattered": scattered,
    "by_place": by_place,
}


def around(network: Network, batch: Batch) -> dict[str, dict[str, Any]]:
    """What the Python of the bindings knows, by column."""
    found = {}
    alignment = torch.softmax(torch.randn(1, 5, LENGTH).double(), -1)
    names = [*network.readers, *network.decoders]
    for name in names:
        module: Any = network.decoders[name] if name in network.decoders else network.reader(name)
        attention = getattr(module, "attention", None)
        if getattr(module, "reading", None) is not None:
            attention = next(iter(module.reading.attentions.values()))
        found[name] = PYTHON | {
            "m": module,
            "layers": list(module.stack.cells) if hasattr(module, "stack") else [],
            "a": attention,
            "given": batch[name],
            "givens": [batch[one] for one in names if isinstance(batch[one], Tokens)],
            "given_trees": [batch[one] for one in batch.columns if isinstance(batch[one], Trees)],
            "width": getattr(next(iter(network.encoders.values())), "value_size", 0),
            "alignment": alignment[0],
        }
    return found
