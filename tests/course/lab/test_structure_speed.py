"""The lab of structures: one sentence and a batch take the same operations, and both programs the same marginals."""

from __future__ import annotations

from regard.course.lab import run


def test_a_batch_takes_the_operations_of_one_sentence() -> None:
    found = run("structure-speed", longest=10, sentences=3, states=2, repetitions=1).numbers
    assert found["lengths"] == [5, 10]
    for kind in ("chain", "tree"):
        for one in found[kind]:
            assert one["operations"] == one["batch_operations"] > 0
            assert one["apart"] < 1e-12
    assert [one["joins"] for one in found["chain"]] == [3 * 2 * 4 * 4, 3 * 2 * 9 * 4]
    assert [one["joins"] for one in found["tree"]] == [3 * 100, 3 * 725]
