"""The check of paths: where one is used in small models, its results are those of the plain code."""

from __future__ import annotations

from typing import Any

import torch

from regard.nn import path as paths
from regard.nn.path import without_fast_paths
from regard.nn.search import Beam
from regard.testing.models import Small
from regard.testing.report import PartReport
from regard.testing.rows import rows
from regard.testing.specs import contexts

DECODERS = ("recurrent", "transformer", "language")
"""Decoders of the models in which a path is tried; their encoder is the default one of a text."""


def check_path(report: PartReport, options: Any) -> None:
    made = options.part
    if not paths.paths(made.serves):
        report.add("serves", "a path that is asked for its call", repr(made.serves))
    for name in DECODERS:
        small = Small(report, contexts("decoder", name)[0].document, rows())
        with without_fast_paths():
            expected = _figures(small)
        with report.calling("run", "the results of the plain code"), paths.only(made):
            found = _figures(small)
        for one, other in zip(found, expected, strict=True):
            alike = torch.allclose(one, other, rtol=1e-4, atol=1e-4)
            report.is_true("run", alike, f"the plain result {other.tolist()}", one.tolist())


def _figures(small: Small) -> list[torch.Tensor]:
    """The loss, its gradient, and the scores of a search."""
    torch.manual_seed(1)
    small.network.train().zero_grad()
    loss = small.losses()
    loss.backward()
    norm = sum(one.grad.abs().sum() for one in small.network.parameters() if one.grad is not None)
    found = [loss.detach(), torch.as_tensor(norm)]
    network = small.network.eval()
    decoder: Any
    with torch.no_grad():
        for output, decoder in network.decoders.items():
            if decoder.stepwise:
                memories = network.memories(output, network.encode(small.batch))
                found.append(decoder.predict(memories, Beam(2)).scores)
    return found
