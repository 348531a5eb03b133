"""Arcs that are forced or forbidden, in the tree that a decoder writes or that an encoder finds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from regard.data import Batch
from regard.errors import RegardError
from regard.model.edits.edit import WHERE, ArcEdit, Edit
from regard.nn.memory import Memory
from regard.nn.network import Network


def with_arcs(
    edits: Sequence[Sequence[Edit]], network: Network, batch: Batch, decoder: Any
) -> dict[str, Memory]:
    """The memories of a batch, with the arcs of each row: in the encoder, or for the decoder."""
    rows: dict[str, dict[int, list[ArcEdit]]] = {}
    for number, row in enumerate(edits):
        for one in row:
            if isinstance(one, ArcEdit):
                rows.setdefault(_input_of(one, network, decoder), {}).setdefault(number, []).append(one)
    if not rows:
        return network.encode(batch)
    tables = {name: _table(batch[name].lengths.tolist(), several, name) for name, several in rows.items()}
    tables = {name: table.to(network.device) for name, table in tables.items()}
    written = decoder.tree_over
    encoded = network.encode(batch, {name: table for name, table in tables.items() if name != written})
    _check_trees({name: encoded[name] for name in tables if name != written})
    if written in tables:
        encoded[written] = replace(encoded[written], arcs=tables[written])
        found = decoder.predict({written: encoded[written]})
        if not bool(found.scores.isfinite().all()):
            raise _impossible()
    return encoded


def _input_of(edit: ArcEdit, network: Network, decoder: Any) -> str:
    found = [name for name in network.readers if network.reader(name).finds_heads]
    names: list[str] = list(dict.fromkeys([*([decoder.tree_over] if decoder.tree_over else []), *found]))
    if not names:
        raise RegardError("this model has no tree to edit.", where=WHERE)
    if edit.input is None and (len(names) == 1 or decoder.tree_over):
        return names[0]
    if edit.input is None or edit.input not in names:
        cause = "the arc names no input" if edit.input is None else f"there is no tree of {edit.input!r}"
        raise RegardError(f"{cause}.", where=WHERE, fix=f"There are trees of {', '.join(names)}.")
    return edit.input


def _table(lengths: Sequence[int], edits: Mapping[int, Sequence[ArcEdit]], name: str) -> Tensor:
    """(B, N, N+1) the heads that each word may have."""
    longest = max(lengths)
    allowed = torch.ones(len(lengths), longest, longest + 1, dtype=torch.bool)
    for row, several in edits.items():
        for one in several:
            if max(one.head, one.dependent) > lengths[row]:
                raise RegardError(
                    f"there is no word {max(one.head, one.dependent)}; the words of {name!r} are 1 to {lengths[row]}.",
                    where=WHERE,
                )
            heads = allowed[row, one.dependent - 1]
            if one.how == "forbid":
                heads[one.head] = False
            else:
                heads &= torch.arange(longest + 1) == one.head
            possible = heads[: lengths[row] + 1].clone()
            possible[one.dependent] = False
            if not bool(possible.any()):
                raise RegardError(
                    f"word {one.dependent} would have no head.", where=WHERE, fix="Leave out one of its arcs."
                )
    return allowed


def _check_trees(encoded: Mapping[str, Memory]) -> None:
    for memory in encoded.values():
        if memory.heads is not None and not bool(memory.heads.marginals.isfinite().all()):
            raise _impossible()


def _impossible() -> RegardError:
    return RegardError("no tree obeys these arcs.", where=WHERE, fix="Leave one of them out.")
