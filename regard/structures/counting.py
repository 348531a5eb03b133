"""Exact big integers from residues: a count is computed modulo several primes and combined afterwards."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from typing import Any

from torch import Tensor

LARGEST = 2**31  # residues below it have products that fit in a signed 64-bit integer


def _is_prime(number: int) -> bool:
    """Miller-Rabin; with these bases it is exact below 3 215 031 751."""
    odd, twos = number - 1, 0
    while odd % 2 == 0:
        odd, twos = odd // 2, twos + 1
    for base in (2, 3, 5, 7):
        power = pow(base, odd, number)
        if power in (1, number - 1):
            continue
        for _ in range(twos - 1):
            power = power * power % number
            if power == number - 1:
                break
        else:
            return False
    return True


def _large_primes() -> Iterator[int]:
    return (number for number in range(LARGEST - 1, 7, -2) if _is_prime(number))


def primes_for(log_count: float) -> list[int]:
    """Enough primes below 2³¹ that their product exceeds exp(log_count), with bits to spare for rounding."""
    bits = max(0.0, log_count) / math.log(2)
    needed = 1 + math.ceil((bits * (1 + 1e-9) + 2) / 30)
    return list(itertools.islice(_large_primes(), needed))


def combine_residues(residues: Tensor, primes: list[int]) -> Any:
    """The numbers below the product of the primes with residues (primes, *batch): an int, or nested lists in
    the batch shape.

    The Chinese remainder theorem, one prime at a time: x ← x + m · ((r − x) · m⁻¹ mod p), m the product of
    the primes before p.
    """
    if residues.dim() > 1:
        return [combine_residues(residues[:, i], primes) for i in range(residues.shape[1])]
    number, product = 0, 1
    for residue, prime in zip(residues.tolist(), primes, strict=True):
        number += product * ((residue - number) * pow(product, -1, prime) % prime)
        product *= prime
    return number
