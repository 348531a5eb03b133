"""Add attention to an encoder-decoder."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from regard.course.exercises.exercise import Answer, Array, Exercise, GradedQuestion, Wrong, close, numbers
from regard.nn import Attention, Memory

TEMPLATE = '''"""Attention for a decoder whose state s (D,) looks at encoder states h (T, D):

    e_j = v . tanh(U s + W h_j),   alpha = softmax(e),   c = sum over j of alpha_j h_j

U and W are (D, D), v is (D,). mask (T,) is True where there is a word; elsewhere there is nothing to look at.

Fill in the functions, then:  regard exercise attention THIS_FILE.py
"""

from typing import Any

import numpy as np


def weights(s, h, mask, U, W, v):
    """alpha, (T,): positive where the mask is True, exactly 0 elsewhere, adding up to 1."""
    ...


def context(alpha, h):
    """c, (D,)."""
    ...


def new_parameters(D):
    """How many numbers attention adds to the model: those of U, W and v."""
    ...
'''
D, T = 4, 6


def _case(seed: int) -> dict[str, Any]:
    generator = np.random.default_rng(seed)
    mask = np.ones(T, dtype=bool)
    mask[T - seed % 3 :] = False
    draw = generator.standard_normal
    return {"s": draw(D), "h": draw((T, D)), "mask": mask, "U": draw((D, D)), "W": draw((D, D)), "v": draw(D)}


def _truth(case: dict[str, Any]) -> tuple[Array, Array]:
    """The result of regard's own attention."""
    made = Attention(D, D, score="additive").double()
    with torch.no_grad():
        for name, value in (("query.weight", case["U"]), ("key.weight", case["W"]), ("vector", case["v"])):
            dict(made.score.named_parameters())[name].copy_(torch.tensor(value))
        values = torch.tensor(case["h"])[None]
        look = made(
            torch.tensor(case["s"])[None, None],
            Memory(values, torch.tensor(case["mask"])[None], values.mean(1)),
        )
    return look.weights[0, 0].numpy(), look.context[0, 0].numpy()


def _given(answer: Answer, case: dict[str, Any]) -> Array:
    found = answer.weights(**{name: value.copy() for name, value in case.items()})
    return numbers(found, (T,), "weights(…)")


def _distribution(answer: Answer) -> None:
    for seed in range(6):
        case = _case(seed)
        alpha = _given(answer, case)
        if (alpha[~case["mask"]] != 0).any():
            raise Wrong(
                f"where the mask is False the weights are {alpha[~case['mask']]}; expected exactly 0."
            )
        if (alpha < 0).any():
            raise Wrong("some weights are negative.")
        close(alpha.sum(), 1.0, "the sum of the weights")


def _formula(answer: Answer) -> None:
    for seed in range(12):
        case = _case(seed)
        close(_given(answer, case), _truth(case)[0], "the weights")


def _order(answer: Answer) -> None:
    order = np.array([3, 0, 2, 1, 4, 5])
    for seed in (0, 3):
        case = _case(seed)
        moved = {**case, "h": case["h"][order], "mask": case["mask"][order]}
        close(
            _given(answer, moved),
            _given(answer, case)[order],
            "the weights of the same words in another order",
        )


def _large(answer: Answer) -> None:
    case = _case(0)
    case["v"] = case["v"] * 1000
    close(_given(answer, case), _truth(case)[0], "the weights where scores are in the thousands")


def _context(answer: Answer) -> None:
    for seed in range(6):
        case = _case(seed)
        alpha, expected = _truth(case)
        found = numbers(answer.context(alpha.copy(), case["h"].copy()), (D,), "context(…)")
        close(found, expected, "the context")


def _count(answer: Answer) -> None:
    for size in (2, 5, 256):
        found = numbers(answer.new_parameters(size), (), f"new_parameters({size})")
        made = Attention(size, size, score="additive")
        close(found, sum(p.numel() for p in made.parameters()), f"new_parameters({size})")


ALL = ("weights", "context", "new_parameters")
EXERCISE = Exercise(
    name="attention",
    title="Add attention to an encoder-decoder",
    entries=("004.37", "004.32"),
    task="Write the attention of the lecture: weights from the decoder's state and the encoder's states, the context "
    "they give, and how many parameters they cost.",
    template=TEMPLATE,
    questions=(
        GradedQuestion(
            "the weights are a distribution over the words",
            ("weights",),
            _distribution,
            "Softmax divides exp(e) by its sum. What must e be where there is no word, so that exp(e) is exactly 0?",
        ),
        GradedQuestion(
            "the weights are those of the formula",
            ("weights",),
            _formula,
            "One e for each row of h; U acts on s, W on h.",
        ),
        GradedQuestion(
            "words in another order have the same weights in that order",
            ("weights",),
            _order,
            "Nothing may depend on the position j itself.",
        ),
        GradedQuestion(
            "large scores do not overflow",
            ("weights",),
            _large,
            "Softmax stays the same when one number is taken from all scores; which one keeps exp from overflowing?",
        ),
        GradedQuestion(
            "the context is the weighted average", ("context",), _context, "A row of h for each weight."
        ),
        GradedQuestion(
            "new_parameters counts U, W and v",
            ("new_parameters",),
            _count,
            "The slide that lists the parameters omits one of the three.",
        ),
    ),
)
