"""Distillation: the loss from other models' distributions, and a student that learns from them alone."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
import torch

import regard
from regard import RegardError
from regard.fitting.experiment import Experiment
from regard.training.distillation import load_distillation

SMALL = ["encoder.size=24", "decoder.size=32", "encoder.embedding=16", "decoder.embedding=16"]
PLAIN = [*SMALL, "encoder.dropout=0", "decoder.dropout=0", "training.lr=0.005", "search.max_length=10"]


def pairs(count: int, seed: int = 0) -> list[tuple[str, str]]:
    generator = random.Random(seed)
    words = ["".join(generator.choices("abcd", k=generator.randint(2, 5))) for _ in range(count)]
    return [(word, " ".join(word.upper())) for word in words]


def test_the_cost_is_the_cross_entropy_to_the_mean_of_the_teachers(tmp_path: Path) -> None:
    for seed in (1, 2):
        fewer = [*PLAIN, "training.steps=3", f"training.seed={seed}"]
        regard.fit(pairs(80), run=tmp_path / f"teacher{seed}", overrides=fewer, device="cpu", quiet=True)
    named = f"training.distill={{from: [{tmp_path}/teacher1, {tmp_path}/teacher2], weight: 1.0}}"
    data = tmp_path / "teacher1" / "pairs.jsonl"
    experiment = Experiment.start(
        str(data),
        run=tmp_path / "student",
        overrides=[*PLAIN, named],
        device="cpu",
        quiet=True,
    )
    model, batch = experiment.model, experiment.dataset("train").batch([0, 1, 2])
    model.network.distillation = load_distillation(model, model.spec.training.distill)
    output = next(iter(model.spec.outputs))
    cost = model.network.train()(batch)[output]

    # By hand: every position of every row, one step at a time.
    def steps(one: regard.Model) -> list[torch.Tensor]:
        decoder = one.network.eval().decoders[output]
        found = []
        for row in range(3):
            alone = experiment.dataset("train").batch([row])
            memories = one.network.memories(output, one.network.encode(alone))
            state, previous = decoder.start(memories), torch.tensor([[2]])  # BEGIN
            for word in [*alone[output].ids[0].tolist(), None]:
                step = decoder.step(previous, state, memories)
                found.append(torch.softmax(step.logits[0, 0], -1))
                state = step.state
                previous = torch.tensor([[word]]) if word is not None else previous
        return found

    teachers = [regard.load(tmp_path / f"teacher{seed}", device="cpu") for seed in (1, 2)]
    with torch.no_grad():
        taught = [(one + two) / 2 for one, two in zip(*map(steps, teachers), strict=True)]
        expected = -sum(float((p * q.log()).sum()) for p, q in zip(taught, steps(model), strict=True))
    assert cost.total.item() == pytest.approx(expected, rel=1e-4)
    assert float(cost.count) == len(taught)


@pytest.mark.thorough
def test_a_student_learns_from_a_teacher_what_its_data_do_not_say(tmp_path: Path, learning_seed: int) -> None:
    first = 100 * learning_seed
    longer = [*PLAIN, "training.epochs=6", "training.lr=0.01", f"training.seed={1 + learning_seed}"]
    regard.fit(pairs(600, first), run=tmp_path / "teacher", overrides=longer, device="cpu", quiet=True)
    named = [*longer, f"training.distill={{from: {tmp_path}/teacher, weight: 1.0}}"]
    student = regard.fit(
        pairs(600, first + 5), run=tmp_path / "student", overrides=named, device="cpu", quiet=True
    )
    held_out = pairs(60, first + 9)
    answers = student.predict([word for word, _ in held_out])
    assert sum(answer.text == spelled for answer, (_, spelled) in zip(answers, held_out, strict=True)) >= 45
    assert not any("distill" in name for name in student.network.state_dict())


def test_a_student_may_read_more_than_its_teachers_saw(tmp_path: Path) -> None:
    fewer = [*PLAIN, "training.steps=1"]
    regard.fit(pairs(80), run=tmp_path / "teacher", overrides=fewer, device="cpu", quiet=True)
    other = [(word + "dd", spelled + " D D") for word, spelled in pairs(300, seed=4)]  # other frequencies
    student = regard.fit(
        other,
        run=tmp_path / "student",
        overrides=[*fewer, f"training.distill.from={tmp_path}/teacher"],
        device="cpu",
        quiet=True,
    )
    teacher = regard.load(tmp_path / "teacher", device="cpu")
    for name, column in student.columns.items():
        assert column.learned() == teacher.columns[name].learned()


def test_a_teacher_of_other_columns_is_refused(tmp_path: Path) -> None:
    fewer = [*PLAIN, "training.steps=1"]
    regard.fit(pairs(80), run=tmp_path / "teacher", overrides=fewer, device="cpu", quiet=True)
    source = next(iter(regard.load(tmp_path / "teacher", device="cpu").spec.inputs))
    with pytest.raises(RegardError, match=f"column '{source}' of this model has other units"):
        regard.fit(
            pairs(80),
            run=tmp_path / "student",
            overrides=[*fewer, f"inputs.{source}.unit=byte", f"training.distill.from={tmp_path}/teacher"],
            device="cpu",
            quiet=True,
        )
    with pytest.raises(RegardError, match="no such folder"):
        regard.fit(
            pairs(80),
            run=tmp_path / "pupil",
            overrides=[*fewer, f"training.distill.from={tmp_path}/nobody"],
            device="cpu",
            quiet=True,
        )
