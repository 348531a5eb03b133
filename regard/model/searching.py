"""From the section `search` of a spec to a search."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import Any

from regard.data.batch import Tokens
from regard.nn.search import Limits, Request, Search
from regard.parts import names, part
from regard.parts.registry import registered
from regard.spec import SearchSpec, Spec


def searched(spec: Spec, changes: Mapping[str, Any]) -> Spec:
    """The spec with other search options (`max_length=None`: the default) and another `seed`
    (`training.seed`). Options that belong to another search choose it (`Search.chosen_by`)."""
    wanted = dict(changes)
    if "method" not in wanted and (method := _chosen(spec.search, wanted)):
        wanted["method"] = method
    search = part("search", wanted.get("method") or spec.search.method.type)
    if search is not None:
        wanted |= search.implied(spec.search.options_of(search.Options), wanted)
    seed = wanted.pop("seed", None)
    made = spec.with_options("search", wanted) if wanted else spec
    return made if seed is None else made.with_options("training", {"seed": seed})


def _chosen(search: SearchSpec, changes: Mapping[str, Any]) -> str | None:
    """The search that some changes choose; None: the present one stays."""
    several = (changes.get("n_best") or 1) > 1 and not search.method.part.several
    keys = {key for key in changes if key not in type(search).model_fields or (key == "n_best" and several)}
    own = [name for kind, name, _ in registered() if kind == "search"]  # ours, without importing others
    searches = (part("search", name) for name in chain(own, names("search") if keys else ()))
    return next((one.Options.type for one in searches if keys & {*one.chosen_by}), None)


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
    request = Request(answers=search.n_best, limits=limits, seed=seed, keys=keys)
    made: Search = search.method.part.make(search.method, request)
    return made
