"""From a SearchSpec to a search."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from regard.data.batch import Tokens
from regard.nn.search import Beam, Greedy, Limits, Sample
from regard.spec import SearchSpec, Spec

Search = Greedy | Beam | Sample


def searched(spec: Spec, changes: Mapping[str, Any]) -> Spec:
    """The spec with other search options (`max_length=None`: the default) and another `seed`
    (`training.seed`). A beam, a length penalty or several best answers select beam search; an `n_best` above
    the beam size widens the beam."""
    wanted = dict(changes)
    if set(wanted) & {"beam", "length_penalty"} and "method" not in wanted:
        wanted["method"] = "beam"
    if (wanted.get("n_best") or 1) > 1 and "method" not in wanted and spec.search.method == "greedy":
        wanted["method"] = "beam"
    if "n_best" in wanted and "beam" not in wanted and (wanted["n_best"] or 0) > spec.search.beam:
        wanted["beam"] = wanted["n_best"]
    seed = wanted.pop("seed", None)
    made = spec.with_options("search", wanted) if wanted else spec
    return made if seed is None else made.with_options("training", {"seed": seed})


def sample_keys(contents: Iterable[Mapping[str, str]]) -> list[int]:
    """A number for each input that, with the seed, determines its samples.

    It is a digest of the input, so that the same input and seed give the same sample at any place of a call,
    plus the number of equal inputs before it in the call, so that equal inputs are sampled independently.
    """
    seen: Counter[bytes] = Counter()
    keys = []
    for content in contents:
        text = repr(sorted(content.items())).encode("utf-8", errors="surrogatepass")
        digest = hashlib.blake2b(text, digest_size=16).digest()
        keys.append(int.from_bytes(digest) + seen[digest])
        seen[digest] += 1
    return keys


def make_search(
    search: SearchSpec, keys: Sequence[int], *, seed: int, prefix: Tokens | None = None
) -> Search:
    """The search of a spec.

    keys     a number for each input: a sample depends on the seed and on this number, not on the batch
    prefix   the beginning of every output
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
        keys=keys,
        limits=limits,
    )
