"""The parity world."""

from __future__ import annotations

from random import Random
from typing import ClassVar

from regard.parts import register
from regard.worlds.sequences import SequenceWorld


@register("world", "parity")
class ParityWorld(SequenceWorld):
    """Whether the number of ones is even: 1000010101 → YES, 100011 → NO.

    `numbers` holds the same bits as a list, `so_far` the answer at every position.
    """

    fields: ClassVar[tuple[str, ...]] = ("bits", "numbers", "even", "so_far")

    def example(self, generator: Random, length: int) -> dict[str, str]:
        bits = generator.choices("01", k=length)
        answers = ["NO" if bits[:end].count("1") % 2 else "YES" for end in range(1, length + 1)]
        return {
            "bits": "".join(bits),
            "numbers": f"[{', '.join(bits)}]",
            "even": answers[-1],
            "so_far": " ".join(answers),
        }
