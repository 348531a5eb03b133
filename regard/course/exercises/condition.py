"""Condition a decoder on an image in a way that is neither the first state nor an extra input."""

from __future__ import annotations

from typing import Any

import numpy as np

from regard.course.exercises.exercise import (
    Answer,
    Array,
    Exercise,
    GradedQuestion,
    Unanswered,
    Wrong,
    numbers,
)

TEMPLATE = '''"""A decoder describes an image, a vector of D numbers. It has N units and V words, each a vector of E:

    s_0 = first(image, p)
    s_t = step(s_{t-1}, word, image, p)           the squashing is tanh, so that states lie between -1 and 1
    scores of the next word = write(s_t, image, p)

The lecture has two ways to bring in the image: the first state depends on it (option 1), or it is an extra input of
every step, which adds the same vector to what tanh squashes whatever the state and the word (option 2). Find another.

Fill in the functions, then:  regard exercise condition THIS_FILE.py
"""

import numpy as np


def shapes(D, N, E, V):
    """{name: shape} of every parameter. They are drawn at random and given to the functions below as p."""
    ...


def first(image, p):
    """The first state, (N,)."""
    ...


def step(state, word, image, p):
    """The next state, (N,): tanh of something."""
    ...


def write(state, image, p):
    """The scores of the next word, (V,)."""
    ...
'''
SIZES = {"D": 4, "N": 5, "E": 3, "V": 6}
SEEN = 1e-9
"""Smaller differences count as no change."""


def _given(answer: Answer) -> dict[str, Array]:
    found = answer.shapes(**SIZES)
    if found is None or found is Ellipsis:
        raise Unanswered("shapes(…)")
    if not isinstance(found, dict) or not found:
        raise Wrong(f"shapes(…) is a {type(found).__name__}; expected a mapping of names and shapes.")
    generator, made = np.random.default_rng(7), {}
    for name, shape in found.items():
        try:
            made[name] = generator.standard_normal(tuple(int(side) for side in shape)) / 2
        except (TypeError, ValueError):
            raise Wrong(f"the shape of {name!r} is {shape!r}; expected a tuple of whole numbers.") from None
    return made


def _draw(count: int, size: int, seed: int) -> Array:
    return np.random.default_rng(seed).standard_normal((count, size))


class _Decoder:
    """The student's decoder with its shapes checked."""

    def __init__(self, answer: Answer) -> None:
        self.answer, self.p = answer, _given(answer)

    def first(self, image: Array) -> Array:
        return numbers(self.answer.first(image.copy(), self.p), (SIZES["N"],), "first(…)")

    def step(self, state: Array, word: Array, image: Array) -> Array:
        found = numbers(
            self.answer.step(state.copy(), word.copy(), image.copy(), self.p), (SIZES["N"],), "step(…)"
        )
        if np.abs(found).max() > 1:
            raise Wrong(
                f"step(…) gives {np.abs(found).max():.3g}; a state squashed by tanh lies between −1 and 1."
            )
        return found

    def write(self, state: Array, image: Array) -> Array:
        return numbers(self.answer.write(state.copy(), image.copy(), self.p), (SIZES["V"],), "write(…)")


def _runs(answer: Answer) -> None:
    decoder = _Decoder(answer)
    state = decoder.first(_draw(1, SIZES["D"], 1)[0])
    words = _draw(4, SIZES["E"], 2)
    for word in words:
        state = decoder.step(state, word, _draw(1, SIZES["D"], 1)[0])
        decoder.write(state, _draw(1, SIZES["D"], 1)[0])
    before, image = _draw(1, SIZES["N"], 3)[0] / 3, _draw(1, SIZES["D"], 1)[0]
    if np.abs(decoder.step(before, words[0], image) - decoder.step(before, words[1], image)).max() < SEEN:
        raise Wrong("step(…) gives the same state for two different words: it does not read them.")
    if np.abs(decoder.step(before, words[0], image) - decoder.step(-before, words[0], image)).max() < SEEN:
        raise Wrong("step(…) gives the same state after two different states: it remembers nothing.")


def _depends(answer: Answer) -> None:
    decoder, words = _Decoder(answer), _draw(5, SIZES["E"], 2)
    changes = []
    for image in _draw(2, SIZES["D"], 4):
        state, told = decoder.first(image), []
        for word in words:
            state = decoder.step(state, word, image)
            told.append(decoder.write(state, image))
        changes.append(np.array(told))
    apart: Any = np.abs(changes[0] - changes[1]).max(1)
    if (apart < SEEN).any():
        raise Wrong(f"at step {int((apart < SEEN).argmax()) + 1} two images give the same scores.")


def _another(answer: Answer) -> None:
    decoder = _Decoder(answer)
    images, words = _draw(2, SIZES["D"], 4), _draw(3, SIZES["E"], 5)
    states = _draw(3, SIZES["N"], 6) / 3
    if any(np.abs(decoder.write(s, images[0]) - decoder.write(s, images[1])).max() > SEEN for s in states):
        return  # the image enters at the output
    added = [
        np.arctanh(np.clip(decoder.step(s, w, images[0]), -1 + 1e-12, 1 - 1e-12))
        - np.arctanh(np.clip(decoder.step(s, w, images[1]), -1 + 1e-12, 1 - 1e-12))
        for s in states
        for w in words
    ]
    if max(np.abs(one).max() for one in added) < SEEN:
        raise Wrong("the image is seen by first(…) alone: this is the lecture's option 1.")
    if max(np.abs(one - added[0]).max() for one in added) < 1e-6:
        raise Wrong(
            "the image adds the same vector whatever the state and the word: this is the lecture's option 2."
        )


EXERCISE = Exercise(
    name="condition",
    title="Condition a decoder on an image in another way",
    entries=("004.12",),
    task="The lecture conditions a caption on an image by the first state or by an extra input at every step, and asks "
    "for other ways. Write a decoder that uses one.",
    template=TEMPLATE,
    questions=(
        GradedQuestion(
            "the decoder runs, and reads its words",
            ("shapes", "first", "step", "write"),
            _runs,
            "Begin without the image: s_t = tanh(W s + U x + b), scores V s + c, and their shapes.",
        ),
        GradedQuestion(
            "two images give different scores at every step",
            ("shapes", "first", "step", "write"),
            _depends,
            "Where does the image enter? What enters at one place only may have been squashed away later.",
        ),
        GradedQuestion(
            "it is neither option 1 nor option 2",
            ("shapes", "first", "step", "write"),
            _another,
            "Two places are left: the scores of the words, and a product. An image can be added after the recurrence, "
            "or multiply what is inside it.",
        ),
    ),
)
