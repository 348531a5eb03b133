"""Schedules, computed by hand and by torch's schedulers where it has them."""

from __future__ import annotations

import math

import pytest
import torch

from regard.errors import RegardError
from regard.parts import register, registry
from regard.spec import Spec
from regard.spec.document import parse
from regard.spec.sections import TrainingSpec
from regard.training.schedules import Schedule, make_schedule


def make(total: int | None = None, **options: object) -> Schedule:
    return make_schedule(TrainingSpec(schedule=options).schedule, 0.1, total=total)


@pytest.mark.parametrize("kind", ["constant", "plateau", "cosine", "inverse-sqrt"])
def test_the_warm_up_rises_in_a_line_before_each(kind: str) -> None:
    schedule = make(total=100, type=kind, warmup=4)
    assert [schedule.rate(step) for step in (1, 2, 3, 4)] == pytest.approx([0.025, 0.05, 0.075, 0.1])
    assert schedule.rate(5) == pytest.approx(0.1, rel=0.12)


def test_cosine_agrees_with_torch() -> None:
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=0.1)
    reference = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=30, eta_min=0.01)
    schedule = make(total=30, type="cosine", minimum=0.01)
    for step in range(1, 31):
        optimizer.step()
        reference.step()
        assert schedule.rate(step) == pytest.approx(optimizer.param_groups[0]["lr"])
    assert schedule.rate(99) == pytest.approx(0.01)


def test_plateau_agrees_with_torch() -> None:
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=0.1)
    reference = torch.optim.lr_scheduler.ReduceLROnPlateau(
        optimizer, factor=0.5, patience=1, threshold=0.0, min_lr=0.02
    )
    schedule = make(type="plateau", factor=0.5, patience=1, minimum=0.02)
    best = math.inf
    for loss in (3.0, 2.0, 2.5, 2.5, 2.5, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0):
        schedule.observe(loss < best)
        best = min(loss, best)
        reference.step(loss)
        assert schedule.rate(1000) == pytest.approx(optimizer.param_groups[0]["lr"])


def test_a_plateau_remembers_across_a_checkpoint() -> None:
    options = {"type": "plateau", "factor": 0.5, "patience": 1}
    one, other = make(**options), make(**options)
    one.observe(False)
    other.restore(one.state())
    for schedule in (one, other):
        schedule.observe(False)
        assert schedule.rate(1) == pytest.approx(0.05)


def test_inverse_square_root_falls_from_the_peak() -> None:
    schedule = make(type="inverse-sqrt", warmup=4)
    assert [schedule.rate(step) for step in (4, 16, 64)] == pytest.approx([0.1, 0.05, 0.025])
    assert make(type="inverse-sqrt", warmup=4, minimum=0.03).rate(64) == pytest.approx(0.03)


def test_a_cosine_without_an_end_is_refused() -> None:
    with pytest.raises(RegardError, match=r"training\.schedule.*Give training\.steps"):
        make(type="cosine")


def test_a_schedule_is_chosen_by_name_and_constant_when_absent() -> None:
    assert TrainingSpec().schedule.type == "constant"
    assert TrainingSpec(schedule="plateau").schedule.factor == 0.5
    assert TrainingSpec(schedule={"warmup": 3}).schedule.type == "constant"


@pytest.mark.parametrize(
    ("schedule", "words"),
    [
        ("{type: cosine, factor: 0.3}", r"training\.schedule\.factor: unknown key 'factor'"),
        ("{minimum: 1.0e-5}", r"training\.schedule\.minimum: unknown key 'minimum'"),
        ("{type: plateau, patiense: 3}", r"unknown key 'patiense'\. Did you mean patience\?"),
        ("cosin", r"'cosin' is not a known schedule\. Did you mean cosine\?"),
        ("{type: cosin}", r"'cosin' is not a known schedule\. Did you mean cosine\?"),
    ],
)
def test_what_a_schedule_does_not_use_is_refused(schedule: str, words: str) -> None:
    model = "inputs: {a: {type: text}}\noutputs: {b: {type: text}}\n"
    with pytest.raises(RegardError, match=words):
        Spec.parse(parse(f"{model}training: {{schedule: {schedule}}}", "my.yaml"))


def test_a_schedule_registered_here_is_used_from_a_spec(monkeypatch: pytest.MonkeyPatch) -> None:
    known = {name: registry.part("schedule", name) for name in registry.names("schedule")}
    monkeypatch.setitem(registry.PARTS, "schedule", known)

    @register("schedule", "halving")
    class Halving(Schedule):
        class Options(Schedule.Options):
            every: int = 10

        def after_warmup(self, step: int) -> float:
            return float(self.peak * 0.5 ** (step // self.options.every))

    schedule = make(type="halving", every=2)
    assert [schedule.rate(step) for step in (1, 2, 4)] == pytest.approx([0.1, 0.05, 0.025])
