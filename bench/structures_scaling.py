"""`structures.py --scaling`: time and memory of forward + backward as the length grows, with the fitted exponent and
a figure.

The exponent is the slope of log time over log length, fitted on the larger half of the lengths, where
overheads no longer flatten it. A chain grows as N, Eisner's algorithm as N³ (less while a parallel device is
not yet full). Memory is measured in multiples of the charts: for a chain the edges (B, N−1, C, C), for
Eisner's algorithm its five tables of (N+1)² items in double precision.
"""

from __future__ import annotations

import gc
import math
from pathlib import Path
from typing import Any

import torch
from structures_cases import Case, ours
from structures_timing import GIB, peak_memory, timed

FIGURE = Path(__file__).resolve().parent.parent / "docs" / "figures"
LENGTHS = {"chain": [64, 96, 128, 192, 256, 384, 512], "projective": [20, 30, 40, 60, 80, 120, 160]}
SIZES = {"cpu": {"chain": (16, 16), "projective": (8,)}, "cuda": {"chain": (32, 16), "projective": (32,)}}
STEEPEST = {"chain": 1.2, "projective": 3.2}
MOST_CHARTS = 6.0


def case_of(kind: str, device: str, N: int) -> Case:
    B, *rest = SIZES[device][kind]
    return Case(kind, (B, N, *rest))


def charts(case: Case) -> float:
    """Size of the charts in GiB."""
    B, N, *rest = case.sizes
    return (B * (N - 1) * rest[0] ** 2 * 4 if case.kind == "chain" else B * 5 * (N + 1) ** 2 * 8) / GIB


def point(kind: str, device: str, N: int) -> dict[str, float]:
    case = case_of(kind, device, N)
    side = ours(case, device)
    side.forward_backward()
    memory = peak_memory(side.forward_backward, device)
    gc.collect()
    times = [timed(side.forward_backward, device) for _ in range(15)]
    wall, cpu = min(t[0] for t in times), min(t[1] for t in times)
    return {"N": N, "ms": wall, "cpu_ms": cpu, "gib": memory, "charts": memory / charts(case)}


def exponent(points: list[dict[str, float]], key: str) -> float:
    """Least-squares slope of log time over log length, on the larger half of the lengths."""
    half = points[len(points) // 2 :]
    x, y = ([math.log(p[k]) for p in half] for k in ("N", key))
    middle_x, middle_y = sum(x) / len(x), sum(y) / len(y)
    above = sum((a - middle_x) * (b - middle_y) for a, b in zip(x, y, strict=True))
    return above / sum((a - middle_x) ** 2 for a in x)


def scaling(device: str) -> list[dict[str, Any]]:
    rows = []
    for kind, lengths in LENGTHS.items():
        points = [point(kind, device, N) for N in lengths]
        key = "cpu_ms" if device == "cpu" else "ms"
        row: dict[str, Any] = {"scaling": kind, "points": points, "exponent": exponent(points, key)}
        # The allocator's granularity dominates at small sizes, so memory is compared at the largest.
        row["charts"] = points[-1]["charts"]
        row["ok"] = row["exponent"] <= STEEPEST[kind] and row["charts"] <= MOST_CHARTS
        rows.append(row)
        times = ", ".join(f"{p['N']}: {p['ms']:.2f}" for p in points)
        verdict = "ok" if row["ok"] else "MISSED"
        print(f"{kind}: N^{row['exponent']:.2f}, {row['charts']:.1f} charts  ({times} ms)  {verdict}")
    draw(rows, device)
    return rows


def draw(rows: list[dict[str, Any]], device: str) -> None:
    try:
        import matplotlib
    except ImportError:
        print("No figure: pip install 'regard[figures]'.")
        return
    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(6, 4))
    for row in rows:
        lengths, times = [p["N"] for p in row["points"]], [p["ms"] for p in row["points"]]
        axes.loglog(lengths, times, "o-", label=f"{row['scaling']}: N^{row['exponent']:.2f}")
    where = torch.cuda.get_device_name() if device == "cuda" else f"{torch.get_num_threads()} CPU threads"
    axes.set(xlabel="length N", ylabel="forward + backward, ms", title=f"Marginals on {where}")
    axes.set_xticks([20, 40, 80, 160, 320], labels=["20", "40", "80", "160", "320"])
    axes.set_xticks([], minor=True)
    axes.grid(True, which="both", alpha=0.3)
    axes.legend()
    FIGURE.mkdir(parents=True, exist_ok=True)
    path = FIGURE / f"structures-scaling-{device}.svg"
    figure.savefig(path, bbox_inches="tight", metadata={"Date": None})
    print(f"figure: {path.relative_to(FIGURE.parent.parent)}")
