"""Parts of kernels in several threads, torch's or those of a pool: exceptions of workers are raised, and a fork leaves
nothing to wait for."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time

import pytest
import torch

from regard import private
from regard.fast.cpu.digest import BLOCK, SumsBehind, digest, places_of
from regard.structures.kernels.cpu import parallel


@pytest.fixture(params=["torch's threads", "a pool"])
def three_threads(request, monkeypatch):
    if request.param == "a pool":
        monkeypatch.setattr(parallel, "team", lambda: None)
    elif private.team() is None:
        pytest.skip("torch's threads cannot be asked here")
    before = torch.get_num_threads()
    torch.set_num_threads(3)
    yield
    torch.set_num_threads(before)


@pytest.mark.parametrize("bad", [0, 1, 2])
def test_what_a_part_raises_is_raised_when_all_have_ended(three_threads, bad):
    ended = []

    def kernel(part, parts, word):
        if part == bad:
            raise ValueError(f"{word} {part} of {parts}")
        time.sleep(0.05)
        ended.append(part)

    with pytest.raises(ValueError, match=f"part {bad} of 3"):
        parallel.side_by_side(kernel, 3, "part")
    assert sorted(ended) == [part for part in range(3) if part != bad]


def test_what_a_range_raises_is_raised(three_threads):
    def kernel(first, last):
        if first > 0:
            raise MemoryError(f"no room for {first} to {last}")

    with pytest.raises(MemoryError, match="no room for"):
        parallel.over_batch(kernel, 9, parallel.MINIMUM_WORK)


def test_every_part_and_every_range_is_done_once(three_threads):
    for count in range(1, 12):
        parts, ranges = [], []
        parallel.side_by_side(lambda part, parts, done: done.append(part), count, parts)
        parallel.over_batch(
            lambda done, first, last: done.append(range(first, last)), count, parallel.MINIMUM_WORK, ranges
        )
        assert sorted(parts) == list(range(count))
        assert sorted(index for some in ranges for index in some) == list(range(count))


def test_without_threads_the_caller_does_it_all(three_threads, monkeypatch):
    class Ending:
        def submit(self, task):
            raise RuntimeError("cannot schedule new futures after interpreter shutdown")

    monkeypatch.setattr(parallel, "team", lambda: None)
    monkeypatch.setattr(parallel, "_pool", Ending)
    done = []
    parallel.side_by_side(lambda part, parts: done.append((part, threading.get_ident())), 3)
    assert sorted(done) == [(part, threading.get_ident()) for part in range(3)]


def test_tasks_beside_a_kernel_are_done_once_with_the_next_one(three_threads):
    done = []
    parallel.run_beside([lambda: done.append("beside"), lambda: done.append("too")])
    parallel.side_by_side(lambda part, parts: done.append(part), 3)
    parallel.side_by_side(lambda part, parts: done.append(part), 1)
    assert sorted(map(str, done)) == ["0", "0", "1", "2", "beside", "too"]


def test_an_interrupt_is_raised_when_all_have_ended(three_threads):
    ended = []

    def kernel(part, parts):
        if part == 0:
            raise KeyboardInterrupt
        time.sleep(0.05)
        ended.append(part)

    with pytest.raises(KeyboardInterrupt):
        parallel.side_by_side(kernel, 3)
    assert sorted(ended) == [1, 2]


@pytest.fixture
def two_threads():
    if private.behind() is None:
        pytest.skip("torch's threads cannot be asked here")
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    yield
    parallel.end_behind()
    torch.set_num_threads(before)


@pytest.mark.parametrize("few", [False, True])
def test_sums_of_weights_behind_a_thread_that_computes_on(two_threads, few):
    """The same sums as without other threads, and afterwards torch has as many as before."""
    weights = [torch.randn(3 * BLOCK // 8), torch.randn(7), torch.randn(64, 64)]
    places, truth = places_of(weights), digest(weights).sums
    x = torch.randn(200, 200)
    product = x @ x
    for _ in range(20):
        with parallel.one_thread_for(1 if few else parallel.FEW_POSITIONS + 1):
            behind = SumsBehind(places)
            assert behind.begin()
            assert not SumsBehind(places).begin()  # one at a time
            torch.testing.assert_close(x @ x, product)
        assert behind.sums() == truth
        assert torch.get_num_threads() == 2
    weights[0][5] += 1
    assert SumsBehind(places).sums() != truth  # nobody was asked: this thread computes them


def test_a_kernel_waits_for_what_is_done_behind(two_threads):
    """Threads that work behind this one have ended when a kernel needs them."""
    weights, seen = [torch.randn(BLOCK)], []
    behind = SumsBehind(places_of(weights))
    assert behind.begin()
    parallel.run([lambda: seen.append(threading.get_ident()) or time.sleep(0.05)] * 2)
    assert len(seen) == 2
    assert torch.get_num_threads() == 2


def test_no_thread_is_started_beside_those_of_torch():
    if private.team() is None:
        pytest.skip("torch's threads cannot be asked here")
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    meeting, seen, known = threading.Barrier(2, timeout=20), [], set(threading.enumerate())

    def kernel(part, parts):
        meeting.wait()  # so that no thread takes both
        # inside a team of OpenMP, torch starts no second one: these are the threads of its operations
        seen.append(
            (threading.get_ident(), "at::in_parallel_region" in dir(torch) or torch.get_num_threads())
        )

    try:
        parallel.side_by_side(kernel, 2)
    finally:
        torch.set_num_threads(before)
    assert len(set(seen)) == 2
    assert not [one for one in {*threading.enumerate()} - known if one.name.startswith("regard-kernels")]


FORK = """
import os, signal, sys
import torch
sys.path.insert(0, sys.argv[1])
from conftest import make
from regard.structures import kernels
from regard.fast.paths.best_cpu import BestOnCPU

torch.set_num_threads(2)
torch.manual_seed(0)
edges, factor = torch.randn(64, 60, 4, 4), torch.randn(600, 600)
case = make(16)

def in_our_threads():
    return [kernels.chain_marginals(None, edges, None)[1], BestOnCPU().run(factor, 0, None, 0, None)[0]]

def in_those_of_torch_too():
    factor @ factor  # as a prediction does
    loss, _ = case.loss(plain=False)
    gradients = torch.autograd.grad(loss, list(case.decoder.parameters()), allow_unused=True)
    return [loss.detach(), gradients[0]]

ours, both = in_our_threads(), in_those_of_torch_too()
child = os.fork()
if child == 0:
    signal.alarm(60)
    same = torch.get_num_threads() == 1
    same = same and all(torch.allclose(*pair) for pair in zip(both, in_those_of_torch_too()))
    torch.set_num_threads(2)  # a pool of its own
    again = in_our_threads()
    torch.set_num_threads(1)
    same = same and all(torch.equal(*pair) for pair in zip(ours, again))
    os._exit(0 if same else 3)
_, status = os.waitpid(child, 0)
assert torch.get_num_threads() == 2
sys.exit(os.waitstatus_to_exitcode(status))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_child_of_a_fork_computes_the_same():
    here = os.path.dirname(__file__)
    command = [sys.executable, "-c", FORK, here]
    # With a GPU in sight autograd starts threads of its own, and torch refuses gradients in a fork.
    unseen = {**os.environ, "CUDA_VISIBLE_DEVICES": ""}
    done = subprocess.run(command, env=unseen, capture_output=True, text=True, timeout=500)
    assert done.returncode == 0, f"{done.returncode}: {done.stderr}"
