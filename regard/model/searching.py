"""SearchSpec → a search."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from regard.data.batch import Tokens
from regard.errors import RegardError
from regard.nn.search import Beam, Greedy, Limits, Sample
from regard.spec import SearchSpec, Spec

Search = Greedy | Beam | Sample


def searched(spec: Spec, changes: Mapping[str, Any]) -> Spec:
    """The spec with other search options; a beam or a length penalty asks for beam search, more
    answers than the beam is wide for a wider one."""
    wanted = dict(changes)
    if set(wanted) & {"beam", "length_penalty"} and "method" not in wanted:
        wanted["method"] = "beam"
    if "n_best" in wanted and "beam" not in wanted and wanted["n_best"] > spec.search.beam:
        wanted["beam"] = wanted["n_best"]
    try:
        return spec.changed(*(f"search.{key}={value}" for key, value in wanted.items()))
    except RegardError as error:  # the place as it was written: an argument of a call
        raise RegardError(
            error.what, where=error.where.removeprefix("--set search."), fix=error.fix
        ) from None


def make_search(
    search: SearchSpec, rows: Sequence[int], *, seed: int, prefix: Tokens | None = None
) -> Search:
    """The search a spec names.

    rows     the numbers of the inputs, so that a sample depends on its input and the seed, not on the batch
    prefix   how every output must begin
    """
    limits = Limits(minimum=search.min_length, maximum=search.max_length, prefix=prefix)
    if search.method == "greedy":
        return Greedy(limits=limits)
    if search.method == "beam":
        return Beam(size=search.beam, length_penalty=search.length_penalty, best=search.n_best, limits=limits)
    return Sample(
        samples=search.n_best,
        temperature=search.temperature,
        top_k=search.top_k,
        top_p=search.top_p,
        seed=seed,
        keys=rows,
        limits=limits,
    )
