"""PNG round trips of pixels, and the veils over unattended regions."""

import io

import numpy as np
import pytest
from drawn_inputs import canvas
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from PIL import Image as Pillow

from regard.inspect.palette import DARK, Shade
from regard.inspect.raster import (
    VEIL,
    bounded,
    png,
    resized,
    shaded_pixels,
    spread,
    stepped,
    unpacked,
    veil,
    veil_gray,
)


@settings(max_examples=40, deadline=None)
@given(arrays.arrays(np.uint8, st.tuples(st.integers(1, 30), st.integers(1, 30), st.just(3))))
def test_pixels_come_back_from_a_png(pixels):
    with Pillow.open(io.BytesIO(png(pixels))) as opened:
        assert np.array_equal(np.asarray(opened.convert("RGB")), pixels)
    assert np.array_equal(unpacked(png(pixels)), pixels)


def test_few_colors_are_written_with_a_palette():
    with Pillow.open(io.BytesIO(png(canvas()))) as opened:
        assert opened.mode == "P"
    many = np.arange(40 * 40 * 3, dtype=np.uint32).reshape(40, 40, 3).astype(np.uint8)
    assert len(png(np.tile(canvas(), (4, 4, 1)))) < len(png(many))


def test_what_grows_stays_sharp_and_what_shrinks_is_averaged():
    pixels = np.array([[[0, 0, 0], [200, 100, 50]]], dtype=np.uint8)
    assert resized(pixels, 4, 2).tolist() == [[[0, 0, 0]] * 2 + [[200, 100, 50]] * 2] * 2
    assert resized(pixels, 1, 1).tolist() == [[[100, 50, 25]]]


def test_large_pictures_are_bounded_with_their_proportions():
    assert bounded(np.zeros((100, 400, 3), dtype=np.uint8), 200).shape == (50, 200, 3)
    small = canvas()
    assert bounded(small, 200) is small


def test_steps_have_the_value_of_their_cell():
    cells = np.array([[1, 2], [3, 4]])
    assert stepped(cells, 4, 2).tolist() == [[1, 1, 2, 2], [3, 3, 4, 4]]
    assert stepped(cells, 1, 1).tolist() == [[4]]  # its center is the corner where all four meet


def test_spreading_keeps_the_peak_in_its_cell_and_stays_between_0_and_1():
    shares = np.zeros((4, 6))
    shares[2, 1] = 1.0
    surface = spread(shares, 60, 40)
    y, x = np.unravel_index(surface.argmax(), surface.shape)
    assert (y // 10, x // 10) == (2, 1)
    assert surface.min() >= 0 and surface.max() <= 1
    assert surface[0:10, 40:].max() < 0.05
    assert spread(np.ones((1, 1)), 3, 2).tolist() == [[1.0] * 3] * 2


@pytest.mark.parametrize("light", range(0, 256, 5))
def test_a_veil_shows_on_any_ground(light):
    pixels = np.full((4, 4, 3), light, dtype=np.uint8)
    assert abs(VEIL * (veil_gray(pixels) - light)) > 45


def test_black_writing_can_be_read_through_the_veil_of_paper():
    gray = veil_gray(canvas())
    ink, ground = VEIL * gray, VEIL * gray + (1 - VEIL) * 238
    assert (ground + 12) / (ink + 12) > 1.5


def test_a_veil_is_lifted_where_the_share_is_one():
    shares = np.zeros((3, 3))
    shares[0, 0] = 1.0
    with Pillow.open(io.BytesIO(veil(shares, 16, 30, 30))) as opened:
        gray, alpha = np.moveaxis(np.asarray(opened.convert("LA")), -1, 0)
    assert (gray == 16).all()
    assert alpha[3, 3] < 20
    assert alpha[25, 25] == pytest.approx(255 * VEIL, abs=4)


def test_shades_are_those_of_the_palette():
    [[none, all_of_it]] = shaded_pixels(np.array([[0.0, 1.0]]))
    for pixel, share in ((none, 0.0), (all_of_it, 1.0)):
        assert "#" + "".join(f"{channel:02x}" for channel in pixel) == DARK.hex(Shade(share))
