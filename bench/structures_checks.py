"""`structures.py --check`: the kernels of a device against double precision and against the semiring reference.

Inputs are random, with ragged lengths and −inf. Each kernel runs several times on the same input; different
answers reveal a race.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable
from typing import Any

import torch
from structures_timing import usable
from torch import Tensor

from regard.structures import LinearChain, ProjectiveTree, kernels

RUNS = 8
TOLERANCE = {torch.float32: 1e-4, torch.float64: 1e-9}
Answers = dict[str, Tensor]
# Also checked in double precision. The other cases would only repeat these, and take long to compile.
IN_DOUBLE = (
    "chain (16, 50, 2)",
    "chain (8, 80, 2) std 50",
    "chain (16, 50, 16)",
    "segments (8, 80)",
    "projective (8, 20)",
    "spanning (8, 40)",
    "spanning (4, 80) std 50",
)


def answers(inputs: tuple[Tensor, ...], query: Callable[..., tuple[Tensor, Tensor]], seed: int) -> Answers:
    """log Z, marginals and the gradient of their randomly weighted sum, on the CPU in double precision."""
    leaves = [part.clone().requires_grad_(part.is_floating_point()) for part in inputs]
    log_z, marginals = query(*leaves)
    generator = torch.Generator().manual_seed(seed)
    weight = torch.randn(marginals.shape, generator=generator, dtype=torch.float64).to(marginals)
    floating = [part for part in leaves if part.is_floating_point()]
    gradients = torch.autograd.grad((marginals * weight).sum(), floating)
    named = {"log_z": log_z, "marginals": marginals, "gradient": torch.cat([g.flatten() for g in gradients])}
    return {name: value.detach().cpu().double() for name, value in named.items()}


def chain_query(init: Tensor, edges: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
    return kernels.chain_log_partition(init, edges, lengths), kernels.chain_marginals(init, edges, lengths)[1]


def bare_query(edges: Tensor) -> tuple[Tensor, Tensor]:
    """A chain of edges alone, as in the table of times."""
    return kernels.chain_log_partition(None, edges, None), kernels.chain_marginals(None, edges, None)[1]


def segment_query(scores: Tensor, transitions: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
    inside = kernels.segment_marginals(scores, transitions.expand(len(scores), 2, 2), lengths)
    return inside.sum(-1), inside


def tree_query(arcs: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
    return kernels.projective_log_partition(arcs, lengths, True), kernels.projective_marginals(
        arcs, lengths, True
    )


def forest_query(arcs: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
    return kernels.projective_log_partition(arcs, lengths, False), kernels.projective_marginals(
        arcs, lengths, False
    )


def spanning_query(arcs: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
    return kernels.spanning_log_partition(arcs, lengths, True), kernels.spanning_marginals(
        arcs, lengths, True
    )


def random(*shape: int, holes: float, scale: float, shift: float = 0.0) -> Tensor:
    value = scale * torch.randn(*shape, dtype=torch.float64) + shift
    value[torch.rand(*shape) < holes] = -torch.inf
    return value


def chain(
    B: int, N: int, C: int, holes: float = 0.1, scale: float = 1.0, shift: float = 0.0
) -> tuple[Tensor, ...]:
    lengths = torch.randint(0, N + 1, (B,))
    lengths[:2] = N
    edges = random(B, N - 1, C, C, holes=holes, scale=scale, shift=shift)
    return random(B, C, holes=0.0, scale=scale), edges, lengths


def segments(B: int, N: int) -> tuple[Tensor, ...]:
    lengths = torch.randint(0, N + 1, (B,))
    lengths[:2] = N
    return random(B, N, holes=0.1, scale=1.0), random(2, 2, holes=0.0, scale=1.0), lengths


def arcs(B: int, N: int, holes: float = 0.1, scale: float = 1.0, shift: float = 0.0) -> tuple[Tensor, ...]:
    lengths = torch.randint(0, N + 1, (B,))
    lengths[:2] = N
    return random(B, N + 1, N + 1, holes=holes, scale=scale, shift=shift), lengths


CHECKS: list[tuple[str, Callable[..., Any], Callable[[], tuple[Tensor, ...]]]] = [
    ("chain (16, 50, 2)", chain_query, lambda: chain(16, 50, 2)),
    ("chain (16, 1000, 2)", chain_query, lambda: chain(16, 1000, 2, holes=0.0)),
    ("chain (8, 80, 2) std 50", chain_query, lambda: chain(8, 80, 2, scale=50.0)),
    ("chain (8, 80, 2) + 1e4", chain_query, lambda: chain(8, 80, 2, shift=1e4)),
    ("chain (8, 5000, 2)", chain_query, lambda: chain(8, 5000, 2, holes=0.0)),
    ("chain (8, 40, 3)", chain_query, lambda: chain(8, 40, 3)),
    ("chain (16, 50, 16)", chain_query, lambda: chain(16, 50, 16)),
    ("chain (8, 80, 16) std 50", chain_query, lambda: chain(8, 80, 16, scale=50.0)),
    ("chain (4, 64, 64)", chain_query, lambda: chain(4, 64, 64)),
    ("chain (2, 20, 100)", chain_query, lambda: chain(2, 20, 100)),
    ("chain (32, 50, 2), bare", bare_query, lambda: chain(32, 50, 2)[1:2]),
    ("chain (32, 50, 16), bare", bare_query, lambda: chain(32, 50, 16)[1:2]),
    ("segments (8, 80)", segment_query, lambda: segments(8, 80)),
    ("projective (8, 20)", tree_query, lambda: arcs(8, 20)),
    ("projective (8, 40) any roots", forest_query, lambda: arcs(8, 40)),
    ("projective (8, 80)", tree_query, lambda: arcs(8, 80)),
    ("projective (4, 80) std 50", tree_query, lambda: arcs(4, 80, scale=50.0)),
    ("projective (4, 30) - 1e4", tree_query, lambda: arcs(4, 30, shift=-1e4)),
    ("projective (2, 150)", tree_query, lambda: arcs(2, 150)),
    ("spanning (8, 40)", spanning_query, lambda: arcs(8, 40)),
    ("spanning (4, 80) std 50", spanning_query, lambda: arcs(4, 80, scale=50.0)),
]


def compare(
    name: str, query: Callable[..., Any], inputs: tuple[Tensor, ...], device: str, dtype: torch.dtype
) -> dict[str, Any]:
    rounded = tuple(part.to(dtype) if part.is_floating_point() else part for part in inputs)
    exact = answers(tuple(p.double() if p.is_floating_point() else p for p in rounded), query, 0)
    there = tuple(part.to(device) for part in rounded)
    got = answers(there, query, 0)
    row: dict[str, Any] = {"check": name, "dtype": str(dtype).removeprefix("torch.")}
    for key, truth in exact.items():
        same_infinity = (truth == got[key]) & truth.isinf()
        error = torch.where(same_infinity, 0.0, (got[key] - truth).abs())
        scale = (
            truth[truth.isfinite()].abs().max().clamp(min=1.0) if key != "marginals" else torch.tensor(1.0)
        )
        row[key] = float((error / scale).max())
    row["moved"] = max(
        float(torch.nan_to_num(again[key] - got[key], 0.0).abs().max())
        for again in (answers(there, query, 0) for _ in range(RUNS if device == "cuda" else 1))
        for key in got
    )
    worst = max(row["log_z"], row["marginals"], row["gradient"] / 5)
    row["ok"] = worst <= TOLERANCE[dtype] and row["moved"] == 0.0
    return row


def against_reference(device: str) -> list[dict[str, Any]]:
    """The public classes with and without kernels on this device."""
    rows = []
    _, edges, lengths = chain(4, 12, 3)
    tree, words = arcs(4, 9)
    pairs = {
        "LinearChain, reference": [
            LinearChain(edges.to(device), lengths=lengths.to(device), backend=b)
            for b in ("auto", "reference")
        ],
        "ProjectiveTree, reference": [
            ProjectiveTree(tree.to(device), lengths=words.to(device), backend=b)
            for b in ("auto", "reference")
        ],
    }
    for name, (fast, slow) in pairs.items():
        row: dict[str, Any] = {"check": name, "dtype": "float64", "gradient": 0.0, "moved": 0.0}
        row["log_z"] = float(torch.nan_to_num(fast.log_partition - slow.log_partition).abs().max())
        row["marginals"] = float((fast.marginals - slow.marginals).abs().max())
        row["ok"] = max(row["log_z"], row["marginals"]) < 1e-9
        rows.append(row)
    return rows


def check(device: str, only: str = "") -> list[dict[str, Any]]:
    """`only`: the checks whose name contains it."""
    print(
        f"{'check':<32}{'type':<9}{'log Z':>10}{'marginals':>11}{'gradient':>10}{'moved':>10}   (relative errors)"
    )
    rows = []
    for name, query, make in (one for one in CHECKS if only in one[0]):
        for dtype in (torch.float32, torch.float64) if name in IN_DOUBLE else (torch.float32,):
            try:
                rows.append(compare(name, query, make(), device, dtype))
            except Exception:
                rows.append(
                    {"check": name, "dtype": str(dtype), "ok": False, "error": traceback.format_exc(limit=-4)}
                )
            show(rows[-1])
            if "error" in rows[-1] and not usable(device):
                return rows
    try:
        for row in against_reference(device):
            rows.append(row)
            show(row)
    except Exception:
        rows.append({"check": "reference", "dtype": "", "ok": False, "error": traceback.format_exc(limit=-4)})
        show(rows[-1])
    return rows


def show(row: dict[str, Any]) -> None:
    if "error" in row:
        print(f"{row['check']:<32}FAILED\n{row['error']}", flush=True)
        return
    figures = "".join(f"{row[key]:>11.1e}" for key in ("log_z", "marginals", "gradient", "moved"))
    print(f"{row['check']:<32}{row['dtype']:<8}{figures}  {'ok' if row['ok'] else 'WRONG'}", flush=True)
