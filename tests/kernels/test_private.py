"""Functions that other packages do not promise: used where they give the right answer, in any version."""

from __future__ import annotations

import re
import sys
import warnings
from pathlib import Path

import accelerate
import numba
import pytest
import sacrebleu
import torch
from accelerate.state import AcceleratorState
from torch import Tensor
from torch.autograd import forward_ad
from torch.utils._python_dispatch import TorchDispatchMode

import regard
from regard import private
from regard.private import feature as registry
from regard.structures import LinearChain
from regard.structures.kernels.cpu import compilation, parallel
from regard.structures.kernels.cuda import launching

ANYWHERE = {
    "torch's list of active transforms",
    "torch's list of active dispatch modes",
    "torch's level of forward-mode differentiation",
    "torch._foreach_copy_",
    "torch._foreach_lerp_",
    "torch._foreach_add_",
    "torch._foreach_norm",
    "torch._utils._unflatten_dense_tensors",
    "lending memory by DLPack",
    "autograd functions without their wrappers",
    "the reset of Accelerate",
    "torch's hooks of modules",
    "torch's hooks of optimizers",
    "torch's functions that its compiler leaves alone",
    "the steps of torch's optimizers without their wrappers",
    "torch's registration of dataclasses",
    "torch's scan",
    "numba's cache, wherever regard is installed",
    "numba's compilation in turns",
    "numba's compilation of inner functions",
    "sacrebleu's statistics of chrF",
}


THREADS = {"torch's threads for kernels", "torch's threads behind the interpreter"}
if sys.platform.startswith("linux"):
    ANYWHERE |= THREADS


@pytest.fixture
def anew():
    """Every function is tried again in the test, and after it."""
    before = [(one, one.tried, one.found, one.reason) for one in registry._features]
    for one in registry._features:
        one.forget()
    yield
    for one, tried, found, reason in before:
        one.tried, one.found, one.reason = tried, found, reason


def states() -> dict[str, registry.FeatureState]:
    return {state.name: state for state in private.feature_states()}


def test_every_path_serves_in_a_version_that_nobody_knows(anew, monkeypatch):
    for package in (torch, numba, accelerate):
        monkeypatch.setattr(package, "__version__", "9.9.0")
    found = states()
    assert {name for name in ANYWHERE if not found[name].on} == set()
    on_gpu = found.keys() - ANYWHERE - THREADS
    assert len(on_gpu) == 4
    for name in on_gpu:
        if torch.cuda.is_available():
            assert found[name].on, found[name]
        else:
            assert found[name].reason == "there is no CUDA device"


def wrong(*_: object) -> None:
    """Does nothing and returns nothing, whatever was asked."""


def tensors() -> list[Tensor]:
    return [torch.tensor([1.0, 2.0]), torch.tensor([[3.0]])]


def copied() -> list[Tensor]:
    targets = [torch.zeros_like(one) for one in tensors()]
    private.copy_all(targets, tensors())
    return targets


def moved() -> list[Tensor]:
    targets = [torch.zeros_like(one) for one in tensors()]
    private.move_all(targets, tensors(), 0.5)
    return targets


def added() -> list[Tensor]:
    targets = tensors()
    private.add_to_all(targets, 2)
    return targets


def chain() -> list[Tensor]:
    """log Σ exp of two paths of one step each, and its gradient."""
    edges = torch.tensor([[[[0.0, 1.0], [-torch.inf, -torch.inf]]]], requires_grad=True)
    value = LinearChain(edges).log_partition
    return [value.detach(), *torch.autograd.grad(value.sum(), edges)]


SHARE = 1 / (1 + torch.e)
CHAIN = [[1 - torch.tensor(1 - SHARE).log().item()], [SHARE, 1 - SHARE, 0, 0]]
CASES = {  # owner of the name, the name, use, the truth
    "copy": (torch, "_foreach_copy_", copied, [[1, 2], [3]]),
    "lerp": (torch, "_foreach_lerp_", moved, [[0.5, 1], [1.5]]),
    "add": (torch, "_foreach_add_", added, [[3, 4], [5]]),
    "norm": (torch, "_foreach_norm", lambda: [private.norm_of_all(tensors())], [[14**0.5]]),
    "unflatten": (
        torch._utils,
        "_unflatten_dense_tensors",
        lambda: private.unflattened(torch.arange(3.0), tensors()),
        [[0, 1], [2]],
    ),
    "transforms": (torch._C, "_are_functorch_transforms_active", chain, CHAIN),
    "modes": (torch._C, "_len_torch_dispatch_stack", chain, CHAIN),
    "forward": (forward_ad, "_current_level", chain, CHAIN),
}


