"""Batches: limits, determinism, resuming, and splitting between processes."""

from __future__ import annotations

import time
from itertools import chain, pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from regard.data import Batch, Batches, Column, Dataset, Row, TextColumn
from regard.errors import RegardError


def dataset_of(lengths: list[tuple[int, int]]) -> Dataset:
    rows = [Row({"source": "a " * s, "target": "b " * t}) for s, t in lengths]
    columns: list[Column] = []
    for name in ("source", "target"):
        column = TextColumn(name)
        column.learn(["a b"])
        columns.append(column)
    return Dataset.build(rows, columns)


def random_dataset(size: int, seed: int = 0) -> Dataset:
    generator = np.random.default_rng(seed)
    source = generator.integers(1, 30, size)
    return dataset_of([(int(n), int(n + generator.integers(0, 4))) for n in source])


def same(one: Batch, other: Batch) -> bool:
    return one.rows == other.rows and all((one[name].ids == other[name].ids).all() for name in one.columns)


LENGTHS = st.lists(st.tuples(st.integers(1, 12), st.integers(1, 12)), min_size=1, max_size=40)


@given(LENGTHS, st.integers(1, 40), st.none() | st.integers(1, 8), st.booleans(), st.integers(0, 3))
@settings(max_examples=80, deadline=None)
def test_every_row_comes_once_and_no_batch_exceeds_its_limits(
    lengths: list[tuple[int, int]], cost: int, rows: int | None, shuffle: bool, epoch: int
) -> None:
    batches = Batches(dataset_of(lengths), cost=cost, rows=rows, seed=3, shuffle=shuffle)
    found = list(batches.epoch(epoch))
    assert sorted(chain.from_iterable(batch.rows for batch in found)) == list(range(len(lengths)))
    assert len(found) == batches.count(epoch)
    for batch in found:
        padded = len(batch) * max(max(lengths[row]) for row in batch.rows)
        assert batch.cost == padded
        assert padded <= cost or len(batch) == 1
        assert rows is None or len(batch) <= rows


@given(LENGTHS, st.integers(1, 60))
@settings(max_examples=50, deadline=None)
def test_sorted_batches_are_as_large_as_they_may_be(lengths: list[tuple[int, int]], cost: int) -> None:
    found = list(Batches(dataset_of(lengths), cost=cost, shuffle=False))
    longest = [[max(lengths[row]) for row in batch.rows] for batch in found]
    assert list(chain.from_iterable(longest)) == sorted(max(pair) for pair in lengths)
    for batch, following in pairwise(longest):
        assert (len(batch) + 1) * following[0] > cost


def test_epochs_are_determined_by_seed_and_number_alone() -> None:
    dataset = random_dataset(300)
    one, two = (Batches(dataset, cost=200, seed=5) for _ in range(2))
    list(two.epoch(7))
    assert all(same(a, b) for a, b in zip(one.epoch(2), two.epoch(2), strict=True))
    assert [b.rows for b in one.epoch(2)] != [b.rows for b in one.epoch(3)]
    assert [b.rows for b in one.epoch(2)] != [b.rows for b in Batches(dataset, cost=200, seed=6).epoch(2)]


def test_resuming_in_the_middle_equals_going_on() -> None:
    batches = Batches(random_dataset(300), rows=16, seed=1)
    whole = list(batches.epoch(4))
    for start in (0, 1, 7, len(whole)):
        resumed = list(Batches(batches.dataset, rows=16, seed=1).epoch(4, start=start))
        assert len(resumed) == len(whole) - start
        assert all(same(a, b) for a, b in zip(resumed, whole[start:], strict=True))


@pytest.mark.parametrize("world_size", [2, 3])
def test_processes_share_the_batches_of_one(world_size: int) -> None:
    dataset = random_dataset(200)
    alone = list(Batches(dataset, cost=150, seed=2).epoch(1))
    shared = Batches(dataset, cost=150, seed=2, world_size=world_size)
    parts = [list(shared.epoch(1, rank=rank)) for rank in range(world_size)]
    assert {len(part) for part in parts} == {len(alone)}
    for number, batch in enumerate(alone):
        rows = [row for part in parts for row in part[number].rows if not part[number].idle]
        assert sorted(rows) == sorted(batch.rows)
        sizes = [len(part[number]) for part in parts]
        assert max(sizes) - min(sizes) <= 1


def test_a_rank_without_rows_is_idle_but_takes_the_step() -> None:
    dataset = dataset_of([(9, 9), (1, 1)])
    batches = Batches(dataset, cost=5, seed=0, world_size=2)
    first, second = list(batches.epoch(0, rank=0)), list(batches.epoch(0, rank=1))
    assert [batch.idle for batch in first] == [False, False]
    assert [batch.idle for batch in second] == [True, True]
    assert [batch.rows for batch in second] == [batch.rows for batch in first]
    assert second[0].to("cpu").idle


def test_shuffling_mixes_what_is_sorted_together() -> None:
    dataset = random_dataset(4000)
    batches = Batches(dataset, rows=8, seed=0)
    plan = batches.plan(0)
    costs = dataset.costs
    padding = sum(len(part) * costs[part].max() for part in plan) / costs.sum()
    assert padding < 1.1
    together = [{frozenset(part.tolist()) for part in batches.plan(epoch)} for epoch in (0, 1)]
    assert not together[0] & together[1]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "neither cost nor rows limits a batch"),
        ({"cost": 0}, "cost is 0, expected at least 1"),
        ({"rows": -1}, "rows is -1"),
        ({"rows": 1, "world_size": 0}, "world_size is 0"),
    ],
)
def test_limits_that_cannot_be(options: dict[str, int], message: str) -> None:
    with pytest.raises(RegardError, match=message):
        Batches(random_dataset(3), **options)


def test_rank_must_be_one_of_the_world() -> None:
    with pytest.raises(RegardError, match="rank is 2, expected 0 to 1"):
        next(Batches(random_dataset(3), rows=1, world_size=2).epoch(0, rank=2))


def test_planning_and_collating_are_fast() -> None:
    """Half a second for an epoch of 100,000 rows, a millisecond for a batch of 64; best of several."""
    dataset = random_dataset(5000)
    many = dataset.subset(np.tile(np.arange(5000), 20))
    batches = Batches(many, cost=1200)
    plans, makes = [], []
    for epoch in range(3):
        start = time.perf_counter()
        batches.plan(epoch)
        plans.append(time.perf_counter() - start)
    for part in Batches(many, rows=64).plan(0)[:50]:
        start = time.perf_counter()
        many.batch(part)
        makes.append(time.perf_counter() - start)
    assert min(plans) < 0.5
    assert min(makes) < 1e-3
