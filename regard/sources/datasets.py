"""Rows → a Dataset, encoded once and kept."""

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
    """Rows encoded, from the cache where they were encoded before."""
    # A sentence that comes twice with its tags or its tree was said twice: these are no alternatives to each other.
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
    """$REGARD_CACHE, else regard under the user's cache folder."""
    if "REGARD_CACHE" in os.environ:
        return Path(os.environ["REGARD_CACHE"])
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "regard"
