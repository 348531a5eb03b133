"""Videos from folders, arrays and video files: choice of frames, pixel values, and errors."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

from regard.data.arrays import array_from_uri, array_uri
from regard.data.columns import VideoColumn, column_from_state
from regard.data.contents import Unreadable


def gray(level: int, *, height: int = 16, width: int = 16) -> np.ndarray:
    return np.full((height, width, 3), level, dtype=np.uint8)


def film(*levels: int) -> np.ndarray:
    """(T, 16, 16, 3): each frame has one gray level, so that its mean identifies it."""
    return np.stack([gray(level) for level in levels])


def folder_of(path: Path, pictures: dict[str, np.ndarray]) -> str:
    path.mkdir()
    for name, pixels in pictures.items():
        Image.fromarray(pixels).save(path / name)
    return str(path)


def film_file(path: Path, frames: np.ndarray) -> str:
    av = pytest.importorskip("av")
    with av.open(str(path), "w") as output:
        stream = output.add_stream("mpeg4", rate=10)
        stream.height, stream.width, stream.pix_fmt, stream.bit_rate = *frames.shape[1:3], "yuv420p", 10**6
        for pixels in frames:
            for packet in stream.encode(av.VideoFrame.from_ndarray(pixels, format="rgb24")):
                output.mux(packet)
        for packet in stream.encode():
            output.mux(packet)
    return str(path)


def levels(encoded: np.ndarray) -> list[int]:
    return [round(float(frame.mean())) for frame in encoded]


def test_a_folder_in_the_order_of_its_numbers(tmp_path: Path) -> None:
    pictures = {f"{number}.png": gray(10 * number) for number in (1, 2, 10, 3)}
    value = folder_of(tmp_path / "film", pictures)
    (tmp_path / "film" / "notes.txt").write_text("not a frame")
    column = VideoColumn("film", size=8)
    assert levels(column.encode(value)) == [10, 20, 30, 100]
    assert column.encode(value).shape == (4, 8, 8, 3)


def test_evenly_chosen_frames_of_a_long_film() -> None:
    value = array_uri(film(*range(100)))
    # the middle frames of four equal parts of 100 frames
    assert levels(VideoColumn("film", size=16, frames=4).encode(value)) == [12, 37, 62, 87]
    assert levels(VideoColumn("film", size=16, frames=200).encode(value)) == list(range(100))


def test_frames_of_different_sizes_come_onto_one_canvas(tmp_path: Path) -> None:
    pictures = {"a.png": gray(50, height=10, width=30), "b.jpg": gray(100), "c.png": gray(150, height=40)}
    encoded = VideoColumn("film", size=(8, 12)).encode(folder_of(tmp_path / "film", pictures))
    assert encoded.shape == (3, 8, 12, 3) and levels(encoded) == [50, 100, 150]


@pytest.mark.parametrize("name", ["film.npy", "film.npz"])
def test_arrays_in_files(tmp_path: Path, name: str) -> None:
    save = np.save if name.endswith("npy") else np.savez_compressed
    save(tmp_path / name, film(20, 40))
    assert levels(VideoColumn("film", size=16).encode(str(tmp_path / name))) == [20, 40]


def test_gray_arrays_and_gray_columns() -> None:
    flat = film(20, 40)[..., 0]
    assert VideoColumn("film", size=16).encode(array_uri(flat)).shape == (2, 16, 16, 3)
    colors = film(0)
    colors[..., 0] = 255
    encoded = VideoColumn("film", size=16, color="gray").encode(array_uri(colors))
    assert encoded.shape == (1, 16, 16, 1) and levels(encoded) == [76]  # 0.299 of red


def test_a_film_file(tmp_path: Path) -> None:
    value = film_file(tmp_path / "film.avi", np.stack([gray(25 * step) for step in range(1, 9)]))
    column = VideoColumn("film", size=16)
    assert np.allclose(levels(column.encode(value)), [25 * step for step in range(1, 9)], atol=4)
    some = VideoColumn("film", size=16, frames=2).encode(value)
    assert np.allclose(levels(some), [75, 175], atol=4)  # frames 2 and 6, from 0
    assert levels(column.encode(column.written(Path(value).read_bytes()))) == levels(column.encode(value))


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda folder: array_uri(film(1)[:0]), "a video without frames"),
        (lambda folder: array_uri(film(1) / 255.0), "array of float64"),
        (lambda folder: array_uri(gray(1)[0]), "expected bytes"),
        (lambda folder: str(folder / "missing"), "missing', but there is no such file"),
        (
            lambda folder: folder_of(folder / "empty", {}),
            "empty', a folder without images: it contains nothing",
        ),
        (
            lambda folder: _written(folder / "broken.mp4", b"this is no film" * 20),
            "broken.mp4', which is not a video",
        ),
        (lambda folder: _written(folder / "nothing.mp4", b""), "nothing.mp4', which is empty"),
        (
            lambda folder: _written(folder / "cut.npy", b"\x93NUMPY\x01\x00"),
            "cut.npy', which contains no numpy array",
        ),
        (lambda folder: "data:application/x-npy+gzip;base64,AAAA", "cannot be unpacked"),
    ],
)
def test_what_cannot_be_used_is_named(tmp_path: Path, make, words: str) -> None:
    pytest.importorskip("av")
    with pytest.raises(Unreadable) as error:
        VideoColumn("film").encode(make(tmp_path))
    assert words in error.value.reason


def _written(path: Path, content: bytes) -> str:
    path.write_bytes(content)
    return str(path)


def test_a_film_file_cut_short_is_named(tmp_path: Path) -> None:
    whole = Path(
        film_file(tmp_path / "film.mp4", np.stack([gray(9 * step) for step in range(20)]))
    ).read_bytes()
    cut = _written(tmp_path / "cut.mp4", whole[: len(whole) // 2])
    with pytest.raises(Unreadable, match=r"cut\.mp4"):
        VideoColumn("film").encode(cut)


def test_a_film_with_sound_alone(tmp_path: Path) -> None:
    soundfile = pytest.importorskip("soundfile")
    pytest.importorskip("av")
    soundfile.write(tmp_path / "sound.wav", np.zeros(800), 8000)
    with pytest.raises(Unreadable, match="a file that contains no video"):
        VideoColumn("film").encode(str(tmp_path / "sound.wav"))


def test_a_broken_frame_is_named(tmp_path: Path) -> None:
    value = folder_of(tmp_path / "film", {"1.png": gray(1), "2.png": gray(2)})
    (tmp_path / "film" / "2.png").write_bytes(b"not a picture")
    with pytest.raises(Unreadable, match=r"2\.png"):
        VideoColumn("film").encode(value)


def test_batches_and_what_a_figure_sees() -> None:
    column = VideoColumn("film", size=16)
    collated = column.collate([film(10, 20, 30), film(40)])
    assert collated.frames.shape == (2, 3, 3, 16, 16) and collated.frames.dtype == torch.uint8
    assert collated.mask.tolist() == [[True, True, True], [True, False, False]]
    assert not collated.frames[1, 1:].any()
    assert (
        levels(column.seen(collated, 0).frames) == [10, 20, 30] and len(column.seen(collated, 1).frames) == 1
    )
    assert column.readable(collated) == [["frame 1", "frame 2", "frame 3"], ["frame 1"]]
    assert column.cost(film(1, 2, 3)) == 3 * 4


def test_all_frames_are_varied_in_the_same_way() -> None:
    frames = np.zeros((3, 16, 16, 3), dtype=np.uint8)
    frames[:, :, :8] = 200
    column = VideoColumn("film", size=16, augment={"flip": True, "crop": 0.0, "color": 0.0})
    mirrored = [
        column.varied(array_uri(frames), np.random.default_rng(seed))[:, 0, 0, 0].tolist()
        for seed in range(20)
    ]
    assert [0, 0, 0] in mirrored and [200, 200, 200] in mirrored
    assert all(left in ([0, 0, 0], [200, 200, 200]) for left in mirrored)
    assert np.array_equal(column.encode(array_uri(frames)), frames)


def test_values_of_a_program_and_state(tmp_path: Path) -> None:
    column = VideoColumn("film", size=16, frames=9)
    assert column.written(tmp_path) == str(tmp_path)
    assert np.array_equal(array_from_uri(column.written(film(1, 2))), film(1, 2))
    assert levels(column.encode(column.written([Image.fromarray(frame) for frame in film(7, 8)]))) == [7, 8]
    folder_of(tmp_path / "film", {"1.png": gray(1)})
    assert column.located("film", str(tmp_path / "rows.tsv")) == str(tmp_path / "film")
    again = column_from_state(column.state())
    assert again.state() == column.state()


def test_arrays_without_gzip() -> None:
    stream = io.BytesIO()
    np.save(stream, film(3))
    from regard.data.contents import data_uri

    value = data_uri(stream.getvalue(), "application/x-npy")
    assert levels(VideoColumn("film", size=16).encode(value)) == [3]
