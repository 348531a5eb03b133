"""One image from its bytes to a canvas: known pixels in, known pixels out."""

from __future__ import annotations

import io
import os
import struct
import zipfile
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from regard.data.augmentation import Augmentation, recolored
from regard.data.contents import Contents, Unreadable, data_uri
from regard.data.image import on_canvas, open_picture

RED, GREEN, BLUE, WHITE, BLACK = (255, 0, 0), (0, 255, 0), (0, 0, 255), (255, 255, 255), (0, 0, 0)


def saved(picture: Image.Image, format: str = "PNG", **options: Any) -> bytes:
    file = io.BytesIO()
    picture.save(file, format, **options)
    return file.getvalue()


def decoded(content: bytes, size: tuple[int, int], **options: Any) -> np.ndarray:
    return on_canvas(open_picture(content, "names 'a'"), size, **options)


def chunk(kind: bytes, content: bytes) -> bytes:
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))


def png(width: int, height: int, depth: int, kind: int, lines: bytes) -> bytes:
    """A PNG written by hand: kind 0 gray, 2 RGB, 4 gray + alpha; lines without their filter bytes."""
    stride = len(lines) // height
    filtered = b"".join(b"\0" + lines[row * stride : (row + 1) * stride] for row in range(height))
    header = struct.pack(">IIBBBBB", width, height, depth, kind, 0, 0, 0)
    parts = chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(filtered)) + chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + parts


def test_pixels_come_out_as_they_went_in() -> None:
    pixels = np.arange(2 * 3 * 3, dtype=np.uint8).reshape(2, 3, 3)
    assert (decoded(saved(Image.fromarray(pixels)), (2, 3)) == pixels).all()


def test_sixteen_bits_are_scaled_not_clipped() -> None:
    values = [0, 256, 257, 32768, 65279, 65535]
    content = png(6, 1, 16, 0, struct.pack(">6H", *values))
    expected = [round(value * 255 / 65535) for value in values]
    assert decoded(content, (1, 6), color="gray")[0, :, 0].tolist() == expected == [0, 1, 1, 128, 254, 255]


def test_sixteen_bits_of_color_are_scaled_too() -> None:
    content = png(1, 1, 16, 2, struct.pack(">3H", 65535, 32768, 0))
    assert decoded(content, (1, 1))[0, 0].tolist() == [255, 128, 0]


def test_gray_becomes_three_equal_channels_and_color_its_luminance() -> None:
    gray = saved(Image.new("L", (2, 2), 77))
    assert decoded(gray, (2, 2)).tolist() == [[[77] * 3] * 2] * 2
    # ITU-R 601: 0.299 · 255 = 76.2
    assert decoded(saved(Image.new("RGB", (1, 1), RED)), (1, 1), color="gray").tolist() == [[[76]]]


def test_transparency_is_laid_over_white() -> None:
    picture = Image.new("RGBA", (3, 1))
    for place, pixel in enumerate([(*RED, 255), (*RED, 0), (*BLACK, 51)]):
        picture.putpixel((place, 0), pixel)
    # 51 / 255 = a fifth of black over white: 204
    assert decoded(saved(picture), (1, 3)).tolist() == [[[255, 0, 0], [255, 255, 255], [204, 204, 204]]]


def test_gray_with_alpha_and_a_palette_with_a_clear_color() -> None:
    content = png(2, 1, 8, 4, bytes([0, 255, 0, 0]))
    assert decoded(content, (1, 2), color="gray").tolist() == [[[0], [255]]]
    picture = Image.new("P", (2, 1))
    picture.putpalette([*RED, *GREEN])
    picture.putpixel((1, 0), 1)
    assert decoded(saved(picture, transparency=1), (1, 2)).tolist() == [[list(RED), list(WHITE)]]


@pytest.mark.parametrize(
    ("mode", "color", "expected"), [("1", 1, WHITE), ("CMYK", (0, 255, 255, 0), RED), ("P", 0, BLACK)]
)
def test_other_modes_become_the_colors_they_stand_for(mode: str, color: Any, expected: Any) -> None:
    picture = Image.new(mode, (8, 8), color)
    found = decoded(saved(picture, "TIFF" if mode == "CMYK" else "PNG"), (8, 8))
    assert found[4, 4].tolist() == list(expected)


@pytest.mark.parametrize(
    ("orientation", "corner"),
    [(1, (0, 0)), (2, (0, 1)), (3, (1, 1)), (4, (1, 0)), (5, (0, 0)), (6, (0, 1)), (7, (1, 1)), (8, (1, 0))],
)
def test_exif_orientation(orientation: int, corner: tuple[int, int]) -> None:
    """A red mark in the upper left corner of the file must appear where EXIF 2.3 puts row 0, column 0."""
    picture = Image.new("RGB", (32, 16), WHITE)
    picture.paste(RED, (0, 0, 8, 8))
    exif = Image.Exif()
    exif[0x0112] = orientation
    upright = open_picture(saved(picture, "JPEG", exif=exif, quality=95), "names 'a'")
    assert upright.size == ((32, 16) if orientation < 5 else (16, 32))
    place = (2 if corner[1] == 0 else upright.width - 3, 2 if corner[0] == 0 else upright.height - 3)
    red, green, blue = upright.getpixel(place)  # type: ignore[misc]
    assert red > 200 and green < 60 and blue < 60


