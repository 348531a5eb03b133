"""Small traces with known figures."""

import numpy as np

from regard.trace import Trace


def tiny() -> Trace:
    """Two output pieces over three letters; the first attends to c, the second to a and t."""
    return Trace(
        {"word": ["c", "a", "t"]},
        ["K", "</s>"],
        {"word": np.array([[0.9, 0.06, 0.04], [0.0, 0.35, 0.65]])},
        scores=np.log([0.5, 1.0]),
    )


def random_trace(source, output, *, truth: bool = False, seed: int = 0) -> Trace:
    """Weights from a Dirichlet distribution, so that every row sums to one."""
    generator = np.random.default_rng(seed)
    shape = (len(output), len(source))
    weights = generator.dirichlet(np.ones(shape[1]), size=shape[0]) if all(shape) else np.zeros(shape)
    known = {"source": (generator.random(shape) < 0.2).astype(float)} if truth else {}
    scores = np.log(generator.uniform(0.05, 1, size=shape[0]))
    return Trace({"source": list(source)}, list(output), {"source": weights}, truth=known, scores=scores)
