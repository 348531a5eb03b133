"""Traces of structures with known figures."""

import numpy as np
from hypothesis import strategies as st

from regard.trace import Arcs, Hops, Segments, Trace

WORDS = ["the", "dog", "saw", "a", "cat", "with", "me"]
HEADS = [2, 3, 0, 5, 3, 5, 6]
TRUE = [2, 3, 0, 5, 3, 3, 6]
RELATIONS = ["det", "nsubj", "root", "det", "obj", "prep", "pobj"]


def tree(*, marginals: bool = True, relations: bool = True, truth: bool = True, samples=None) -> Trace:
    """Six of seven heads are true; for "with" cat (0.6) is predicted, saw (0.25) is true, dog has 0.15."""
    table = np.zeros((8, 8))
    for child, head in enumerate(HEADS, 1):
        table[head, child] = 1.0
    table[5, 6], table[3, 6], table[2, 6] = 0.6, 0.25, 0.15
    structure = Arcs(
        HEADS,
        table if marginals else None,
        RELATIONS if relations else (),
        TRUE if truth else None,
        RELATIONS if relations and truth else (),
        samples,
    )
    return Trace({"sentence": WORDS}, ["x"], structures={"sentence": structure}, kind="tree")


def spelled() -> Trace:
    """ "hund" and "bellt" in "hundbellt"; the second word misses its last letter and has a wrong one."""
    truth = np.zeros((2, 9), dtype=int)
    truth[0, :4] = 1
    truth[1, 4:] = 1
    best = truth.copy()
    best[1, 8], best[1, 0] = 0, 1
    weights = 0.9 * best + 0.02
    return Trace(
        {"letters": list("hundbellt")},
        ["dog", "barks"],
        {"letters": weights / 2},
        structures={"letters": Segments(weights, best, truth, np.stack([best, truth, best]))},
    )


STORY = ("Ann took the milk.", "Bob slept.", "Ann went to the garden.")


def story() -> Trace:
    """Two hops over three sentences; the second hop is wrong."""
    weights = np.array([[0.9, 0.06, 0.04], [0.1, 0.5, 0.4]])
    hops = Hops(weights, [0, 1], [0, 2], [[0, 1], [0, 2], [0, 2]], STORY)
    return Trace(
        {"story": " ".join(STORY).split(), "question": ["where", "is", "the", "milk", "?"]},
        ["garden"],
        scores=np.log([0.75]),
        structures={"story": hops},
        kind="label",
    )


def any_heads(count: int):
    """Any heads for `count` words, trees or not: another word, or none."""
    return st.tuples(
        *(
            st.sampled_from([head for head in range(-1, count + 1) if head != child])
            for child in range(1, count + 1)
        )
    ).map(list)
