"""Derive the gradient of an LSTM's memory, and the gate values that pass it on unchanged."""

from __future__ import annotations

import numpy as np

from regard.course.exercises.exercise import (
    Answer,
    Array,
    Exercise,
    GradedQuestion,
    Unanswered,
    close,
    numbers,
)

TEMPLATE = '''"""The gradient of an LSTM's memory.

    c_t = f_t * c_{t-1} + i_t * g_t            h_t = o_t * tanh(c_t)

A bar stands for the gradient of the loss: c_bar_t = dL/dc_t. The memory c_t reaches the loss in two ways, through h_t
and through c_{t+1}. All arguments are numpy arrays of one shape, and * multiplies entry by entry.

Fill in both functions, then:  regard exercise carousel THIS_FILE.py
"""

import numpy as np


def memory_gradient(c_t, o_t, h_bar_t, f_next, c_bar_next):
    """c_bar_t, from h_bar_t (all that h_t does) and from c_bar_{t+1}; f_next is f_{t+1}."""
    ...


def gates():
    """The values of f_{t+1}, i_{t+1} and o_t with which c_bar_t = c_bar_{t+1}, whatever the other numbers are, and with
    which c_{t+1} = c_t. Return them in this order."""
    ...
'''


def _drawn(seed: int) -> dict[str, Array]:
    generator = np.random.default_rng(seed)
    gate = lambda: 1 / (1 + np.exp(-generator.standard_normal(5)))  # noqa: E731
    free = lambda: generator.standard_normal(5)  # noqa: E731
    return {"c_t": free(), "o_t": gate(), "h_bar_t": free(), "f_next": gate(), "c_bar_next": free()}


def _by_differences(c_t: Array, o_t: Array, h_bar_t: Array, f_next: Array, c_bar_next: Array) -> Array:
    """The gradient at c_t of the local loss h̄·(o tanh c) + c̄'·(f c), by central differences."""

    def loss(c: Array) -> float:
        return float(h_bar_t @ (o_t * np.tanh(c)) + c_bar_next @ (f_next * c))

    step = 1e-6
    return np.array([(loss(c_t + step * e) - loss(c_t - step * e)) / (2 * step) for e in np.eye(len(c_t))])


def _gradient(answer: Answer) -> None:
    for seed in range(20):
        given = _drawn(seed)
        found = numbers(answer.memory_gradient(**given), (5,), "memory_gradient(…)")
        close(found, _by_differences(**given), "the gradient, against finite differences", within=1e-6)


def _gates(answer: Answer) -> None:
    found = answer.gates()
    if found is None or found is Ellipsis:
        raise Unanswered("gates()")
    f, i, o = numbers(found, (3,), "gates()")
    for seed in range(20):
        given = {**_drawn(seed), "o_t": np.full(5, o), "f_next": np.full(5, f)}
        close(
            _by_differences(**given),
            given["c_bar_next"],
            f"with f = {f:g} and o = {o:g}, c̄_t against c̄_{{t+1}}",
            within=1e-6,
        )
        offer = np.tanh(given["h_bar_t"])
        close(
            f * given["c_t"] + i * offer, given["c_t"], f"with f = {f:g} and i = {i:g}, c_{{t+1}} against c_t"
        )


EXERCISE = Exercise(
    name="carousel",
    title="Derive the constant error carousel of the LSTM",
    entries=("000.43", "003.54"),
    task="Show that with the right gates the gradient of an LSTM's memory is passed back unmodified. Write c̄_t as a "
    "function of what comes back from h_t and from c_{t+1}, then name the gates.",
    template=TEMPLATE,
    questions=(
        GradedQuestion(
            "memory_gradient agrees with finite differences",
            ("memory_gradient",),
            _gradient,
            "Two paths lead from c_t to the loss; their gradients add. Along h_t = o_t tanh(c_t) the slope of tanh is "
            "1 − tanh². Along c_{t+1} = f_{t+1} c_t + … it is what c_t is multiplied with.",
        ),
        GradedQuestion(
            "with gates() the memory and its gradient are passed on unchanged",
            ("gates",),
            _gates,
            "Which factor of each path must be 1, and which must be 0?",
        ),
    ),
)