@pytest.mark.parametrize("how", ["removed", "wrong"])
@pytest.mark.parametrize("case", CASES)
def test_without_it_one_warning_and_the_same_answers(case, how, anew, monkeypatch):
    owner, name, use, truth = CASES[case]
    if how == "removed":
        monkeypatch.delattr(owner, name)
    else:
        monkeypatch.setattr(owner, name, wrong)
    # dual_level counts in this number, and must go on doing so
    if case == "forward":
        monkeypatch.setattr(forward_ad, "enter_dual_level", wrong)
        monkeypatch.setattr(forward_ad, "exit_dual_level", wrong)
    with pytest.warns(RuntimeWarning, match="cannot be used .*: ") as warned:
        first, second = use(), use()
    assert len([one for one in warned if issubclass(one.category, RuntimeWarning)]) == 1
    for found in (first, second):
        for mine, right in zip(found, truth, strict=True):
            torch.testing.assert_close(mine.flatten(), torch.tensor(right, dtype=mine.dtype))
    # With a GPU, others that need the same function are off too.
    off = [
        state for state in private.feature_states() if not state.on and state.cost in str(warned[0].message)
    ]
    assert len(off) == 1 and off[0].reason


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="torch's threads can be asked on Linux only")
def test_without_torchs_threads_one_warning_and_kernels_run_in_a_pool(anew, monkeypatch):
    class Without:
        def __getattr__(self, name):
            raise AttributeError(f"undefined symbol: {name}")

    monkeypatch.setattr(private.team.__globals__["ctypes"], "CDLL", lambda path: Without())
    before, done = torch.get_num_threads(), []
    torch.set_num_threads(2)
    try:
        with pytest.warns(
            RuntimeWarning, match="threads for kernels cannot be used .*GOMP_parallel"
        ) as warned:
            for _ in range(2):
                parallel.side_by_side(lambda part, parts: done.append((part, parts)), 2)
    finally:
        torch.set_num_threads(before)
    assert sorted(done) == [(0, 2), (0, 2), (1, 2), (1, 2)]
    assert len([one for one in warned if issubclass(one.category, RuntimeWarning)]) == 1


def test_the_list_of_states_warns_of_nothing(anew, monkeypatch):
    monkeypatch.delattr(torch, "_foreach_add_")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = states()["torch._foreach_add_"]
    assert (found.on, found.reason[:14]) == (False, "AttributeError")


def test_memory_is_lent_only_if_its_return_is_noticed(anew, monkeypatch):
    from torch.multiprocessing.reductions import StorageWeakRef

    alias, freed = private.lent(torch.zeros(3))
    assert not freed()
    del alias
    assert freed()
    for one in registry._features:
        one.forget()
    monkeypatch.setattr(StorageWeakRef, "expired", lambda self: False)
    with pytest.warns(RuntimeWarning, match="copied once more"):
        assert private.lent(torch.zeros(3)) is None


def test_kernels_are_compiled_without_turns_if_numba_has_none(anew, monkeypatch, tmp_path):
    """As in a numba that compiles by another method: the kernel is compiled, in this process alone."""
    from numba.core.dispatcher import Dispatcher

    def another(self, *given, **named):
        return type(self).compile(self, tuple(map(numba.typeof, given)))

    monkeypatch.setattr(Dispatcher, "_compile_for_args", another)
    monkeypatch.setattr(compilation, "folder", lambda: tmp_path)
    with pytest.warns(RuntimeWarning, match="compile the CPU kernels for themselves") as warned:
        private.compile_in_turns(numba.njit(cache=False)(abs_of), None)
        private.compile_in_turns(numba.njit(cache=False)(abs_of), None)
    assert len(warned) == 1


def abs_of(number):
    return -number if number < 0 else number


