"""Which faster ways serve a model, and why the others do not: the answer of `regard describe --paths`."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice
from typing import Any

import torch

from regard.data import Dataset, Row
from regard.data.sources import open_splits
from regard.errors import RegardError
from regard.model.building import build_network, fit_columns, make_columns
from regard.nn.network import Network
from regard.nn.path import PathCall, asking
from regard.nn.search import Beam
from regard.spec import Spec

ROWS = 6
DEVICES = {"cpu": "CPU", "cuda": "CUDA"}
PLAIN = "plain"
"""The mark of a call without a path."""


def asked_by(spec: Spec, rows: Iterable[Row] | None = None) -> list[PathCall]:
    """The calls for which a model of this spec asks paths, in training and in search.

    rows   a few rows of data; default: the first of its training data
    """
    few = list(islice(open_splits(spec)["train"] if rows is None else rows, ROWS))
    columns = make_columns(spec)
    fit_columns(columns, spec, lambda: few)
    dataset = Dataset.build(few, columns.values(), on_bad="skip")
    if not len(dataset):
        raise RegardError("none of the first rows of the training data can be read.", where="data.train")
    network, batch = build_network(spec, columns, read_files=False), dataset.batch(range(len(dataset)))
    with torch.random.fork_rng(devices=[]), asking() as seen:
        network.train()(batch)
        with torch.no_grad():
            _search(network.eval(), batch)
    return list(seen)


def _search(network: Network, batch: Any) -> None:
    encoded = network.encode(batch)
    decoder: Any
    for output, decoder in network.decoders.items():
        if decoder.stepwise:
            decoder.predict(network.memories(output, encoded), Beam(2))


def merged(asked: Iterable[PathCall]) -> list[PathCall]:
    """One entry for each call: a path serves it if it serves one of its occurrences."""
    reasons: dict[str, dict[str, str]] = {}
    for one in asked:
        known = reasons.setdefault(one.call, dict(one.refused))
        for name, reason in one.refused:
            known[name] = known[name] and reason
    return [PathCall(call, tuple(known.items())) for call, known in reasons.items()]


def report(spec: Spec, rows: Iterable[Row] | None = None) -> str:
    """A table of the calls of a model with the paths that serve them on each device, and why the others do not."""
    asked = merged(asked_by(spec, rows))
    table = [["call", *(f"on {name}" for name in DEVICES.values())]]
    for one in asked:
        table.append([one.call, *(", then ".join(one.serving(device)) or PLAIN for device in DEVICES)])
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    lines = ["The fast paths that compute the calls of this model:", ""]
    lines += ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in table]
    refused = [(one.call, name, reason) for one in asked for name, reason in one.refused if reason]
    lines += ["", "Not used for this model:"] if refused else []
    lines += [f"  {name} ({call}): {reason}" for call, name, reason in refused]
    lines += ["", f"{PLAIN}: ordinary torch code. A path may leave a call to the next, or to torch,"]
    lines += ["for instance if the batch is large."]
    return "\n".join(line.rstrip() for line in lines)
