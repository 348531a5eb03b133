"""Training loads torch's compiler only if somebody uses it, and takes the same steps with it and without it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

TRAINED = """
import sys
from regard.cli import main
for command in ({first}, {again}):
    sys.argv = ["regard", *command]
    try:
        main()
    except SystemExit as end:
        assert not end.code, end.code
assert "torch" in sys.modules
print("loaded" if "torch._dynamo" in sys.modules else "not loaded")
"""

STEPS = """
import sys
import torch
from torch.optim import SGD, Adam, AdamW, RAdam
from regard.private import postpone_compiler, take_step

def train(kind, options, compiler):
    torch.manual_seed(0)
    weights = [torch.randn(3, 4, requires_grad=True), torch.randn(5, requires_grad=True)]
    if not compiler:
        postpone_compiler()
    made = kind(weights, lr=0.1, **options)
    for _ in range(3):
        for weight in weights:
            weight.grad = torch.randn_like(weight)
        made.step() if compiler else take_step(made)
    return weights

kinds = [(Adam, {"fused": True}), (AdamW, {"weight_decay": 0.1}), (SGD, {"momentum": 0.9}), (RAdam, {})]
without = [train(*one, False) for one in kinds]
assert "torch._dynamo" not in sys.modules
wanted = [train(*one, True) for one in kinds]
assert "torch._dynamo" in sys.modules
later = [train(*one, False) for one in kinds]  # the compiler is loaded now
for mine, right, last in zip(without, wanted, later):
    assert all(torch.equal(a, b) and torch.equal(b, c) for a, b, c in zip(mine, right, last))
    assert all(weight.requires_grad for weight in mine)
compiled = torch.compile(lambda x: 2 * x, backend="eager")
assert compiled(torch.ones(2)).tolist() == [2, 2]
"""

WATCHED = """
import sys
import torch
from torch.optim import SGD
from torch.optim.optimizer import register_optimizer_step_pre_hook
from regard.private import postpone_compiler, take_step

postpone_compiler()
weight = torch.ones(1, requires_grad=True)
made = SGD([weight], lr=1.0)
seen = []
def step(watch, *names):
    handle = watch()
    weight.grad = torch.ones(1)
    take_step(made)
    handle.remove()
    return seen

assert step(lambda: register_optimizer_step_pre_hook(lambda *given: seen.append("all"))) == ["all"]
assert step(lambda: made.register_step_post_hook(lambda *given: seen.append("its own"))) == ["all", "its own"]
with torch.profiler.profile() as profile:
    weight.grad = torch.ones(1)
    take_step(made)
assert any(event.key == "Optimizer.step#SGD.step" for event in profile.key_averages())

class Own(SGD):
    def step(self, closure=None):
        seen.append("a subclass")

take_step(Own([weight], lr=1.0))
assert seen[-1] == "a subclass" and weight.item() == -2
"""


def run(program: str, folder: Path | None = None) -> str:
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, cwd=folder)
    assert not done.returncode, done.stderr
    return done.stdout


def test_training_and_resuming_do_not_load_it(tmp_path):
    rows = [f"{a} {b}\t{b} {a}" for a in "abcdefg" for b in "abcdefg"]
    (tmp_path / "pairs.tsv").write_text("\n".join(["source\ttarget", *rows]) + "\n")
    small = [
        "--set",
        "encoder.size=4",
        "--set",
        "decoder.size=4",
        "--device",
        "cpu",
        "--quiet",
        "--no-report",
    ]
    first = ["train", "pairs.tsv", "-o", "run", "--set", "training.steps=2", *small]
    again = [
        "train",
        "--resume",
        "run",
        "--set",
        "training.steps=4",
        "--device",
        "cpu",
        "--quiet",
        "--no-report",
    ]
    out = run(TRAINED.format(first=first, again=again), tmp_path)
    assert out.splitlines()[-1] == "not loaded"


def test_steps_are_those_of_torch():
    run(STEPS)


def test_a_watched_optimizer_takes_its_own_step():
    run(WATCHED)
