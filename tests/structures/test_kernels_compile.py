"""The Triton kernels compile for a GPU, even without one. The interpreter accepts more code."""

from __future__ import annotations

from inspect import signature

import pytest

triton = pytest.importorskip("triton")

from triton.backends.compiler import GPUTarget  # noqa: E402
from triton.compiler import ASTSource  # noqa: E402

from regard.structures.kernels.cuda import (  # noqa: E402
    chain_narrow,
    chain_sweeps,
    matrix_tree,
    projective_outside,
    two_states,
)

HOPPER = GPUTarget("cuda", 90, 32)
NUMBERS = {"N": "i32", "C": "i32", "size": "i32"}
WHOLE = {"lengths": "*i64"}
DOUBLE = {"charts", "inverses", "products", "change", "largest"}

CASES = [  # kernel, constants, omitted arguments
    (two_states.log_partition_kernel, {"BLOCK": 64}, ["init", "lengths"]),
    (two_states.marginals_kernel, {"BLOCK": 64}, ["transitions"]),
    (two_states.marginals_kernel, {"BLOCK": 64}, ["init"]),
    (two_states.covariance_kernel, {"BLOCK": 64, "SEGMENTS": False}, ["g_states", "out_states"]),
    (two_states.covariance_kernel, {"BLOCK": 64, "SEGMENTS": True}, ["g_states", "lengths"]),
    (chain_narrow.marginals_kernel, {"BLOCK": 16, "STEPS": 4}, ["init", "lengths"]),
    (chain_narrow.marginals_kernel, {"BLOCK": 4, "STEPS": 64}, []),
    (chain_narrow.covariance_kernel, {"BLOCK": 16, "STEPS": 4}, ["g_states", "lengths", "out_states"]),
    (chain_narrow.covariance_kernel, {"BLOCK": 4, "STEPS": 64}, []),
    (chain_sweeps.tops_kernel, {"BLOCK": 64, "STEPS": 1}, []),
    (chain_sweeps.sweep_kernel, {"BLOCK": 32}, ["tops", "ceilings", "init", "log_z"]),
    (chain_sweeps.sweep_kernel, {"BLOCK": 64}, ["alpha", "beta", "lengths"]),
    (chain_sweeps.sweep_kernel, {"BLOCK": 64}, ["log_z"]),
    (chain_sweeps.marginals_kernel, {"BLOCK": 32, "STEPS": 4}, []),
    (chain_sweeps.gains_kernel, {"BLOCK": 64, "STEPS": 1}, []),
    (chain_sweeps.carry_kernel, {"BLOCK": 32}, ["gains", "g_states"]),
    (chain_sweeps.carry_kernel, {"BLOCK": 64}, ["lengths"]),
    (chain_sweeps.covariance_kernel, {"BLOCK": 32, "STEPS": 4}, ["out_states"]),
    (matrix_tree.inverse_kernel, {"SINGLE": True, "BLOCK": 16}, ["log_z"]),
    (matrix_tree.change_kernel, {"SINGLE": False, "BLOCK": 16}, []),
    (matrix_tree.covariance_kernel, {"SINGLE": True, "BLOCK": 16}, ["lengths"]),
    (
        projective_outside.projective_kernel,
        {"SINGLE": True, "ITEMS": 8, "PARTS": 8, "OUTSIDE": True, "TANGENT": False},
        ["gains", "scores", "rates", "log_z"],
    ),
    (
        projective_outside.projective_kernel,
        {"SINGLE": False, "ITEMS": 8, "PARTS": 8, "OUTSIDE": True, "TANGENT": True},
        ["log_z", "lengths"],
    ),
]


@pytest.mark.parametrize(
    ("kernel", "constants", "absent"), CASES, ids=lambda value: getattr(value, "__name__", None)
)
def test_a_kernel_compiles(kernel, constants, absent):
    fixed = {**constants, **dict.fromkeys(absent)}
    types = {
        name: "constexpr"
        if name in fixed
        else NUMBERS.get(name) or WHOLE.get(name) or ("*fp64" if name in DOUBLE else "*fp32")
        for name in kernel.arg_names
    }
    if "constexprs" in signature(ASTSource.__init__).parameters:
        places = {(kernel.arg_names.index(name),): value for name, value in fixed.items()}
        source = ASTSource(fn=kernel, signature=types, constexprs=places)
    else:  # Triton before 3.3
        types = {name: kind for name, kind in types.items() if name not in fixed}
        source = ASTSource(fn=kernel, signature=types, constants=fixed)
    binary = triton.compile(source, target=HOPPER, options={"num_warps": 4, "num_stages": 1})
    assert ".target sm_90" in binary.asm["ptx"]
