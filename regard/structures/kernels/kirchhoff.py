"""The exact number of spanning trees: Kirchhoff's determinant in Python integers."""

from __future__ import annotations


def count_trees(arcs: list[list[int]], n: int, single_root: bool) -> int:
    """Number of trees over words 1 .. n; arcs[h][m] counts the arcs from h to m, 0 is the root symbol."""
    words = range(1, n + 1)
    heads = range(1 if single_root else 0, n + 1)
    rows = [
        [sum(arcs[i][m] for i in heads if i != m) if h == m else -arcs[h][m] for m in words] for h in words
    ]
    if single_root and n:
        rows[0] = [arcs[0][m] for m in words]
    return determinant(rows)


def determinant(rows: list[list[int]]) -> int:
    """Bareiss' elimination: every division is exact, so nothing is rounded."""
    rows, sign, before = [list(row) for row in rows], 1, 1
    size = len(rows)
    for k in range(size - 1):
        pivot = next((i for i in range(k, size) if rows[i][k]), None)
        if pivot is None:
            return 0
        if pivot != k:
            rows[k], rows[pivot], sign = rows[pivot], rows[k], -sign
        for i in range(k + 1, size):
            for j in range(k + 1, size):
                rows[i][j] = (rows[i][j] * rows[k][k] - rows[i][k] * rows[k][j]) // before
        before = rows[k][k]
    return sign * rows[-1][-1] if size else 1