def test_fit() -> None:
    """An image of 4 × 2, left half red, right half blue, on a canvas of 4 × 4."""
    picture = Image.new("RGB", (4, 2), RED)
    picture.paste(BLUE, (2, 0, 4, 2))
    content = saved(picture)
    red, blue, white = list(RED), list(BLUE), list(WHITE)
    assert decoded(content, (4, 4), fit="stretch").tolist() == [[red, red, blue, blue]] * 4
    padded = [[white] * 4, [red, red, blue, blue], [red, red, blue, blue], [white] * 4]
    assert decoded(content, (4, 4), fit="pad").tolist() == padded
    kept = [[red, red, blue, blue] + [white] * 2] * 2
    assert decoded(content, (2, 6), fit="keep").tolist() == kept
    smaller = decoded(content, (1, 6), fit="keep").tolist()[0]  # half the size, so its colors mix a little
    assert smaller[2:] == [white] * 4 and smaller[0][0] > 200 and smaller[1][2] > 200
    middle = decoded(content, (2, 2), fit="crop").tolist()
    assert middle == [[red, blue]] * 2


def test_shrinking_takes_the_mean_of_what_it_covers() -> None:
    checks = np.indices((64, 64)).sum(0) % 2 * 255
    found = decoded(saved(Image.fromarray(checks.astype(np.uint8))), (8, 8), color="gray")
    assert np.abs(found.astype(int) - 127).max() <= 2


def test_a_large_jpeg_decoded_smaller_is_the_same_picture() -> None:
    ramp = np.linspace(0, 255, 800).astype(np.uint8)[None, :, None].repeat(600, 0).repeat(3, 2)
    content = saved(Image.fromarray(ramp), "JPEG", quality=95)
    small = open_picture(content, "names 'a'", at_least=(48, 64))
    assert small.width < 800
    difference = on_canvas(small, (48, 64)).astype(int) - decoded(content, (48, 64))
    assert np.abs(difference).max() <= 3


def test_more_than_a_hundred_million_pixels_are_refused_from_the_header() -> None:
    """The file has no pixel data, so decoding it would raise another error."""
    header = struct.pack(">IIBBBBB", 20_000, 5_001, 8, 2, 0, 0, 0)
    content = b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", b"")
    with (
        pytest.warns(Image.DecompressionBombWarning),
        pytest.raises(
            Unreadable, match=r"names 'a', an image of 20,000 × 5,001 pixels, more than the 100,000,000"
        ),
    ):
        open_picture(content, "names 'a'")
    header = struct.pack(">IIBBBBB", 60_000, 60_000, 8, 2, 0, 0, 0)
    content = b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", b"")
    with pytest.raises(Unreadable, match="more than 100,000,000 pixels"):
        open_picture(content, "names 'a'")


def noise(size: int = 64) -> Image.Image:
    return Image.fromarray(np.random.default_rng(0).integers(0, 256, (size, size, 3), dtype=np.uint8))


