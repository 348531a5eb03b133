"""SearchSpec → a search."""

from __future__ import annotations

from regard.data.batch import Tokens
from regard.nn.search import Beam, Greedy, Limits, Sample
from regard.spec import SearchSpec

Search = Greedy | Beam | Sample


def make_search(search: SearchSpec, *, seed: int, prefix: Tokens | None = None) -> Search:
    """The search a spec names; `prefix` forces how every output begins."""
    limits = Limits(minimum=search.min_length, maximum=search.max_length, prefix=prefix)
    if search.method == "greedy":
        return Greedy(limits=limits)
    if search.method == "beam":
        return Beam(size=search.beam, length_penalty=search.length_penalty, best=search.n_best, limits=limits)
    return Sample(
        samples=search.n_best,
        temperature=search.temperature,
        top=search.top_k,
        nucleus=search.top_p,
        seed=seed,
        limits=limits,
    )
