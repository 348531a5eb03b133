"""The table of paths and decoders in docs/performance.md matches the code."""

from __future__ import annotations

from pathlib import Path

from regard.fast import table as paths

PAGE = Path(__file__).parents[2] / "docs" / "performance.md"


def test_the_table_in_the_docs_is_up_to_date() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert paths.BEGIN in page and paths.END in page
    assert paths.written(page) == page, "Run  python -m regard.fast.table docs/performance.md"


def test_every_combination_is_in_the_table() -> None:
    assert {"softmax", "sigmoid", "segments", "hard"} <= set(paths.suiting("selection"))
    kernels = {"additive", "dot", "scaled-dot", "general", "linear", "location"}
    assert set(paths.suiting("score")) == kernels | {"history", "perceptron"}
    assert paths.paths_of("gru", "history", "softmax") == ("plain", "recorded")
    for cell in ("rnn", "gru", "lstm"):
        for score in sorted(kernels):
            for selection in ("softmax", "sigmoid", "segments", "hard"):
                assert paths.paths_of(cell, score, selection)[0] == "fused"


def test_a_decoder_that_copies_has_kernels_where_it_looks_from_the_previous_state() -> None:
    found = {
        state: paths.paths_of("gru", "additive", "softmax", copies=True, state=state)
        for state in ("previous", "current")
    }
    assert found == {"previous": ("fused", "graphed"), "current": ("plain", "plain")}
