"""Colors against published definitions: WCAG contrast, and CIE lightness for an even scale."""

import math

import numpy as np
import pytest

from regard.inspect.palette import DARK, LEVELS, LIGHT, SERIES, Over, Shade, contrast, series_color

THEMES = pytest.mark.parametrize("theme", [LIGHT, DARK], ids=lambda theme: theme.name)


def luminance(color):
    """Relative luminance by the definition of sRGB."""
    channels = np.array([int(color[i : i + 2], 16) / 255 for i in (1, 3, 5)])
    linear = np.where(channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4)
    return float(linear @ [0.2126, 0.7152, 0.0722])


def lightness(color):
    """CIE L*, 0 to 100."""
    y = luminance(color)
    return 116 * y ** (1 / 3) - 16 if y > 0.008856 else 903.3 * y


@THEMES
def test_lightness_runs_evenly_along_the_scale(theme):
    steps = np.diff([lightness(theme.hex(Shade(value))) for value in np.linspace(0, 1, 11)])
    assert len({math.copysign(1, step) for step in steps}) == 1
    assert abs(steps).min() > 0.6 * abs(steps).mean()
    assert abs(steps).max() < 1.5 * abs(steps).mean()


@THEMES
def test_the_scale_begins_near_the_paper_and_ends_far_from_it(theme):
    paper = theme.hex("paper")
    assert contrast(theme.hex(Shade(0)), paper) < 1.25
    assert contrast(theme.hex(Shade(1)), paper) > 9


@THEMES
def test_text_over_every_shade_can_be_read(theme):
    worst = min(
        contrast(theme.hex(Over(Shade(level / LEVELS))), theme.hex(Shade(level / LEVELS)))
        for level in range(LEVELS + 1)
    )
    assert worst >= 4.5


@THEMES
def test_words_and_series_stand_out_from_the_paper(theme):
    paper = theme.hex("paper")
    assert contrast(theme.hex("ink"), paper) >= 12
    assert contrast(theme.hex("muted"), paper) >= 4.5
    for index in range(SERIES):
        assert contrast(theme.hex(series_color(index)), paper) >= 3


def test_contrast_of_black_on_white_is_21():
    assert contrast("#000000", "#ffffff") == pytest.approx(21)


@pytest.mark.parametrize(("value", "level"), [(-1, 0), (0, 0), (0.5, 50), (1, 100), (7, 100), (math.nan, 0)])
def test_shades_stay_on_the_scale(value, level):
    assert Shade(value).level == level


def test_a_color_of_its_own_is_the_same_in_every_theme():
    assert LIGHT.hex("#123456") == DARK.hex("#123456") == "#123456"