def test_inner_functions_have_machine_code_if_numba_insists(anew, monkeypatch):
    from numba.core import codegen

    monkeypatch.delattr(codegen, "JITCodeLibrary")

    @compilation.part
    def one_more(number):
        return number + 1

    @numba.njit
    def outside(number):
        return one_more(number)

    with pytest.warns(RuntimeWarning, match="inner functions cannot be used"):
        assert outside(4) == 5


@pytest.mark.parametrize("how", ["removed", "wrong"])
def test_accelerate_that_cannot_be_reset_is_left_alone(how, anew, monkeypatch):
    if how == "removed":
        monkeypatch.delattr(AcceleratorState, "_reset_state")
    else:
        monkeypatch.setattr(AcceleratorState, "_reset_state", lambda: None)  # takes no option
    with pytest.warns(RuntimeWarning, match="keeps its device and precision") as warned:
        private.forget_accelerator()
        private.forget_accelerator()
    assert len(warned) == 1


def test_the_first_use_may_be_inside_a_level_of_forward_differentiation(anew):
    """There is one level for all threads, which a trial cannot enter again."""
    with forward_ad.dual_level(), warnings.catch_warnings():
        warnings.simplefilter("error")
        assert not private.eager()
    assert private.eager()


def test_what_is_active_is_noticed():
    assert private.eager() and not private.traced()
    seen = []

    def note(x: Tensor) -> Tensor:
        seen.append((private.eager(), private.traced(), private.transforms_active()))
        return x

    torch.func.vmap(note)(torch.zeros(2))
    zero = torch.zeros(())
    with TorchDispatchMode():
        note(zero)
    with forward_ad.dual_level():
        note(torch.zeros(()))
    torch.jit.trace(note, torch.zeros(1), check_trace=False)
    assert seen[:3] == [(False, False, True), (False, True, False), (False, False, False)]
    assert seen[3:] == [(False, True, False)]


@pytest.mark.parametrize("known", [True, False])
def test_a_binary_is_launched_only_where_it_is_known(known, monkeypatch):
    monkeypatch.setattr(launching, "binaries_known", lambda: known)
    calls = []

    class Binary:
        def __getitem__(self, grid):
            return lambda *arguments: calls.append(("binary", grid, arguments))

    class Kernel:
        arg_names = ("x", "BLOCK")

        def __getitem__(self, grid):
            def launch(*arguments, **options):
                calls.append(("kernel", grid, arguments))
                return Binary()

            return launch

    launch = launching.Launcher(Kernel())
    for _ in range(2):
        launch((3,), 5, BLOCK=16)
    again = ("binary", (3, 1, 1), (5, 16)) if known else ("kernel", (3,), (5,))
    assert calls == [("kernel", (3,), (5,)), again]


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs CUDA")
def test_a_gpu_without_a_working_triton_uses_plain_operations(anew, monkeypatch):
    from regard.private import trial

    monkeypatch.setattr(trial, "answer", lambda: [0.0])
    scores = torch.randn(2, 4, device="cuda")
    transitions = torch.zeros(2, 2, device="cuda")
    with pytest.warns(RuntimeWarning, match="Triton cannot be used"):
        found = regard.structures.Segmentation(scores, transitions).marginals
    torch.testing.assert_close(found, scores.sigmoid())


def test_chrf_without_its_statistics_says_what_to_install(anew, monkeypatch):
    monkeypatch.setattr(sacrebleu.CHRF, "_compute_score_from_stats", lambda self, sums: sacrebleu.CHRF.BETA)
    with (
        pytest.warns(RuntimeWarning, match="chrF cannot be measured"),
        pytest.raises(regard.RegardError, match="pip install 'sacrebleu"),
    ):
        regard.metrics.ChrF()(["a cat"], ["a cat"])


def test_they_are_nowhere_else():
    pattern = re.compile(
        r"torch\._[a-zA-Z]|ops\.aten\._|super\(torch|triton\.(runtime|compiler)|State\._reset|numba\.core|\._extract_corpus"
    )
    home = Path(regard.__file__).parent
    found = {
        path.relative_to(home).parts[0] for path in home.rglob("*.py") if pattern.search(path.read_text())
    }
    assert found == {"private"}
    for path in (home / "private").glob("*.py"):
        assert "__version__" not in path.read_text(), "features are tried, versions are not compared"
