"""Devices by name."""

from __future__ import annotations

import torch

from regard.errors import RegardError


def named_device(name: str | torch.device) -> torch.device:
    """The device of this name; raises an error if it does not exist or is not on this machine."""
    try:
        device = torch.device(name)
        torch.zeros(1, device=device).item()  # fails on `meta` too, where nothing can be computed
    except (RuntimeError, AssertionError, NotImplementedError, TypeError) as error:
        found = [f"cuda:{number}" for number in range(torch.cuda.device_count())]
        if torch.backends.mps.is_available():
            found.append("mps")
        reason = str(error).partition("\n")[0].partition(". ")[0].rstrip(".")
        raise RegardError(
            f"{str(name)!r} cannot be used: {reason}.",
            where="device",
            fix=f"This machine has {', '.join([*found, 'cpu'])}.",
        ) from None
    return device
