"""Searches in a lower precision than fp32, which paths alone compute; refused where none does."""

from __future__ import annotations

from typing import Any

import torch

from regard.errors import RegardError
from regard.nn.path import asked_for, faster, off, paths


def in_precision(call: str, precision: str, device: torch.device, *given: Any) -> Any:
    """The result of a call in a lower precision, which paths for `call.precision` serve, as `search.beam.int8`; None if
    the search is to go step by step, in fp32."""
    name = f"{call}.{precision}"
    found = faster(name, device, *given)
    if found is not None or off() or asked_for():
        return found
    reason = "No fast path is installed."
    for path in paths(name):
        reason = path.why_not(*given) if device.type in path.devices else "It runs on a CPU."
        if not reason:
            return None  # a score is not finite: step by step, the search says where
    raise RegardError(
        f"The search cannot compute in {precision}. {reason}", where="search.precision", fix="Use fp32."
    )
