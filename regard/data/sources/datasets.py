"""Rows → a Dataset, encoded once and cached."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from regard.data import Dataset, Row
from regard.spec import Spec


def build_dataset(
    rows: Iterable[Row], spec: Spec, columns: Sequence[Any], *, gather: bool, rejected: Path | None
) -> Dataset:
    """Encode the rows, or load their encodings from the cache."""
    # Repeated sentences with tags or trees are separate rows, not alternative references.
    alternatives = not any(getattr(output, "of", None) for output in spec.outputs.values())
    gathered = gather and spec.data.references and alternatives and spec.inputs
    outputs = list(spec.outputs) if gathered else []
    return Dataset.build(
        rows,
        columns,
        cache=cache_folder(),
        on_bad=spec.data.bad_rows,
        rejected=rejected if spec.data.bad_rows == "skip" else None,
        references=outputs,
    )


def cache_folder() -> Path:
    """$REGARD_CACHE, else the folder `regard` in the user's cache folder."""
    if "REGARD_CACHE" in os.environ:
        return Path(os.environ["REGARD_CACHE"])
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "regard"
