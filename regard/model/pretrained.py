"""The pretrained parts of a model: where their weights come from, as a run records it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from torch import nn

from regard.data import Dataset

__all__ = ["pretrained_records", "record_lines"]

UNKNOWN, SPECIAL = 1, 4
"""The id of units outside the vocabulary; ids below the second one are no units of a text."""


def _origins(network: nn.Module) -> Iterator[tuple[str, str, Any]]:
    """(encoder or decoder, its column, origin) of each pretrained module that was read from files; each origin once."""
    seen: set[int] = set()
    for kind, held in (("encoder", "encoders"), ("decoder", "decoders")):
        for name, part in getattr(network, held).items():
            for module in part.modules():
                origin = getattr(module, "origin", None)
                if origin is not None and id(module) not in seen:
                    seen.add(id(module))
                    yield kind, name, origin


def pretrained_records(
    network: nn.Module, train: Dataset, others: Mapping[str, Dataset] | None = None
) -> dict[str, Any]:
    """{encoder.source: its record} for the parts whose pretrained weights were read from files.

    others   further splits, of which the share of the text that has a vector is recorded
    """
    found: dict[str, Any] = {}
    for kind, name, origin in _origins(network):
        if f"{kind}.{name}" not in found:  # the tables of a story have one file
            record = found[f"{kind}.{name}"] = origin.record(unit_counts(train, name))
            if "tokens" in record and others:
                record["splits"] = {
                    split: origin.share(unit_counts(rows, name, first=UNKNOWN))
                    for split, rows in others.items()
                }
    return found


def unit_counts(dataset: Dataset, name: str, first: int = SPECIAL) -> dict[int, int]:
    """How often each unit of a text column occurs in the rows, from the id `first` on."""
    counts = np.zeros(0, dtype=np.int64)
    for example in range(len(dataset)):
        ids = np.asarray(dataset[example][name]).reshape(-1)
        more = np.bincount(ids[ids >= first], minlength=len(counts))
        more[: len(counts)] += counts
        counts = more
    return {int(unit): int(counts[unit]) for unit in np.flatnonzero(counts)}


def record_lines(records: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """A line for each record: what is covered by pretrained vectors."""
    lines = []
    for place, one in records.items():
        if "tokens" in one:
            built = f", {one['built']:,} are built from characters" if one.get("built") else ""
            shares = [f"{split} {100 * share:.1f} %" for split, share in one.get("splits", {}).items()]
            splits = f" ({', '.join(shares)})" if shares else ""
            lines.append(
                f"{place}: {one['covered']:,} of {one['units']:,} units ({100 * one['types']:.1f} %) and "
                f"{100 * one['tokens']:.1f} % of the text{splits} have a vector in {one['file']}{built}"
            )
    return lines
