"""`structures.py --tune`: other tiles and warps for the CUDA kernels, timed on the device alone.

For each kernel, one function in `kernels/cuda` derives the launch options from the sizes. This script
replaces the function, variant by variant, and times the marginals and their backward pass by device events. A
variant that does not compile is reported.
"""

from __future__ import annotations

import itertools
import statistics
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch

from regard.structures.kernels.cuda import chain, projective

Variant = dict[str, Any]


@contextmanager
def replaced(module: Any, name: str, value: Callable[..., Any]) -> Iterator[None]:
    before = getattr(module, name)
    setattr(module, name, value)
    try:
        yield
    finally:
        setattr(module, name, before)


def device_time(call: Callable[[], object], repeats: int = 30) -> float:
    """Median device time in milliseconds."""
    for _ in range(3):
        call()
    times = []
    for _ in range(repeats):
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        call()
        end.record()
        torch.cuda.synchronize()
        times.append(start.elapsed_time(end))
    return statistics.median(times)


def passes(kind: str, *sizes: int) -> dict[str, Callable[[], object]]:
    if kind == "chain":
        B, N, C = sizes
        init, edges = torch.zeros(B, C, device="cuda"), torch.randn(B, N - 1, C, C, device="cuda")
        lengths = torch.full((B,), N, device="cuda")
        states, joints = chain.marginals(init, edges, lengths)
        gradients = torch.randn_like(init), torch.randn_like(edges)
        return {
            "marginals": lambda: chain.marginals(init, edges, lengths),
            "backward": lambda: chain.covariance(states, joints, lengths, *gradients),
        }
    B, N = sizes
    arcs, gradient = torch.randn(2, B, N + 1, N + 1, device="cuda")
    lengths = torch.full((B,), N, device="cuda")
    return {
        "marginals": lambda: projective.marginals(arcs, lengths, True),
        "backward": lambda: projective.covariance(arcs, lengths, True, gradient),
    }


def scan_variants(N: int) -> Iterator[Variant]:
    block = chain.scan_options(N)["BLOCK"]
    for warps in (1, 2, 4, 8, 16):
        if 32 * warps <= block:
            yield {"BLOCK": block, "num_warps": warps}


def sweep_variants(C: int) -> Iterator[Variant]:
    block = chain.sweep_options(C)["BLOCK"]
    for warps in {4: (1,), 16: (1, 2, 4), 64: (4, 8, 16)}[block]:
        yield {"BLOCK": block, "num_warps": warps, "num_stages": 1}


def tree_variants() -> Iterator[Variant]:
    for items, parts, warps in itertools.product((16, 32, 64), (16, 32), (4, 8, 16)):
        if items * parts >= 512 and items * parts >= 32 * warps:
            yield {"ITEMS": items, "PARTS": parts, "num_warps": warps, "num_stages": 1}


def plans() -> Iterator[tuple[str, tuple[int, ...], Any, list[str], list[Variant]]]:
    """Kind, sizes, module of the launch options, names of its functions, and the variants to try."""
    for sizes in ((32, 50, 2), (128, 1000, 2)):
        yield "chain", sizes, chain, ["scan_options"], list(scan_variants(sizes[1]))
    for sizes in ((32, 50, 16), (32, 512, 64)):
        yield "chain", sizes, chain, ["sweep_options", "carry_options"], list(sweep_variants(sizes[2]))
    for sizes in ((16, 20), (16, 40), (32, 80)):
        yield "projective", sizes, projective, ["options"], list(tree_variants())


def tune() -> list[dict[str, Any]]:
    rows = []
    for kind, sizes, module, names, variants in plans():
        calls = passes(kind, *sizes)
        before = {name: device_time(call) for name, call in calls.items()}
        print(f"{kind} {sizes}: as set {before}", flush=True)
        for variant, (name, call) in itertools.product(variants, calls.items()):
            row: dict[str, Any] = {"case": f"{kind} {sizes}", "pass": name, **variant}
            try:
                # Give all of these functions the same variant: a pass uses only one of them.
                with (
                    replaced(module, names[0], lambda *_, v=variant: v),
                    replaced(module, names[-1], lambda *_, v=variant: v),
                ):
                    row["ms"] = device_time(call)
            except Exception as error:
                row["error"] = str(error).splitlines()[0][:100]
            rows.append(row)
        for name in calls:
            best = sorted(
                (r for r in rows if r["pass"] == name and r["case"] == f"{kind} {sizes}" and "ms" in r),
                key=lambda r: r["ms"],
            )
            for row in best[:3]:
                shown = {k: v for k, v in row.items() if k not in ("case", "pass", "ms")}
                print(f"  {name:<10}{row['ms']:8.3f} ms  {shown}", flush=True)
    return rows
