"""Private functions of other packages, in one place: their use, the versions they are known to work with, and
the fallback for other versions.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from functools import cache
from types import SimpleNamespace
from typing import Any

import torch
from torch import Tensor

Version = tuple[int, int]


def between(version: str, first: Version, last: Version) -> bool:
    """Whether a version such as "2.13.0+cpu" is in the range, both ends included."""
    found = re.match(r"(\d+)\.(\d+)", version)
    return found is not None and first <= (int(found[1]), int(found[2])) <= last


_TORCH = between(str(torch.__version__), (2, 6), (2, 13))

_transforms_active: Callable[[], bool] | None = (
    getattr(torch._C, "_are_functorch_transforms_active", None) if _TORCH else None
)


_copy_all: Callable[..., Any] | None = getattr(torch, "_foreach_copy_", None) if _TORCH else None


def copy_all(targets: Sequence[Tensor], sources: Sequence[Tensor]) -> None:
    """Copy tensors into others, in one launch if torch supports it."""
    if _copy_all is not None:
        _copy_all(list(targets), list(sources))
        return
    for target, source in zip(targets, sources, strict=True):
        target.copy_(source)


_unflattened: Callable[..., Any] | None = (
    getattr(torch._utils, "_unflatten_dense_tensors", None) if _TORCH else None
)


def unflattened(flat: Tensor, like: Sequence[Tensor]) -> Sequence[Tensor]:
    """Split a flat tensor into views with the shapes of other tensors."""
    if _unflattened is not None:
        found: Sequence[Tensor] = _unflattened(flat, like)
        return found
    parts = flat.split([one.numel() for one in like])
    return [part.view(one.shape) for part, one in zip(parts, like, strict=True)]


def lent(tensor: Tensor) -> tuple[Tensor, Callable[[], bool]] | None:
    """A tensor over the same memory, and a function that tells whether it and its views are freed; or None.

    The storage of the original tensor cannot tell, because its owner keeps it.
    """
    if not _TORCH:
        return None
    from torch.multiprocessing.reductions import StorageWeakRef
    from torch.utils.dlpack import from_dlpack

    alias: Tensor = from_dlpack(tensor)
    return alias, StorageWeakRef(alias.untyped_storage()).expired


_lerp_all: Callable[..., Any] | None = getattr(torch, "_foreach_lerp_", None) if _TORCH else None
_add_to_all: Callable[..., Any] | None = getattr(torch, "_foreach_add_", None) if _TORCH else None
_norms: Callable[..., Any] | None = getattr(torch, "_foreach_norm", None) if _TORCH else None


def move_all(targets: Sequence[Tensor], towards: Sequence[Tensor], share: float) -> None:
    """targets += share · (towards − targets), in one launch if torch supports it."""
    if _lerp_all is not None:
        _lerp_all(list(targets), list(towards), share)
        return
    for target, goal in zip(targets, towards, strict=True):
        target.lerp_(goal, share)


def add_to_all(targets: Sequence[Tensor], number: float) -> None:
    """Add a number to each tensor, in one launch if torch supports it."""
    if _add_to_all is not None:
        _add_to_all(list(targets), number)
        return
    for target in targets:
        target += number


def norm_of_all(tensors: Sequence[Tensor]) -> Tensor:
    """The norm of all tensors as one vector."""
    norms = [torch.linalg.vector_norm(one) for one in tensors] if _norms is None else _norms(list(tensors))
    found: Tensor = torch.linalg.vector_norm(torch.stack(list(norms)))
    return found


def transforms_active() -> bool:
    """Whether a transform of `torch.func` is active; True if that cannot be determined."""
    return True if _transforms_active is None else _transforms_active()


def apply(function: type[torch.autograd.Function], *arguments: Any) -> Any:
    """`function.apply`; if no transform is active, without binding default arguments and handling transforms,
    which cost more than a small kernel.
    """
    if torch.compiler.is_compiling() or _transforms_active is None or _transforms_active():
        return function.apply(*arguments)
    return super(torch.autograd.Function, function).apply(*arguments)  # type: ignore[misc]


_HOOKS = ("_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks")
_global_hooks = tuple(getattr(torch.nn.modules.module, f"_global{name}", {}) for name in _HOOKS)


def hooks_of(own: Mapping[str, Any]) -> list[Mapping[Any, Any]]:
    """The hooks of a module with these attributes, by kind; later ones appear in the same mappings."""
    return [own.get(name, {}) for name in _HOOKS]


def hooked(own: Mapping[str, Any]) -> bool:
    """Whether hooks watch or change the calls of a module with these attributes."""
    for name in _HOOKS:
        if own.get(name):
            return True
    return any(_global_hooks)


def global_hooks() -> Sequence[Mapping[Any, Any]]:
    """The hooks of all modules, by kind."""
    return _global_hooks


def step_hooks(optimizer: torch.optim.Optimizer) -> bool:
    """Whether hooks watch the steps of an optimizer."""
    return any(vars(optimizer).get(f"_optimizer_step_{when}_hooks") for when in ("pre", "post"))


gru_cell: Callable[..., Any] | None = (
    getattr(torch.ops.aten, "_thnn_fused_gru_cell", None) if _TORCH else None
)
"""The part of a GRU after its matrix products, on CUDA: gate inputs from the input and from the state (n,
3H), and the state (n, H) → the next state, and values for the backward pass. None: use plain operations."""

lstm_cell: Callable[..., Any] | None = (
    getattr(torch.ops.aten, "_thnn_fused_lstm_cell", None) if _TORCH else None
)
"""The same for an LSTM: (n, 4H) twice, and the carry (n, H) → the output, the next carry, and values for the
backward pass."""


def compile_in_turns(dispatcher: Any, turn: Callable[[str], AbstractContextManager[None]]) -> None:
    """Make numba compile a function inside `turn(signature)`, and cache the result inside `turn("")`. numba
    reads its index, adds a line and writes it back: two processes that do so at the same time would lose a
    line, or give two machine codes one name. numba's own lock is taken first, because threads of one process
    could otherwise deadlock. With other versions of numba every process compiles for itself.
    """
    import numba

    kept = getattr(dispatcher, "_cache", None)  # missing under NUMBA_DISABLE_JIT
    save: Any = getattr(kept, "save_overload", None)
    if kept is None or save is None or not between(numba.__version__, (0, 60), (0, 68)):
        return
    from numba.core.compiler_lock import global_compiler_lock

    compile: Callable[[Any], Any] = dispatcher.compile

    def compile_in_turn(signature: Any) -> Any:
        with global_compiler_lock:
            if signature in dispatcher.overloads:
                return compile(signature)
            with turn(str(signature)):
                return compile(signature)

    def save_in_turn(*given: Any) -> None:
        with turn(""):
            save(*given)

    dispatcher.compile, kept.save_overload = compile_in_turn, save_in_turn


@cache
def inside_kernels() -> dict[str, Any]:
    """Options of numba's `njit` for a function that only kernels call. The kernels contain its code, so the
    machine code that numba makes of the function alone is never run. It is not made here, which saves a third
    of the compilation time of a kernel. With other versions of numba it is made.
    """
    import numba

    if not between(numba.__version__, (0, 60), (0, 68)):
        return {}
    from numba.core.codegen import JITCodeLibrary
    from numba.core.compiler import Compiler

    class Inside(JITCodeLibrary):
        """Code that is only linked into other code and has no address."""

        codegen = SimpleNamespace(set_env=lambda name, environment: None)

        def _finalize_final_module(self) -> None:
            self._finalize_dynamic_globals()
            self._verify_declare_only_symbols()
            self._finalized = True

        def get_pointer_to_function(self, name: str) -> int:
            self._ensure_finalized()
            return 0

    class InsideCompiler(Compiler):
        def define_pipelines(self) -> Any:
            self.state.library = Inside(self.state.targetctx.codegen(), self.state.func_id.func_qualname)
            return super().define_pipelines()

    return {"pipeline_class": InsideCompiler}


@cache
def binaries_known() -> bool:
    """Whether a compiled Triton kernel can be launched directly, with all its arguments in order."""
    import triton

    return between(triton.__version__, (3, 4), (3, 7))


def forget_accelerator() -> None:
    """Reset Accelerate, which otherwise keeps its device and precision for the life of the process. If it
    cannot be reset, Accelerate itself reports conflicts.
    """
    import accelerate
    from accelerate.state import AcceleratorState

    reset = getattr(AcceleratorState, "_reset_state", None)
    if reset is not None and between(accelerate.__version__, (1, 2), (1, 99)):
        reset(reset_partial_state=True)
