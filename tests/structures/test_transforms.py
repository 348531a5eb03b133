"""Every structure under torch.compile, torch.export, tracing, torch.func, forward-mode differentiation and
inference mode gives the answers of its semiring program in eager mode."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode
from torch.autograd import forward_ad
from torch.utils import _pytree as pytree

from regard import structures
from regard.errors import RegardError
from regard.structures import (
    Bernoulli,
    BinaryTree,
    Categorical,
    CTCAlignment,
    LinearChain,
    MonotoneAlignment,
    PositionChain,
    ProjectiveTree,
    Segmentation,
    SemiMarkov,
    SpanningTree,
    Structure,
)

pytestmark = pytest.mark.thinned(4)

DEVICES = [
    "cpu",
    pytest.param("cuda", marks=pytest.mark.skipif(not torch.cuda.is_available(), reason="needs CUDA")),
]
Build = Callable[..., Structure]
STRUCTURES: dict[str, tuple[Build, list[tuple[int, ...]]]] = {
    "Categorical": (lambda s, n, **o: Categorical(s, lengths=n, **o), [(2, 3)]),
    "Bernoulli": (lambda s, n, **o: Bernoulli(s, lengths=n, **o), [(2, 3)]),
    "LinearChain": (lambda e, v, n, **o: LinearChain(e, v, lengths=n, **o), [(2, 2, 3, 3), (2, 3, 3)]),
    "LinearChain of edges": (lambda e, n, **o: LinearChain(e, lengths=n, **o), [(2, 2, 3, 3)]),
    "Segmentation": (lambda s, t, n, **o: Segmentation(s, t, lengths=n, **o), [(2, 3), (2, 2)]),
    "PositionChain": (lambda s, t, n, **o: PositionChain(s, t, lengths=n, **o), [(2, 3, 3), (3, 3)]),
    "SemiMarkov": (lambda s, t, n, **o: SemiMarkov(s, t, lengths=n, **o), [(2, 3, 2, 2), (2, 2)]),
    "ProjectiveTree": (lambda a, n, **o: ProjectiveTree(a, lengths=n, **o), [(2, 4, 4)]),
    "labeled ProjectiveTree": (
        lambda a, n, **o: ProjectiveTree(a, labeled=True, lengths=n, **o),
        [(2, 4, 4, 2)],
    ),
    "SpanningTree": (lambda a, n, **o: SpanningTree(a, lengths=n, **o), [(2, 4, 4)]),
    "labeled SpanningTree": (
        lambda a, n, **o: SpanningTree(a, labeled=True, lengths=n, **o),
        [(2, 4, 4, 2)],
    ),
    "BinaryTree": (lambda s, n, **o: BinaryTree(s, lengths=n, **o), [(2, 3, 3)]),
    "CTCAlignment": (lambda s, n, **o: CTCAlignment(s, lengths=(n, n - 1), **o), [(2, 3, 2)]),
    "MonotoneAlignment": (lambda m, n, **o: MonotoneAlignment(m, lengths=(n, n), **o), [(2, 3, 3)]),
}
KERNELS = ["LinearChain", "LinearChain of edges", "Segmentation", "ProjectiveTree", "SpanningTree"]
LENGTHS = torch.tensor([3, 2])
QUERIES: dict[str, Callable[[Structure], Tensor]] = {
    "log_partition": lambda z: z.log_partition,
    "marginals": lambda z: z.marginals,
    "mean": lambda z: z.mean,
    "mode": lambda z: z.mode,
    "mode_score": lambda z: z.mode_score,
    "entropy": lambda z: z.entropy(),
    "topk": lambda z: z.topk(2)[0],
    "log_prob": lambda z: z.log_prob(z.mode),
    "max_marginals": lambda z: z.max_marginals(),
    "expectation": lambda z: z.expectation(torch.ones_like(z.marginals).cumsum(-1)),
    "expected_product": lambda z: z.expected_product(torch.full_like(z.marginals, -0.5)),
}


def test_every_structure_is_tried():
    assert {name.split()[-1].removesuffix("edges") or "LinearChain" for name in STRUCTURES} == {
        name
        for name in structures.__all__
        if name not in ("Structure", "PairwiseField")  # that one is approximate
    }


def potentials_of(name: str, device: str, seed: int = 0) -> list[Tensor]:
    generator = torch.Generator().manual_seed(seed)
    return [
        torch.randn(shape, dtype=torch.float64, generator=generator).to(device)
        for shape in STRUCTURES[name][1]
    ]


def function(name: str, device: str, query: str, **options: Any) -> Callable[..., Tensor]:
    build, lengths = STRUCTURES[name][0], LENGTHS.to(device)

    def ask(*potentials: Tensor) -> Tensor:
        return QUERIES[query](build(*potentials, lengths, **options))

    return ask


def total(ask: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """A number with a gradient at every entry that is finite."""

    def summed(*potentials: Tensor) -> Tensor:
        found = ask(*potentials)
        return torch.where(found > -torch.inf, found, 0.0).sin().sum()

    return summed


def gradients(ask: Callable[..., Tensor], potentials: list[Tensor]) -> list[Tensor]:
    """By autograd, in eager mode; zeros where nothing depends on a potential."""
    leaves = [potential.clone().requires_grad_() for potential in potentials]
    value = total(ask)(*leaves)
    if not value.requires_grad:
        return [torch.zeros_like(leaf) for leaf in leaves]
    found = torch.autograd.grad(value, leaves, allow_unused=True)
    return [torch.zeros_like(x) if g is None else g for g, x in zip(found, leaves, strict=True)]


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("name", STRUCTURES)
def test_functional_transforms(name, device):
    potentials = potentials_of(name, device)
    places = tuple(range(len(potentials)))
    batch = [torch.stack([one, -one]) for one in potentials]
    tangents = potentials_of(name, device, seed=1)
    for query in QUERIES:
        ask, truth = function(name, device, query), function(name, device, query, backend="reference")
        each = torch.stack([truth(*(one[i] for one in batch)) for i in range(2)])
        torch.testing.assert_close(
            torch.func.vmap(ask)(*batch), each, msg=lambda m, q=query: f"vmap {q}: {m}"
        )
        right = gradients(truth, potentials)
        slope = sum((g * t).sum() for g, t in zip(right, tangents, strict=True))
        pulled = torch.func.grad(total(ask), argnums=places)
        for mine, wanted in zip(pulled(*potentials), right, strict=True):
            torch.testing.assert_close(mine, wanted, msg=lambda m, q=query: f"grad {q}: {m}")
        if query in ("log_partition", "marginals", "entropy"):
            for mine, wanted in zip(torch.func.vmap(pulled)(*batch), right, strict=True):
                torch.testing.assert_close(mine[0], wanted, msg=lambda m, q=query: f"vmap of grad {q}: {m}")
        _, pushed = torch.func.jvp(total(ask), tuple(potentials), tuple(tangents))
        torch.testing.assert_close(pushed, slope, msg=lambda m, q=query: f"jvp {q}: {m}")
        with forward_ad.dual_level():
            duals = [forward_ad.make_dual(x, t) for x, t in zip(potentials, tangents, strict=True)]
            tangent = forward_ad.unpack_dual(total(ask)(*duals)).tangent
        torch.testing.assert_close(
            torch.zeros_like(slope) if tangent is None else tangent,
            slope,
            msg=lambda m, q=query: f"dual {q}: {m}",
        )


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("name", STRUCTURES)
@pytest.mark.parametrize("query", ["log_partition", "marginals"])
def test_second_derivatives_are_right_or_refused(name, query, device):
    """`torch.func.hessian` is right; `torch.autograd` through a kernel is right or raises an error."""
    potentials = potentials_of(name, device)
    truth = function(name, device, query, backend="reference")
    wanted = torch.func.jacrev(torch.func.grad(total(truth)))(*potentials)
    ask = function(name, device, query)
    torch.testing.assert_close(torch.func.hessian(total(ask))(*potentials), wanted)
    first, *rest = potentials
    try:
        found = torch.autograd.functional.hessian(lambda x: total(ask)(x, *rest), first)
    except RuntimeError as error:
        assert "cannot be differentiated again" in str(error)
    else:
        torch.testing.assert_close(found, wanted)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("name", STRUCTURES)
def test_inference_mode(name, device):
    for query in QUERIES:
        right = function(name, device, query, backend="reference")(*potentials_of(name, device))
        with torch.inference_mode():
            found = function(name, device, query)(*potentials_of(name, device))
        torch.testing.assert_close(found, right, msg=lambda m, q=query: f"{q}: {m}")


class Asked(nn.Module):
    lengths: Tensor

    def __init__(self, name: str, device: str, queries: list[str]) -> None:
        super().__init__()
        self.build, self.queries = STRUCTURES[name][0], queries
        self.register_buffer("lengths", LENGTHS.to(device))

    def forward(self, *potentials: Tensor) -> tuple[Tensor, ...]:
        return tuple(QUERIES[query](self.build(*potentials, self.lengths)) for query in self.queries)


@pytest.fixture(autouse=True)
def forgotten():
    yield
    torch._dynamo.reset()


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("name", STRUCTURES)
def test_compiled(name, device):
    """In one graph, for other numbers than those it was made with."""
    ask = function(name, device, "marginals")
    compiled = torch.compile(ask, backend="eager", fullgraph=True)
    for seed in (0, 1):
        potentials = potentials_of(name, device, seed)
        right = function(name, device, "marginals", backend="reference")(*potentials)
        torch.testing.assert_close(compiled(*potentials), right)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("name", KERNELS)
def test_compiled_with_gradients(name, device):
    potentials = potentials_of(name, device)
    queries = ["log_partition", "marginals", "mode"]
    truths = [function(name, device, query, backend="reference") for query in queries]
    model = Asked(name, device, queries)
    compiled = torch.compile(model, backend="aot_eager", fullgraph=True)
    leaves = [potential.clone().requires_grad_() for potential in potentials]
    found = compiled(*leaves)
    for mine, truth in zip(found, truths, strict=True):
        torch.testing.assert_close(mine.detach(), truth(*potentials))
    slopes = torch.autograd.grad(found[0].sin().sum() + found[1].sin().sum(), leaves)
    right = [gradients(truth, potentials) for truth in truths[:2]]
    for mine, *wanted in zip(slopes, *right, strict=True):
        torch.testing.assert_close(mine, sum(wanted))


@pytest.mark.filterwarnings("ignore::torch.jit.TracerWarning")
@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("name", KERNELS)
def test_exported_and_traced(name, device):
    """The program has the kernels as operators, and answers for other numbers than those it was made with."""
    potentials, others = potentials_of(name, device), potentials_of(name, device, seed=3)
    queries = ["log_partition", "marginals", "mode", "entropy"]
    model = Asked(name, device, queries)
    right = [function(name, device, query, backend="reference")(*others) for query in queries]
    program = torch.export.export(model, tuple(potentials), strict=False)
    for mine, wanted in zip(program.module()(*others), right, strict=True):
        torch.testing.assert_close(mine, wanted)
    traced = torch.jit.trace(model, tuple(potentials), check_trace=False)
    for mine, wanted in zip(traced(*others), right, strict=True):
        torch.testing.assert_close(mine, wanted)


@pytest.mark.parametrize("name", ["LinearChain of edges", "ProjectiveTree"])
def test_exported_for_cuda(name):
    """On any machine: the program has operators alone, and no gradient, which it cannot hold."""
    queries = ["log_partition", "marginals", "mode", "entropy"]
    with FakeTensorMode():
        model = Asked(name, "cpu", queries)
        model.lengths = torch.empty(2, dtype=torch.int64, device="cuda")
        given = [torch.empty(shape, dtype=torch.float64, device="cuda") for shape in STRUCTURES[name][1]]
    program = torch.export.export(model, tuple(given), strict=False)
    found = [leaf for node in program.graph.nodes for leaf in pytree.tree_leaves(node.meta.get("val"))]
    kinds = {type(leaf) for leaf in found if isinstance(leaf, Tensor)}
    assert kinds == {FakeTensor}
    assert not program.constants
    called = {str(node.target) for node in program.graph.nodes}
    kernel = {"LinearChain of edges": "chain", "ProjectiveTree": "projective"}[name]
    assert {f"regard.{kernel}_{query}.default" for query in queries[:3]} <= called


@pytest.mark.parametrize("kernel", ["chain", "projective"])
def test_a_mode_comes_back_to_its_device(kernel, monkeypatch):
    """Best structures of an exported program are found on the CPU, and are those of the semiring program."""
    moved = []
    there = Tensor.cpu
    monkeypatch.setattr(Tensor, "cpu", lambda tensor: (moved.append(tensor.shape), there(tensor))[1])
    if kernel == "chain":
        (edges,) = potentials_of("LinearChain of edges", "cpu")
        states = torch.ops.regard.chain_mode(None, edges, LENGTHS)[1]
        right = LinearChain(edges, lengths=LENGTHS, backend="reference").mode
        found = torch.nn.functional.one_hot(states.clamp(min=0), 3) * (states >= 0).unsqueeze(-1)
    else:
        (arcs,) = potentials_of("ProjectiveTree", "cpu")
        heads = torch.ops.regard.projective_mode(arcs, LENGTHS, True)[1]
        right = ProjectiveTree(arcs, lengths=LENGTHS, single_root=True, backend="reference").mode
        found = (heads.unsqueeze(-2) == torch.arange(4).unsqueeze(-1)).to(right.dtype)
    torch.testing.assert_close(found.to(right.dtype), right)
    assert len(moved) >= 2


@pytest.mark.filterwarnings("ignore::torch.jit.TracerWarning")
@pytest.mark.parametrize("query", ["marginals", "mode", "topk"])
@pytest.mark.parametrize("name", ["Categorical", "BinaryTree"])
def test_a_gradient_is_not_exported(name, query):
    """A program would return a tensor without numbers."""
    model, potentials = Asked(name, "cpu", [query]), tuple(potentials_of(name, "cpu"))
    with pytest.raises(RegardError, match=f"query of {name} is computed as a gradient.*torch.compile"):
        torch.export.export(model, potentials, strict=False)
    with pytest.raises(RegardError, match="computed as a gradient"):
        torch.jit.trace(model, potentials, check_trace=False)
    if hasattr(torch.compiler, "is_exporting"):
        with pytest.raises((RegardError, torch._dynamo.exc.Unsupported)):
            torch.export.export(model, potentials, strict=True)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("name", ["LinearChain of edges", "SpanningTree"])
def test_one_compilation_serves_all_lengths(name, device):
    """The kernels are one operation to the compiler, so no loop over positions is unrolled."""
    build = {"LinearChain of edges": LinearChain, "SpanningTree": SpanningTree}[name]
    compiled = torch.compile(lambda x: build(x).marginals, backend="aot_eager", fullgraph=True, dynamic=True)
    torch._dynamo.config.error_on_recompile, before = True, torch._dynamo.config.error_on_recompile
    try:
        for size in (4, 6, 9):
            shape = (2, size, 3, 3) if build is LinearChain else (2, size, size)
            potential = torch.randn(shape, dtype=torch.float64, generator=torch.Generator().manual_seed(size))
            try:
                found = compiled(potential.to(device)).cpu()
            except torch._dynamo.exc.Unsupported as refusal:
                if "torch.Size" not in str(refusal):
                    raise
                pytest.skip("this torch refuses a torch.Size of sizes that vary")
            torch.testing.assert_close(found, build(potential, backend="reference").marginals)
    finally:
        torch._dynamo.config.error_on_recompile = before


@pytest.mark.parametrize("device", DEVICES)
def test_samples_of_a_compiled_structure_are_structures(device):
    build, _ = STRUCTURES["SpanningTree"]
    (arcs,), lengths = potentials_of("SpanningTree", device), LENGTHS.to(device)
    values = torch.compile(lambda x: build(x, lengths).sample((3,)), backend="eager", fullgraph=True)(arcs)
    assert (build(arcs, lengths).log_prob(values) > -torch.inf).all()
