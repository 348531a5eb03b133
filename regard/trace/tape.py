"""The tape: where the heads of an external memory wrote and read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, ClassVar

import numpy as np

from regard.errors import RegardError
from regard.trace.traced import Array, Traced


@dataclass(frozen=True, eq=False)
class Tape(Traced):
    """H write heads and K read heads over N slots, at each of the S steps of an input.

    writes       (H, S, N) the weights of the write heads
    reads        (K, S, N) the weights of the read heads
    link         (N, N) at the end, `link[a, b]`: slot a was written after slot b; for memories that record it
    write_path   (H, S, 2) the positions of the write heads, and `read_path` (K, S, 2) of the read heads; for
                 heads that move in a plane
    """

    kind: ClassVar[str] = "tape"
    writes: Array
    reads: Array
    link: Array | None = None
    write_path: Array | None = None
    read_path: Array | None = None

    def __post_init__(self) -> None:
        for one in fields(self):
            value = getattr(self, one.name)
            if value is not None:
                object.__setattr__(self, one.name, np.asarray(value, dtype=np.float64))
        if self.writes.ndim != 3 or self.reads.ndim != 3:
            raise RegardError(
                f"the weights of a tape have shapes {self.writes.shape} and {self.reads.shape}, expected heads by "
                "steps by slots."
            )
        heads, steps, slots = self.writes.shape
        expected = {
            "reads": (len(self.reads), steps, slots),
            "link": (slots, slots),
            "write_path": (heads, steps, 2),
            "read_path": (len(self.reads), steps, 2),
        }
        for name, shape in expected.items():
            value = getattr(self, name)
            if value is not None and value.shape != shape:
                raise RegardError(f"{name} of a tape has shape {value.shape}, expected {shape}.")

    @property
    def steps(self) -> int:
        return int(self.writes.shape[1])

    def check_against(self, name: str, outputs: int, positions: int) -> None:
        if self.steps != positions:
            raise RegardError(f"the tape of {name!r} has {self.steps} steps, but that input has {positions}.")

    def to_dict(self) -> dict[str, Any]:
        """Plain lists, for JSON, without unknown values."""
        values = {one.name: getattr(self, one.name) for one in fields(self)}
        return {name: value.tolist() for name, value in values.items() if value is not None}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Tape:
        given: dict[str, Any] = {one.name: values.get(one.name) for one in fields(cls)}
        return cls(**given)
