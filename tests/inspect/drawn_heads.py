"""Traces of several heads with known figures."""

import numpy as np

from regard.trace import LayerHeads, Trace

ENCODER, ITSELF, OVER = (
    "source: encoder layer 1",
    "decoder layer 1 over the output so far",
    "decoder layer 1 over source",
)


def tiny_heads() -> Trace:
    """Two encoder heads over three letters: one is the identity, with exact zeros, one attends to all."""
    even = np.array([[0.95, 0.04, 0.01], [0.3, 0.3, 0.4], [0.25, 0.5, 0.25]])
    letters = ["c", "a", "t"]
    return Trace(
        {"source": letters},
        ["K", "</s>"],
        {"source": np.array([[0.9, 0.1, 0.0], [0.0, 0.5, 0.5]])},
        heads={
            ENCODER: LayerHeads("source", np.stack([np.eye(3), even]), letters, letters),
            ITSELF: LayerHeads("", np.tril(np.full((2, 2, 2), 0.5)), ["K", "</s>"], ["K", "</s>"]),
        },
    )


def random_heads(source, output, *, heads=4, layers=2, sparse=False, seed=0) -> Trace:
    """Encoder layers over the source and one decoder layer over it; sparse heads have exact zeros."""
    generator = np.random.default_rng(seed)
    source, output = list(source), list(output)

    def looks(queries):
        weights = generator.dirichlet(np.full(len(source), 0.5), size=(heads, len(queries)))
        weights = np.where(weights < 0.1, 0.0, weights) if sparse else weights
        return LayerHeads("source", weights, queries, source)

    found = {f"source: encoder layer {layer}": looks(source) for layer in range(1, layers + 1)}
    return Trace({"source": source}, output, heads={**found, OVER: looks(output)})
