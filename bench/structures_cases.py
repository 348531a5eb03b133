"""The timed cases: structures of several sizes, computed by us and by the peers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import torch
from torch import Tensor


@dataclass(frozen=True)
class Case:
    kind: str
    sizes: tuple[int, ...]
    bar: float | None = None
    most_memory: float | None = None  # GiB

    @property
    def name(self) -> str:
        return f"{self.kind} {self.sizes}"


CASES = {
    "cuda": [
        Case("chain", (32, 50, 2), 20),
        Case("chain", (32, 200, 2), 20),
        Case("chain", (128, 1000, 2), 20),
        Case("chain", (32, 50, 16), 20),
        Case("chain", (32, 512, 64), 100, 1.0),
        Case("projective", (16, 20), 100),
        Case("projective", (16, 40), 100),
        Case("projective", (32, 80), 100),
        Case("spanning", (16, 20), 2),
        Case("spanning", (16, 40), 2),
        Case("spanning", (32, 80), 2),
        Case("likelihood", (32, 200, 16)),
    ],
    "cpu": [
        Case("chain", (32, 50, 2), 25),
        Case("chain", (32, 200, 2), 25),
        Case("chain", (8, 1000, 2), 25),
        Case("chain", (32, 50, 16), 100),
        Case("projective", (16, 20), 25),
        Case("projective", (16, 40), 25),
        Case("projective", (4, 80), 25),
        Case("spanning", (16, 20), 1.5),
        Case("spanning", (16, 40), 1.5),
        Case("spanning", (4, 80), 1.5),
        Case("likelihood", (32, 200, 16)),
    ],
}


@dataclass
class Side:
    """The input of one side and its computation: marginals, or a loss in the likelihood cases."""

    leaf: Tensor
    answer: Callable[[Tensor], Tensor]
    weight: Tensor | None = field(default=None)

    def forward(self) -> Tensor:
        with torch.enable_grad():
            return self.answer(self.leaf)

    def forward_backward(self) -> None:
        self.leaf.grad = None
        result = self.forward()
        if self.weight is None and result.dim():
            self.weight = torch.randn_like(result)
        result.backward(self.weight)


def ours(case: Case, device: str) -> Side:
    from regard.structures import LinearChain, ProjectiveTree
    from regard.structures.spanning import SpanningTree

    if case.kind == "chain":
        B, N, C = case.sizes
        return Side(leaf(device, B, N - 1, C, C), lambda p: LinearChain(p).marginals)
    if case.kind == "projective":
        B, N = case.sizes
        return Side(leaf(device, B, N + 1, N + 1), lambda p: ProjectiveTree(p).marginals)
    if case.kind == "spanning":
        B, N = case.sizes
        return Side(leaf(device, B, N + 1, N + 1), lambda p: SpanningTree(p, single_root=False).marginals)
    B, N, C = case.sizes
    edges, value = torch.randn(C, C, device=device), torch.randint(C, (B, N), device=device)
    value = torch.nn.functional.one_hot(value, C).bool()
    return Side(leaf(device, B, N, C), lambda p: -LinearChain(edges, p).log_prob(value).mean())


def theirs(case: Case, device: str) -> Side:
    if case.kind == "likelihood":
        from torchcrf import CRF

        B, N, C = case.sizes
        crf = CRF(C, batch_first=True).to(device)
        tags = torch.randint(C, (B, N), device=device)
        return Side(leaf(device, B, N, C), lambda p: crf(p, tags, reduction="mean"))
    import torch_struct

    if case.kind == "chain":
        B, N, C = case.sizes
        return Side(leaf(device, B, N - 1, C, C), lambda p: torch_struct.LinearChainCRF(p).marginals)
    B, N = case.sizes
    if case.kind == "projective":
        return Side(leaf(device, B, N, N), lambda p: torch_struct.DependencyCRF(p, multiroot=False).marginals)
    return Side(leaf(device, B, N, N), lambda p: torch_struct.NonProjectiveDependencyCRF(p).marginals)


def leaf(device: str, *shape: int) -> Tensor:
    return torch.randn(*shape, device=device).requires_grad_()
