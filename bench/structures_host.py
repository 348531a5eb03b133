"""Where the time of a small call goes: a chain of (32, 50) with two states, marginals and their gradient.

`python bench/structures_host.py` prints the time of each part of a call, beside an autograd function that computes
nothing, and the costliest Python functions. On CUDA it exits with status 1 if the whole call takes longer than 0.15 ms.
"""

from __future__ import annotations

import argparse
import cProfile
import io
import pstats
import sys
from collections.abc import Callable
from typing import Any

import torch
from structures_timing import timed, warm
from torch import Tensor
from written import parse, write_json

from regard.structures import LinearChain, kernels

MOST = 0.15
"""Milliseconds of a call on CUDA."""


class Nothing(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        return torch.empty_like(x)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Tensor:
        return torch.empty_like(gradient)


def parts(leaf: Tensor, weight: Tensor) -> dict[str, Callable[[], object]]:
    def both(answer: Callable[[], Tensor]) -> Callable[[], object]:
        def call() -> None:
            leaf.grad = None
            answer().backward(weight)

        return call

    fixed = leaf.detach()
    return {
        "make the chain": lambda: LinearChain(leaf),
        "kernel without gradients": lambda: kernels.chain_marginals(None, fixed, None),
        "marginals without gradients": lambda: LinearChain(fixed).marginals,
        "marginals": lambda: LinearChain(leaf).marginals,
        "marginals and gradient": both(lambda: LinearChain(leaf).marginals),
        "an empty function": lambda: Nothing.apply(leaf),
        "an empty function and gradient": both(lambda: Nothing.apply(leaf)),
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--device", choices=["cpu", "cuda"], default="cuda" if torch.cuda.is_available() else "cpu"
    )
    parser.add_argument("--calls", type=int, default=500)
    options = parse(parser)
    leaf = torch.randn(32, 49, 2, 2, device=options.device).requires_grad_()
    weight = torch.randn_like(leaf)
    every = parts(leaf, weight)
    report = {}
    for name, call in every.items():
        warm(call, options.device, 0.3, 10)
        times = sorted(timed(call, options.device)[0] for _ in range(options.calls))
        report[name] = {"least_ms": times[0], "median_ms": times[len(times) // 2]}
        print(f"{name:<34}{times[0]:>9.4f}{times[len(times) // 2]:>9.4f} ms (least, median)", flush=True)
    write_json(options.json, report)
    profile = cProfile.Profile()
    profile.enable()
    for _ in range(options.calls):
        every["marginals and gradient"]()
    profile.disable()
    text = io.StringIO()
    pstats.Stats(profile, stream=text).sort_stats("tottime").print_stats(25)
    print(text.getvalue())
    return int(options.device == "cuda" and report["marginals and gradient"]["least_ms"] > MOST)


if __name__ == "__main__":
    sys.exit(main())
