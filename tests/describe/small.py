"""Small zoo networks in double precision, a made-up row for each, and its true attention."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from torch import nn

from regard import zoo
from regard.data.batch import BEGIN, UNLABELED, Batch, Forest, Sentences, Span, SpanLabels, Tokens, Trees
from regard.data.columns.stream import span as as_span
from regard.data.columns.verbatim import verbatim
from regard.data.graph_nodes import GraphNodes
from regard.data.media import Images, Series, Videos
from regard.data.table_cells import TableCells
from regard.model.building import build_network
from regard.model.counting import _fitted
from regard.nn.decoders import PointerDecoder, SpanDecoder, WordByWordDecoder
from regard.nn.memory import Memory
from regard.nn.network import Network
from regard.spec import Spec

SMALL = {
    "size": 6,
    "embedding": 5,
    "hidden": 6,
    "relation_size": 4,
    "connected": 6,
    "channels": [3, 4, 5],
    "slots": 5,
    "width": 3,
    "fields": 3,
}
"""Sizes by name of the option, wherever it occurs."""
OTHERWISE = {
    ("decoder", "size"): 12,
    ("encoder", "embedding"): 6,
    ("parents", "size"): 4,
    ("score", "size"): 7,
    ("inputs", "size"): 16,
}
AGREEING = {
    "add": ["encoder.heads=2"],
    "speech-ctc": ["encoder.reductions=0"],
    "translation-no-attention": ["encoder.size=12"],
    "caption-vgg": ["encoder.network.connected=12"],
    "dialog-last": ["encoder.sentences.size=12"],
    "dialog-single": ["encoder.size=12"],
    "summary-plain": ["encoder.size=12"],
    "video-caption-last": ["encoder.size=12"],
    "caption-start": ["encoder.network.connected=12"],
}
"""Options that must have the same size as others."""
KEPT = {"image-class"}
"""Systems whose published size is the only one."""
LENGTH = 4
"""Length of a text, short enough to enumerate all structures over it."""


def overrides(name: str) -> list[str]:
    """Overrides that set small sizes, for the parts that have such an option."""
    spec = zoo.find(name)
    found = []
    for side in ("inputs", "encoder", "decoder"):
        parts: Any = getattr(spec, side)
        for column, options in parts.items():
            path = [side] if side != "inputs" and len(parts) == 1 else [side, column]
            found += [] if side == "inputs" and name in KEPT else _smaller(path, side, options)
    return [*found, *AGREEING.get(name, [])]


def _smaller(path: list[str], kind: str, options: Any) -> list[str]:
    found = []
    for key in sorted(options.model_fields_set):
        value = getattr(options, key)
        if hasattr(value, "model_fields_set"):
            found += _smaller([*path, key], key, value)
        elif key in SMALL and value is not None:
            small = OTHERWISE.get((kind, key), SMALL[key])
            found.append(f"{'.'.join([*path, key])}={json.dumps(small)}")
    return found


def made(name: str, more: Sequence[str] = ()) -> tuple[Network, Spec, dict[str, Any]]:
    """A small network with random weights."""
    torch.manual_seed(1)
    spec = zoo.find(name, [*overrides(name), *more])
    columns = _fitted(spec, {})
    network = build_network(spec, columns, read_files=False).double().eval()
    with torch.no_grad():
        for parameter in network.parameters():
            if parameter.requires_grad:
                parameter += 0.3 * torch.randn_like(parameter)
        for module in network.modules():
            if isinstance(module, nn.BatchNorm2d) and module.running_mean is not None:
                module.running_mean.normal_()
                module.running_var.uniform_(0.5, 2)  # type: ignore[union-attr]
    return network.requires_grad_(False), spec, columns


def one_row(spec: Spec, columns: dict[str, Any]) -> Batch:
    """A row of made-up values for every input and output."""
    found: dict[str, Any] = {}
    few = any(one.type in ("tags", "tree") for one in spec.outputs.values())
    for name, part in {**spec.inputs, **spec.outputs}.items():
        column, count = columns[name], 3 if few or name == "hypothesis" else LENGTH
        length = torch.tensor([count])
        if part.type == "stream":
            found[name] = as_span(torch.randint(4, column.size, (1, count)).numpy(), np.array([BEGIN]))
        elif part.type == "text":
            found[name] = small_text(column, count)
        elif part.type == "tags":
            found[name] = Tokens(torch.randint(0, column.size, (1, count)), length, length)
        elif part.type == "points":
            found[name] = Series(torch.rand(1, count, 2).double(), length, length)
        elif part.type == "pointers":
            found[name] = Tokens(torch.randperm(count)[None, :-1] + 1, length - 1, length - 1)
        elif part.type == "tree":
            words = found[part.of].ids.shape[1]
            heads = torch.tensor([[2, 0, *[2] * (words - 2)]])
            relations = torch.arange(words)[None] % max(column.size, 1)
            found[name] = Trees(heads, relations, torch.tensor([words]))
        elif part.type == "constituents":
            words = found[part.of].ids.shape[1]
            labels = torch.full((1, words, words), UNLABELED)
            labels[0, range(words), range(words)] = torch.arange(words) % column.size
            labels[0, 0, -1], labels[0, 0, 0], labels[0, 1, 2] = 1, UNLABELED, 0
            found[name] = SpanLabels(labels, torch.tensor([words]))
        elif part.type == "brackets":
            found[name] = small_forest(column)
        elif part.type in ("label", "candidate", "ordinal"):
            found[name] = torch.tensor([2])
        elif part.type == "soft-label":
            found[name] = torch.rand(1, column.size).double()
            found[name] /= found[name].sum()
        elif part.type == "multilabel":
            found[name] = torch.randint(0, 2, (1, column.size)).double()
        elif part.type == "span":
            found[name] = torch.tensor([[1, 2]])
        elif part.type == "number":
            found[name] = torch.tensor([1.5]).double()
        elif part.type == "image":
            size = (1, column.channels, *column.canvas)
            found[name] = Images(torch.randint(0, 256, size, dtype=torch.uint8))
        elif part.type == "bits":
            asked = LENGTH // 2  # the last steps of the input are blank
            values = torch.randint(0, 2, (1, asked if column.of else LENGTH, column.size)).double()
            if not column.of:
                values[..., -1] = torch.arange(LENGTH) >= LENGTH - asked
            found[name] = Series(values, torch.tensor([values.shape[1]]))
        elif part.type == "video":
            pixels = torch.randint(0, 256, (1, 3, column.channels, *column.canvas), dtype=torch.uint8)
            found[name] = Videos(pixels, torch.tensor([3]), torch.tensor([3]))
        elif part.type in ("audio", "series"):
            frames = torch.randn(1, 9, column.width).double()
            found[name] = Series(frames, torch.tensor([9]), torch.tensor([9]))
        else:
            ids = torch.randint(4, column.words.size, (1, LENGTH, 5))
            ids[0, 1, 3:] = 0
            found[name] = small_sentences(ids, column)
            if part.type == "graph":
                edges = {"sources": [0, 1, 1, 3, 2], "targets": [1, 0, 2, 2, 2], "relations": [4, 5, 4, 4, 5]}
                found[name] = GraphNodes(
                    **vars(found[name]), **{end: torch.tensor(those) for end, those in edges.items()}
                )
            if part.type == "table":
                found[name] = TableCells(
                    **vars(found[name]), names=torch.randint(1, len(column.names), (LENGTH,))
                )
    return Batch(found, (0,))


def small_sentences(ids: torch.Tensor, column: Any) -> Sentences:
    """If a decoder may copy words, the last one is outside the vocabulary."""
    made, words = Sentences.padded(ids, torch.tensor([LENGTH])), column.words
    if not words.verbatim:
        return made
    pieces = words.spell(ids[ids > 0].tolist())
    return replace(made, verbatim=verbatim([[*pieces[:-1], "unheard"]]))


def small_text(column: Any, count: int) -> Tokens:
    """Some units of the vocabulary. If a decoder may copy them, the second occurs twice in an input, and the
    last is outside the vocabulary."""
    ids, length = torch.randint(4, column.size, (1, count)), torch.tensor([count])
    if not column.verbatim:
        return Tokens(ids, length, length)
    pieces = column.spell(ids[0].tolist())
    if column.name not in ("target", "summary", "headline", "reply", "sentence"):
        ids[0, 2], ids[0, -1], pieces = ids[0, 1], 1, [*pieces[:2], pieces[1], "unheard"]
    return Tokens(ids, length, length, verbatim=verbatim([pieces]))


def small_forest(column: Any) -> Forest:
    """(w ((w w) w)): a tree of four words."""
    ids = torch.zeros(1, 7, dtype=torch.int64)
    ids[0, [0, 1, 2, 4]] = torch.randint(4, column.words.size, (4,))
    labels = torch.randint(0, max(len(column.classes), 1), (1, 7))
    parents, heights = torch.tensor([[6, 3, 3, 5, 5, 6, -1]]), torch.tensor([[0, 0, 0, 1, 0, 2, 3]])
    return Forest(ids, parents, labels, heights, torch.tensor([7]))


def true_looks(decoder: Any, memories: dict[str, Memory], target: Any) -> dict[str, Any]:
    """Made-up true attention by memory: a distribution for every look, or the facts of a story."""
    if hasattr(decoder, "story"):
        facts = torch.arange(decoder.hops)[None] % LENGTH
        return {decoder.story: Tokens(facts, torch.tensor([decoder.hops]))}
    if isinstance(target, Span) or isinstance(decoder, PointerDecoder | WordByWordDecoder | SpanDecoder):
        return {}
    looks = decoder.looks if decoder.looks is not None else target.ids.shape[1] + 1 if decoder.reading else 1
    found = {}
    for name in decoder.reading.names if decoder.reading else ():
        positions = memories[name].mask.shape[1]
        found[name] = torch.softmax(torch.randn(1, looks, positions).double(), -1)
    return found
