"""The reset of Accelerate, which otherwise keeps its device and precision for the life of the process."""

from __future__ import annotations

from typing import Any

from regard.private.feature import Feature


def _try_reset() -> Any:
    from accelerate.state import AcceleratorState

    return AcceleratorState._reset_state


_reset = Feature(
    "the reset of Accelerate",
    "a process that has trained keeps its device and precision, and Accelerate reports a conflict with others",
    _try_reset,
)


def forget_accelerator() -> None:
    """Reset Accelerate. If it cannot be reset, Accelerate itself reports conflicts."""
    reset = _reset.get()
    if reset is None:
        return
    try:
        reset(reset_partial_state=True)
    except Exception as error:  # any failure: the state stays as it was
        _reset.turn_off(f"{type(error).__name__}: {error}")
