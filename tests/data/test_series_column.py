"""Series of vectors from arrays, texts and skeleton files; their learned statistics and augmentation."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from regard.data import Dataset, read_rows
from regard.data.arrays import array_uri
from regard.data.columns import SeriesColumn, column_from_state
from regard.data.contents import Unreadable
from regard.data.variation import SeriesVariation, read_at, rotation
from regard.errors import RegardError

RAMP = np.arange(12.0).reshape(6, 2)


def written(path: Path, content: str) -> str:
    path.parent.mkdir(exist_ok=True)
    path.write_text(content)
    return str(path)


def skeleton(frames: int, *, spoil: dict[tuple[int, int, int], float] | None = None) -> str:
    """Joint j of frame t at column 160 + j, row 120 + t, depth 285, which is x = j, y = t, z = 285."""
    numbers = np.zeros((frames, 20, 4))
    numbers[..., 0] = 160 + np.arange(20)
    numbers[..., 1] = 120 + np.arange(frames)[:, None]
    numbers[..., 2] = 285
    numbers[..., 3] = 1
    for place, number in (spoil or {}).items():
        numbers[place] = number
    return "\n".join(" ".join(f"{number:.7e}" for number in line) for line in numbers.reshape(-1, 4))


def test_arrays_texts_and_tables_hold_the_same(tmp_path: Path) -> None:
    column = SeriesColumn("series")
    np.save(tmp_path / "a.npy", RAMP)
    lines = [" ".join(map(str, vector)) for vector in RAMP]
    table = "left,right\n" + "\n".join(line.replace(" ", ",") for line in lines)
    for value in (
        array_uri(RAMP),
        array_uri(RAMP.reshape(6, 1, 2)),
        str(tmp_path / "a.npy"),
        written(tmp_path / "a.txt", "\n".join(lines) + "\n\n"),
        written(tmp_path / "a.csv", table),
    ):
        encoded = column.encode(value)
        assert encoded.dtype == np.float32 and np.array_equal(encoded, RAMP)


def test_mean_and_spread_are_those_of_training() -> None:
    column = SeriesColumn("series")
    flat = np.concatenate([RAMP, np.full((6, 1), 7.0)], 1)
    moved = flat + np.array([2.0, 0.0, 0.0])
    column.learn([array_uri(flat), array_uri(moved), "missing.npy"])
    both = np.concatenate([column.encode(array_uri(flat)), column.encode(array_uri(moved))])
    assert np.allclose(both.mean(0), 0, atol=1e-6) and np.allclose(both.std(0), [1, 1, 0], atol=1e-6)
    assert column.width == 3
    again = column_from_state(column.state())
    assert np.array_equal(again.encode(array_uri(flat)), column.encode(array_uri(flat)))
    with pytest.raises(Unreadable, match="2 features, expected 3 as in training"):
        column.encode(array_uri(RAMP))


def test_a_longer_series_is_read_at_even_times() -> None:
    line = np.arange(101.0)[:, None]
    assert SeriesColumn("series", most=5).encode(array_uri(line)).ravel().tolist() == [0, 25, 50, 75, 100]
    assert len(SeriesColumn("series", most=101).encode(array_uri(line))) == 101


def test_velocities_stand_beside() -> None:
    encoded = SeriesColumn("series", velocities=True).encode(array_uri(RAMP**2))
    assert encoded.shape == (6, 4)
    assert np.array_equal(encoded[1:, 2:], np.diff(RAMP**2, axis=0)) and not encoded[0, 2:].any()


def test_points_are_measured_from_the_origin_in_the_unit() -> None:
    points = np.array([[[1.0, 1.0], [4.0, 5.0], [1.0, 3.0]]] * 3)  # (T, 3 points, 2)
    column = SeriesColumn("series", points=2, origin=0, unit=(0, 1))
    moved = points + np.array([0.0, 5.0, 9.0])[:, None, None]  # the whole figure moves
    for value in (points, moved, 10 * points):
        encoded = column.encode(array_uri(value)).reshape(3, 3, 2)
        assert np.allclose(encoded, [[0, 0], [0.6, 0.8], [0, 0.4]])  # the unit has length 5


def test_skeletons_stand_where_pixel_and_depth_say(tmp_path: Path) -> None:
    value = written(tmp_path / "a01_s02_e03_skeleton.txt", skeleton(4))
    encoded = SeriesColumn("series").encode(value).reshape(4, 20, 3)
    assert np.allclose(encoded[..., 0], np.arange(20))
    assert np.allclose(encoded[..., 1], np.arange(4)[:, None])
    assert np.allclose(encoded[..., 2], 285)


def test_lost_persons_are_left_out_and_lost_joints_drawn_in(tmp_path: Path) -> None:
    lost = {(1, joint, number): 0.0 for joint in range(20) for number in range(4)}
    value = written(
        tmp_path / "a01_s02_e03_skeleton.txt", skeleton(5, spoil={**lost, (3, 7, 1): 2147483648.0})
    )
    encoded = SeriesColumn("series").encode(value).reshape(4, 20, 3)
    assert np.allclose(encoded[:, 0, 1], [0, 2, 3, 4])  # frame 1 is dropped
    assert np.allclose(encoded[:, 7, 1], [0, 2, 3, 4])  # row 123 is interpolated between 122 and 124


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("a.txt", "1 2\n3 4 5\n", "a.txt', whose line 2 has 3 numbers, expected 2"),
        ("a.csv", "x,y\n1,2\n3,four\n", "a.csv', whose line 3 is not a vector of numbers: '3,four'"),
        ("a.txt", "\n \n", "a.txt', a text without vectors"),
        ("a.txt", "", "a.txt', which is empty"),
        ("a.txt", "1 nan\n", "not finite"),
        ("a01_s01_e01_skeleton.txt", "1 2 3\n", "a skeleton file of 3 numbers, expected 20 joints"),
        ("a01_s01_e01_skeleton.txt", "0 " * 80, "whose frames show no person"),
        ("a01_s01_e01_skeleton.txt", "one two", "not a skeleton file"),
    ],
)
def test_what_cannot_be_used_is_named(tmp_path: Path, name: str, content: str, words: str) -> None:
    with pytest.raises(Unreadable) as error:
        SeriesColumn("series").encode(written(tmp_path / name, content))
    assert words in error.value.reason


def test_arrays_that_are_no_series() -> None:
    column = SeriesColumn("series", points=3)
    for array, words in (
        (np.zeros(3), "expected numbers"),
        (np.zeros((0, 3)), "without vectors"),
        (np.array([["a"]]), "expected numbers"),
        (np.zeros((2, 4)), "expected points of 3 coordinates"),
    ):
        with pytest.raises(Unreadable, match=words):
            column.encode(array_uri(array))


def test_batches_and_what_a_figure_sees() -> None:
    column = SeriesColumn("series")
    collated = column.collate([column.encode(array_uri(RAMP)), column.encode(array_uri(RAMP[:2]))])
    assert collated.values.shape == (2, 6, 2) and collated.lengths.tolist() == [6, 2]
    assert not collated.values[1, 2:].any()
    assert np.array_equal(column.seen(collated, 1).values, RAMP[:2])
    assert column.readable(collated)[1] == ["frame 1", "frame 2"]
    assert np.array_equal(column.encode(column.written(RAMP.tolist())), RAMP)


def test_turns_keep_lengths_and_stretches_do_not() -> None:
    generator = np.random.default_rng(1)
    points = generator.normal(size=(5, 4 * 3))
    turned = SeriesVariation(rotate=40).points(points, 3, generator)

    def distances(values: np.ndarray) -> np.ndarray:
        each = values.reshape(5, 4, 3)
        return np.linalg.norm(each[:, :, None] - each[:, None], axis=-1)

    assert np.allclose(distances(turned), distances(points)) and not np.allclose(turned, points)
    stretched = SeriesVariation(scale=0.2).points(points, 3, generator)
    assert np.allclose(np.ptp((stretched / points).reshape(5, 4, 3), axis=(0, 1)), 0)
    for dimensions in (2, 3):
        matrix = rotation(dimensions, 1.0, generator)
        assert np.allclose(matrix @ matrix.T, np.eye(dimensions)) and np.linalg.det(matrix) > 0


def test_times_stay_within_the_series_and_in_order() -> None:
    generator = np.random.default_rng(1)
    variation = SeriesVariation(crop=0.2, speed=0.5, warp=0.5)
    counts = set()
    for _ in range(50):
        times = variation.times(40, 48, generator)
        counts.add(len(times))
        assert 0 <= times[0] <= 0.2 * 39 and 0.8 * 39 <= times[-1] <= 39 and (np.diff(times) > 0).all()
    assert max(counts) <= 48 and min(counts) < 30 < max(counts)
    assert np.allclose(SeriesVariation().times(7, 48, generator), np.arange(7))
    assert np.allclose(read_at(RAMP, np.array([0.0, 0.5, 5.0])), [RAMP[0], [1, 2], RAMP[5]])
    column = SeriesColumn("series", most=30, augment={"crop": 0.2, "speed": 0.5, "noise": 0.1})
    first, second = (column.varied(array_uri(RAMP), np.random.default_rng(seed)) for seed in (1, 2))
    assert first.shape != second.shape or not np.allclose(first, second)
    assert np.array_equal(first, column.varied(array_uri(RAMP), np.random.default_rng(1)))


def test_a_folder_of_skeleton_files(tmp_path: Path) -> None:
    for name in ("a02_s10_e01", "a01_s03_e02"):
        written(tmp_path / f"{name}_skeleton.txt", skeleton(2))
    written(tmp_path / "README.md", "about")
    rows = list(read_rows(tmp_path, fields=["series", "action", "subject"], format="skeletons"))
    assert [(row["action"], row["subject"], row["episode"]) for row in rows] == [
        ("1", "3", "2"),
        ("2", "10", "1"),
    ]
    dataset = Dataset.build(
        read_rows(tmp_path, fields=["series"], format="skeletons"), [SeriesColumn("series")]
    )
    assert dataset[0]["series"].shape == (2, 60) and len(dataset) == 2
    with pytest.raises(RegardError, match="but no label"):
        list(read_rows(tmp_path, fields=["series", "label"], format="skeletons"))
    with pytest.raises(RegardError, match="no skeleton files"):
        (tmp_path / "other").mkdir()
        list(read_rows(tmp_path / "other", fields=["series"], format="skeletons"))
    with pytest.raises(RegardError, match="expected a folder"):
        list(read_rows(tmp_path / "README.md", fields=["series"], format="skeletons"))