@pytest.mark.parametrize("format", ["JPEG", "PNG", "GIF", "BMP"])
def test_a_picture_cut_short(format: str) -> None:
    content = saved(noise(), format)
    with pytest.raises(Unreadable, match="names 'a', an image that is damaged or cut short"):
        open_picture(content[: len(content) // 2], "names 'a'")


@pytest.mark.filterwarnings("ignore")  # the decoders warn about some of these files
@pytest.mark.parametrize("format", ["PNG", "JPEG", "GIF", "BMP", "WEBP", "TIFF", "PPM"])
def test_whatever_is_wrong_with_a_file_it_is_said_in_one_way(format: str) -> None:
    generator, refused = np.random.default_rng(1), 0
    content = saved(noise(24), format)
    for number in range(40):
        damaged = bytearray(content[: generator.integers(1, len(content))] if number % 2 else content)
        for place in generator.integers(0, len(damaged), generator.integers(1, 6)):
            damaged[place] = generator.integers(0, 256)
        try:
            assert decoded(bytes(damaged), (8, 8)).shape == (8, 8, 3)
        except Unreadable as error:
            refused += 1
            assert error.reason.startswith("names 'a', ")
    assert refused >= 15


def test_text_is_no_picture() -> None:
    with pytest.raises(Unreadable, match="not an image that can be read: it begins with b'hello wo'"):
        open_picture(b"hello world", "names 'a.png'")


def test_numbers_of_unknown_range_are_refused() -> None:
    for picture in (Image.new("F", (2, 2), 0.5), Image.fromarray(np.full((2, 2), 70_000, dtype=np.int32))):
        with pytest.raises(Unreadable, match="range is not known"):
            open_picture(saved(picture, "TIFF"), "names 'a'")


def test_contents_of_files_archives_and_data_uris(tmp_path: Path) -> None:
    (tmp_path / "a.bin").write_bytes(b"plain")
    with zipfile.ZipFile(tmp_path / "b.zip", "w") as archive:
        archive.writestr("deep/c.bin", b"packed")
    contents = Contents()
    assert contents.read(str(tmp_path / "a.bin")) == b"plain"
    assert contents.read(str(tmp_path / "b.zip" / "deep" / "c.bin")) == b"packed"
    assert contents.read(data_uri(b"\x00written", "image/png")) == b"\x00written"
    assert contents.read("data:text/plain,a%20b") == b"a b"


def test_contents_that_are_not_there(tmp_path: Path) -> None:
    (tmp_path / "empty.png").write_bytes(b"")
    with zipfile.ZipFile(tmp_path / "b.zip", "w") as archive:
        archive.writestr("c.bin", b"packed")
    contents = Contents()
    for value, words in (
        (str(tmp_path / "none.png"), r"none\.png', but there is no such file"),
        (str(tmp_path / "b.zip" / "none.png"), "no such file"),
        (str(tmp_path / "empty.png"), "which is empty"),
        (str(tmp_path), "a folder, expected a file"),
        ("data:image/png;base64", "without a comma"),
        ("data:image/png;base64,%%%", "is a data URI of image/png whose content is not base64"),
    ):
        with pytest.raises(Unreadable, match=words):
            contents.read(value)


def test_where_a_relative_path_is_looked_for(tmp_path: Path) -> None:
    for folder in ("first", "second"):
        (tmp_path / folder).mkdir()
    (tmp_path / "second" / "a.png").write_bytes(b"x")
    contents = Contents()
    folders = [tmp_path / "first", tmp_path / "second"]
    assert contents.find("a.png", folders) == str(tmp_path / "second" / "a.png")
    (tmp_path / "first" / "a.png").write_bytes(b"x")
    assert contents.find("a.png", folders) == str(tmp_path / "first" / "a.png")
    assert contents.find("b.png", folders) == str(tmp_path / "first" / "b.png"), "where it should have been"
    assert contents.find("data:image/png,x", folders) == "data:image/png,x"


def test_a_stamp_changes_with_the_file(tmp_path: Path) -> None:
    file, contents = tmp_path / "a.png", Contents()
    file.write_bytes(b"one")
    before = contents.stamp(str(file))
    assert contents.stamp(str(file)) == before
    os.utime(file, ns=(1, 1))
    later = contents.stamp(str(file))
    file.write_bytes(b"four")
    assert len({before, later, contents.stamp(str(file)), contents.stamp("gone.png")}) == 4


def test_an_archive_written_anew_is_read_anew(tmp_path: Path) -> None:
    contents = Contents()
    for content in (b"one", b"three"):
        with zipfile.ZipFile(tmp_path / "b.zip", "w") as archive:
            archive.writestr("c", content)
        assert contents.read(str(tmp_path / "b.zip" / "c")) == content


def test_crop_boxes_cut_away_no_more_than_asked_and_lie_inside() -> None:
    varied, generator = Augmentation(crop=0.4), np.random.default_rng(0)
    boxes = np.array([varied.box(generator) for _ in range(2000)])
    widths, heights = boxes[:, 2] - boxes[:, 0], boxes[:, 3] - boxes[:, 1]
    assert boxes.min() >= 0.0 and boxes.max() <= 1.0 + 1e-12
    assert np.allclose(widths, heights)
    assert 0.6 <= widths.min() < 0.61 and 0.99 < widths.max() <= 1.0
    assert abs(widths.mean() - 0.8) < 0.01


def test_flipping_mirrors_left_and_right_every_other_time() -> None:
    pixels = np.arange(6, dtype=np.uint8).reshape(1, 2, 3)
    generator = np.random.default_rng(0)
    found = [Augmentation(flip=True).applied(pixels, generator).tolist() for _ in range(1000)]
    mirrored = [[[3, 4, 5], [0, 1, 2]]]
    assert 450 < found.count(mirrored) < 550
    assert found.count(mirrored) + found.count(pixels.tolist()) == 1000


def test_recoloring_by_hand() -> None:
    pixels = np.array([[[100, 50, 200], [10, 10, 10]]], dtype=np.uint8)
    assert (recolored(pixels, 1.0, 1.0, 1.0) == pixels).all()
    assert recolored(pixels, 2.0, 1.0, 1.0).tolist() == [[[200, 100, 255], [20, 20, 20]]]
    # luminance 0.299 · 100 + 0.587 · 50 + 0.114 · 200 = 82.05
    assert recolored(pixels, 1.0, 1.0, 0.0).tolist() == [[[82, 82, 82], [10, 10, 10]]]
    # no contrast leaves the mean gray: (82.05 + 10) / 2 = 46.03
    assert recolored(pixels, 1.0, 0.0, 1.0).tolist() == [[[46, 46, 46], [46, 46, 46]]]
    assert recolored(np.array([[[100], [50]]], dtype=np.uint8), 1.0, 0.5, 1.0).tolist() == [[[88], [63]]]
