"""Private functions of torch: several tensors in one launch, views, autograd without its wrappers, fused cells."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from regard.private.feature import Feature, expect
from regard.private.libraries import _no_cuda
from regard.private.observers import eager, transforms_active


def _pair() -> tuple[list[Tensor], list[Tensor]]:
    return [torch.zeros(2), torch.ones(1, 3)], [torch.tensor([1.0, 2.0]), torch.full((1, 3), 5.0)]


def _equal(tensors: Sequence[Tensor], wanted: Sequence[Sequence[float]]) -> bool:
    return [tensor.flatten().tolist() for tensor in tensors] == [list(one) for one in wanted]


def _try_copy() -> Any:
    targets, sources = _pair()
    torch._foreach_copy_(targets, sources)
    expect(_equal(targets, [[1, 2], [5, 5, 5]]), "copies")
    return torch._foreach_copy_


def _try_lerp() -> Any:
    targets, sources = _pair()
    torch._foreach_lerp_(targets, sources, 0.25)
    expect(_equal(targets, [[0.25, 0.5], [2, 2, 2]]), "moved tensors")
    return torch._foreach_lerp_


def _try_add() -> Any:
    targets, _ = _pair()
    torch._foreach_add_(targets, 2.0)
    expect(_equal(targets, [[2, 2], [3, 3, 3]]), "sums")
    return torch._foreach_add_


def _try_norm() -> Any:
    expect(_equal(torch._foreach_norm([torch.tensor([3.0, 4.0]), torch.zeros(1)]), [[5], [0]]), "norms")
    return torch._foreach_norm


def _try_unflatten() -> Any:
    flat = torch.arange(5.0)
    unflatten: Any = torch._utils._unflatten_dense_tensors
    parts = unflatten(flat, _pair()[0])
    expect(_equal(parts, [[0, 1], [2, 3, 4]]) and parts[1].shape == (1, 3), "views")
    flat.zero_()
    expect(not parts[1].any(), "shared memory")
    return unflatten


def _each(what: str) -> str:
    return f"{what} takes one launch for each tensor instead of one for all"


_copy = Feature("torch._foreach_copy_", _each("replaying recorded GPU work"), _try_copy)
_lerp = Feature("torch._foreach_lerp_", _each("averaging weights"), _try_lerp)
_add = Feature("torch._foreach_add_", _each("an optimizer step"), _try_add)
_norm = Feature("torch._foreach_norm", _each("the norm of gradients"), _try_norm)
_unflatten = Feature(
    "torch._utils._unflatten_dense_tensors", "gradients of recordings are cut one by one", _try_unflatten
)


def copy_all(targets: Sequence[Tensor], sources: Sequence[Tensor]) -> None:
    """Copy tensors into others, in one launch if torch supports it."""
    if (copy := _copy.get()) is not None:
        copy(list(targets), list(sources))
        return
    for target, source in zip(targets, sources, strict=True):
        target.copy_(source)


def move_all(targets: Sequence[Tensor], towards: Sequence[Tensor], share: float) -> None:
    """targets += share · (towards − targets), in one launch if torch supports it."""
    if (lerp := _lerp.get()) is not None:
        lerp(list(targets), list(towards), share)
        return
    for target, goal in zip(targets, towards, strict=True):
        target.lerp_(goal, share)


def add_to_all(targets: Sequence[Tensor], number: float) -> None:
    """Add a number to each tensor, in one launch if torch supports it."""
    if (add := _add.get()) is not None:
        add(list(targets), number)
        return
    for target in targets:
        target += number


def norm_of_all(tensors: Sequence[Tensor]) -> Tensor:
    """The norm of all tensors as one vector."""
    norm = _norm.get()
    norms = [torch.linalg.vector_norm(one) for one in tensors] if norm is None else norm(list(tensors))
    found: Tensor = torch.linalg.vector_norm(torch.stack(list(norms)))
    return found


def unflattened(flat: Tensor, like: Sequence[Tensor]) -> Sequence[Tensor]:
    """Split a flat tensor into views with the shapes of other tensors."""
    if (unflatten := _unflatten.get()) is not None:
        found: Sequence[Tensor] = unflatten(flat, like)
        return found
    parts = flat.split([one.numel() for one in like])
    return [part.view(one.shape) for part, one in zip(parts, like, strict=True)]


def _lend(tensor: Tensor) -> tuple[Tensor, Callable[[], bool]]:
    from torch.multiprocessing.reductions import StorageWeakRef
    from torch.utils.dlpack import from_dlpack

    alias: Tensor = from_dlpack(tensor)
    return alias, StorageWeakRef(alias.untyped_storage()).expired


def _try_lend() -> Any:
    tensor = torch.zeros(4)
    alias, freed = _lend(tensor)
    alias.fill_(3)
    view = alias[1:]
    del alias
    expect(tensor.tolist() == [3.0] * 4 and freed() is False, "lent memory")
    del view
    expect(freed() is True, "returned memory")
    return _lend


_lending = Feature(
    "lending memory by DLPack", "gradients of recorded GPU work are copied once more", _try_lend
)


def lent(tensor: Tensor) -> tuple[Tensor, Callable[[], bool]] | None:
    """A tensor over the same memory, and a function that tells whether it and its views are freed; or None.

    The storage of the original tensor cannot tell, because its owner keeps it.
    """
    lend = _lending.get()
    found: tuple[Tensor, Callable[[], bool]] | None = None if lend is None else lend(tensor)
    return found


def _apply(function: type[torch.autograd.Function], *arguments: Any) -> Any:
    return super(torch.autograd.Function, function).apply(*arguments)  # type: ignore[misc]


class _Thrice(torch.autograd.Function):
    @staticmethod
    def forward(x: Tensor, factor: int) -> tuple[Tensor, Tensor]:
        return factor * x, x > 1

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.factor = inputs[1]
        ctx.mark_non_differentiable(output[1])
        ctx.set_materialize_grads(False)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor | None, *_: Any) -> Any:
        return None if gradient is None else ctx.factor * gradient, None


def _try_apply() -> Any:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y, above = _apply(_Thrice, x, 3)
    (gradient,) = torch.autograd.grad(y.square().sum(), x)
    expect(_equal([y, above, gradient], [[3, 6], [0, 1], [18, 36]]), "a function and its gradient")
    return _apply


_applying = Feature(
    "autograd functions without their wrappers",
    "each call of a CPU kernel with a gradient takes about 20 microseconds longer",
    _try_apply,
)


def apply(function: type[torch.autograd.Function], *arguments: Any) -> Any:
    """`function.apply`; if no transform is active, without binding default arguments and handling transforms,
    which cost more than a small kernel.
    """
    if torch.compiler.is_compiling() or transforms_active() or (run := _applying.get()) is None:
        return function.apply(*arguments)
    return run(function, *arguments)


def _try_cell(name: str, gates: int) -> Any:
    """The fused cell of torch against the definition of torch.nn, on the GPU."""
    run = getattr(torch.ops.aten, name)
    from_input, from_state = torch.linspace(-1, 1, 2 * 2 * gates, device="cuda").view(2, 2, gates)
    state = torch.linspace(-0.5, 0.5, 2 * (gates // (3 if gates % 3 == 0 else 4)), device="cuda").view(2, -1)
    found = run(from_input, from_state, state)
    if gates % 3 == 0:
        r, z, _ = (from_input + from_state).sigmoid().chunk(3, -1)
        n = (from_input.chunk(3, -1)[2] + r * from_state.chunk(3, -1)[2]).tanh()
        wanted = [(1 - z) * n + z * state]
    else:
        i, f, g, o = (from_input + from_state).chunk(4, -1)
        carry = f.sigmoid() * state + i.sigmoid() * g.tanh()
        wanted = [o.sigmoid() * carry.tanh(), carry]
    for mine, right in zip(found, wanted, strict=False):
        expect(torch.allclose(mine, right, atol=1e-5), "a step of the cell")
    return run


_gru = Feature(
    "torch's fused GRU cell",
    "a step of a GRU takes eight launches instead of one",
    lambda: _try_cell("_thnn_fused_gru_cell", 6),
    absent=_no_cuda,
)
_lstm = Feature(
    "torch's fused LSTM cell",
    "a step of an LSTM takes ten launches instead of one",
    lambda: _try_cell("_thnn_fused_lstm_cell", 8),
    absent=_no_cuda,
)


def gru_cell() -> Callable[..., Any] | None:
    """The part of a GRU after its matrix products, on CUDA: gate inputs from the input and from the state (n,
    3H), and the state (n, H) → the next state, and values for the backward pass. None: use plain operations.
    """
    return _fused(_gru)


def lstm_cell() -> Callable[..., Any] | None:
    """The same for an LSTM: (n, 4H) twice, and the carry (n, H) → the output, the next carry, and values for
    the backward pass."""
    return _fused(_lstm)


def _fused(feature: Feature) -> Callable[..., Any] | None:
    if not eager():  # these functions have neither forward-mode derivatives nor rules for transforms
        return None
    if not feature.tried and torch.cuda.is_current_stream_capturing():
        return None
    found: Callable[..., Any] | None = feature.get()
    return found
