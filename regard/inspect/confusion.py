"""The confusion matrix: true labels in rows, predicted labels in columns."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from regard.errors import RegardError
from regard.inspect.drawings.matrix import Matrix
from regard.inspect.grid import draw_matrix
from regard.inspect.layout import below, color_scale, frame
from regard.inspect.scene import Scene
from regard.trace import Array


def confusion(counts: Array, labels: Sequence[str], *, title: str = "", share: bool = True) -> Scene:
    """counts[i, j]: how often label i was predicted as label j. The recall of each label is on the right.

    share   shade by the share within the row, so that rare labels are as visible as frequent ones; the cells show the
            counts in either case
    """
    counts = np.asarray(counts, dtype=np.float64)
    if counts.shape != (len(labels), len(labels)):
        raise RegardError(
            f"the counts have shape {counts.shape}, expected {len(labels)} by {len(labels)} labels."
        )
    totals = counts.sum(axis=1)
    safe = np.where(totals > 0, totals, 1.0)
    recall = np.where(totals > 0, np.diag(counts) / safe, np.nan)
    matrix = Matrix(
        rows=tuple(labels),
        columns=tuple(labels),
        values=counts,
        shades=counts / safe[:, None] if share else counts / max(1.0, float(counts.max(initial=0.0))),
        margin=recall,
        margin_name="recall",
        row_name="true",
        column_name="answered",
        numbers=True,
        digits="{:.0f}",
    )
    scale = color_scale(name="share of the true label" if share else "share of the largest count")
    right, all_of_them = float(np.trace(counts)), float(counts.sum())
    accuracy = f"{right:.0f} of {all_of_them:.0f} right" if all_of_them else "nothing was counted"
    return frame(
        below([draw_matrix(matrix), scale], gap=16),
        title=title,
        subtitle=f"true label down, answer across · {accuracy}",
        description=f"Confusion matrix of {len(labels)} labels: {accuracy}.",
    )
