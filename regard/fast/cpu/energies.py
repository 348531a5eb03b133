# mypy: disable-error-code="call-arg"
"""Energies: scores of one query against each position of one row, forward and backward.

    additive   e_s = v · tanh(q + k_s)        dot      e_s = q · k_s
    location   e_s = v · tanh(q + k_s + V f_s), see `location`
    linear     e_s = q + k_s

tanh(q + k) = 1 − 2u with u = 1 / (1 + e^{2q} e^{2k}): the exponentials of the keys are computed once, so an
energy costs a product and half a division. Two positions share one division: 1/x = y/(xy) and 1/y = x/(xy).
The backward pass recomputes u. If |q| or |k| is so large that the products could overflow, u is computed from
tanh.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from regard.fast.cpu.layout import DOT, LARGEST, LINEAR, SOFTMAX, Choice, Memories
from regard.fast.cpu.location import Nearby, gather_near, look_near
from regard.structures.kernels.cpu.compilation import inlined, reduction
from regard.structures.kernels.cpu.exponential import exponential
from regard.structures.kernels.cpu.mathematics import hyperbolic, larger
from regard.structures.kernels.cpu.rows import add, dot

Array = Any


# Loops over rows are separate functions, so that the compiler sees that rows are contiguous.


@reduction
def _grow(query: Array, out: Array) -> Any:
    """Write e^{2q}; return whether some |q| is too large for it to be used. NaN is not, and stays NaN."""
    largest = query.dtype.type(0)
    for a in range(len(query)):
        largest = larger(largest, abs(query[a]))
        out[a] = exponential(query[a] + query[a])
    return largest > LARGEST


@reduction
def _slow_shares(query: Array, key: Array, out: Array) -> None:
    half = query.dtype.type(0.5)
    for a in range(len(query)):
        out[a] = half - half * hyperbolic(query[a] + key[a])


@reduction
def _shares(query: Array, key: Array, out: Array) -> None:
    one = query.dtype.type(1)
    for a in range(len(query)):
        out[a] = one / (one + query[a] * key[a])


@reduction
def _two_energies(query: Array, key: Array, other: Array, vector: Array) -> Any:
    """v · u of two positions."""
    one, total, second = query.dtype.type(1), query.dtype.type(0), query.dtype.type(0)
    for a in range(len(query)):
        x, y = one + query[a] * key[a], one + query[a] * other[a]
        part = vector[a] / (x * y)
        total += part * y
        second += part * x
    return total, second


@reduction
def _spread(
    d_energy: Any, shares: Array, vector: Array, d_query: Array, d_key: Array, d_vector: Array
) -> None:
    """With y = de · u (1 − u): dq += y, dk += 4 v y, dv += de · u. `_finish_back` adds factors 4 v and −2."""
    four = shares.dtype.type(4)
    for a in range(len(shares)):
        weighted = d_energy * shares[a]
        change = weighted - weighted * shares[a]
        d_query[a] += change
        d_vector[a] += weighted
        d_key[a] += four * vector[a] * change


@reduction
def _spread_two(
    d_energy: Any, d_second: Any, query: Array, key: Array, other: Array, vector: Array,
    d_query: Array, d_key: Array, d_other: Array, d_vector: Array,
) -> None:  # fmt: skip
    """As `_spread`, for two positions; also computes their u."""
    one, four = query.dtype.type(1), query.dtype.type(4)
    for a in range(len(query)):
        x, y = one + query[a] * key[a], one + query[a] * other[a]
        inverse = one / (x * y)
        share, share_of_other = inverse * y, inverse * x
        weighted, weighted_other = d_energy * share, d_second * share_of_other
        change = weighted - weighted * share
        change_of_other = weighted_other - weighted_other * share_of_other
        d_query[a] += change + change_of_other
        d_vector[a] += weighted + weighted_other
        d_key[a] += four * vector[a] * change
        d_other[a] += four * vector[a] * change_of_other


@inlined
def compare(
    query: Array, memories: Memories, row: int, looks: Array, before: int, scratch: Array, nearby: Nearby,
    found: Array,
) -> None:  # fmt: skip
    """Write −½ (e − Σ v) of each position: v · u, as e = Σ v − 2 v · u; or −½ q · k, or −½ (q + k).

    looks[before] (S) are the weights of the previous step; before < 0: there is none.
    """
    places, count = memories.places[row], memories.counts[row]
    found[:] = 0
    half = query.dtype.type(-0.5)
    if memories.score == DOT:
        for j in range(count):
            found[places[j]] = half * dot(query, memories.keys[row, places[j]])
    elif memories.score == LINEAR:
        for j in range(count):
            found[places[j]] = half * (query[0] + memories.keys[row, places[j], 0])
    elif len(memories.location.filters) == 0:
        _compare_additive(query, memories, row, scratch, found)
    else:
        look_near(memories.location, looks, before, memories.keys[row], nearby)
        for j in range(count):
            _slow_shares(query, nearby.near[places[j]], scratch[1])
            found[places[j]] = dot(memories.vector, scratch[1])


@inlined
def _compare_additive(query: Array, memories: Memories, row: int, scratch: Array, found: Array) -> None:
    places, count, vector = memories.places[row], memories.counts[row], memories.vector
    grown, shares = scratch[0], scratch[1]
    slow = _grow(query, grown) or memories.extreme[row]
    keys = memories.grown[row]
    j = 0
    while j + 1 < count and not slow:
        one, other = places[j], places[j + 1]
        found[one], found[other] = _two_energies(grown, keys[one], keys[other], vector)
        j += 2
    while j < count:
        place = places[j]
        if slow:
            _slow_shares(query, memories.keys[row, place], shares)
        else:
            _shares(grown, keys[place], shares)
        found[place] = dot(vector, shares)
        j += 1


@reduction
def _sum_of(choice: Choice, local: Array, count: int) -> Any:
    """Σ de, which is 0 behind a softmax."""
    total = local.dtype.type(0)
    if choice.kind == SOFTMAX:
        return total
    for j in range(count):
        total += local[j]
    return total


class FeatureGradients(NamedTuple):
    """Gradients of a comparison. Those of the query (A) and of the previous look (S) are written; those of
    the keys (S, A), the score's vector (A), and the filters and weight of a location are added to (see
    `location`)."""

    query: Array
    keys: Array
    vector: Array
    filters: Array
    place: Array
    look: Array


@reduction
def compare_back(
    query: Array, memories: Memories, row: int, looks: Array, before: int, scratch: Array, nearby: Nearby,
    local: Array, d: FeatureGradients,
) -> None:  # fmt: skip
    """Backward from the gradients of the energies, local (S), which are indexed by `places`."""
    places, count = memories.places[row], memories.counts[row]
    d.query[:] = 0
    if memories.score == DOT:
        for j in range(count):
            add(d.query, local[j], memories.keys[row, places[j]])
            add(d.keys[places[j]], local[j], query)
    elif memories.score == LINEAR:
        for j in range(count):
            d.query[0] += local[j]
            d.keys[places[j], 0] += local[j]
    else:
        _features_back(query, memories, row, looks, before, scratch, nearby, local, d)


@reduction
def _features_back(
    query: Array, memories: Memories, row: int, looks: Array, before: int, scratch: Array, nearby: Nearby,
    local: Array, d: FeatureGradients,
) -> None:  # fmt: skip
    """de/dq = 4 v u (1 − u);  dv = Σ de (1 − 2u), of which Σ de is 0 behind a softmax."""
    gathered, count, vector = scratch[2], memories.counts[row], memories.vector
    gathered[:] = 0
    if len(memories.location.filters) == 0:
        _additive_back(query, memories, row, scratch, local, d.query, d.keys, gathered)
    else:
        look_near(memories.location, looks, before, memories.keys[row], nearby)
        places = memories.places[row]
        for j in range(count):
            near = nearby.near[places[j]]
            _slow_shares(query, near, scratch[1])
            near[:] = 0
            _spread(local[j], scratch[1], vector, d.query, near, gathered)
            add(d.keys[places[j]], near.dtype.type(1), near)
        gather_near(memories.location, looks, before, places, count, nearby, d.filters, d.place, d.look)
    _finish_back(vector, _sum_of(memories.choice, local, count), gathered, d.query, d.vector)


@reduction
def _finish_back(vector: Array, total: Any, gathered: Array, d_query: Array, d_vector: Array) -> None:
    four, two = vector.dtype.type(4), vector.dtype.type(2)
    for a in range(len(d_query)):
        d_query[a] *= four * vector[a]
        d_vector[a] += total - two * gathered[a]


@reduction
def _additive_back(
    query: Array, memories: Memories, row: int, scratch: Array, local: Array, d_query: Array, d_keys: Array,
    gathered: Array,
) -> None:  # fmt: skip
    grown, shares = scratch[0], scratch[1]
    slow = _grow(query, grown) or memories.extreme[row]
    places, count, vector = memories.places[row], memories.counts[row], memories.vector
    keys = memories.grown[row]
    j = 0
    while j + 1 < count and not slow:
        one, other = places[j], places[j + 1]
        _spread_two(
            local[j], local[j + 1], grown, keys[one], keys[other], vector,
            d_query, d_keys[one], d_keys[other], gathered,
        )  # fmt: skip
        j += 2
    while j < count:
        place = places[j]
        if slow:
            _slow_shares(query, memories.keys[row, place], shares)
        else:
            _shares(grown, keys[place], shares)
        _spread(local[j], shares, vector, d_query, d_keys[place], gathered)
        j += 1
