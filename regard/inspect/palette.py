"""The colors of every figure, for light paper and for dark screens.

A mark names a color by its role ("ink", "accent", "series-2") or by its position on a scale (`Shade`); a theme turns
that into "#rrggbb". One scene can thus be drawn light and dark, and only this module defines colors.

The sequential scale is a curve through a few points of OKLCH (Ottosson 2020: lightness, chroma, hue in degrees).
Lightness is linear in the value, so equal differences of weight look equal, in color and in gray print.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from itertools import pairwise

LEVELS = 100
"""Steps of the sequential scale; smaller differences are invisible."""


@dataclass(frozen=True)
class Shade:
    """A position on the sequential scale, from 0 to 1."""

    value: float

    @property
    def level(self) -> int:
        """0 to LEVELS; NaN counts as 0."""
        return 0 if math.isnan(self.value) else round(LEVELS * min(1.0, max(0.0, self.value)))


@dataclass(frozen=True)
class Over:
    """The color of text on a shade: the darker or the lighter ink, whichever has more contrast."""

    shade: Shade


Color = str | Shade | Over
"""A role of the theme, "#rrggbb" (the same in every theme), a position on the scale, or the ink for text on it."""

Oklch = tuple[float, float, float]


@dataclass(frozen=True)
class Theme:
    """The color of each role: paper, ink, muted (secondary text), faint (rules), accent, truth, series-0 to 7."""

    name: str
    roles: Mapping[str, str]
    scale: tuple[Oklch, ...]

    def hex(self, color: Color) -> str:
        """The color as "#rrggbb"."""
        if isinstance(color, Shade):
            return _shades(self.scale)[color.level]
        if isinstance(color, Over):
            ground = self.hex(color.shade)
            return max(("#000000", "#ffffff"), key=lambda ink: contrast(ink, ground))
        return color if color.startswith("#") else self.roles[color]


# Categorical colors in the order of Okabe and Ito (2008), distinguishable with any of the common color blindnesses,
# adjusted for contrast with the background.
LIGHT = Theme(
    "light",
    {
        "paper": "#ffffff", "ink": "#1c2030", "muted": "#667085", "faint": "#e4e7ec", "accent": "#3e5cb8",
        "truth": "#e0542b", "series-0": "#2b62c4", "series-1": "#d55e00", "series-2": "#00846a",
        "series-3": "#b0478f", "series-4": "#3a9bd6", "series-5": "#b98300", "series-6": "#5a4fa3",
        "series-7": "#555c66",
    },
    ((0.96, 0.010, 245), (0.86, 0.055, 215), (0.70, 0.105, 235), (0.52, 0.145, 265), (0.30, 0.125, 283)),
)  # fmt: skip
DARK = Theme(
    "dark",
    {
        "paper": "#14161d", "ink": "#eceef4", "muted": "#98a2b3", "faint": "#30343f", "accent": "#8aa6f5",
        "truth": "#ff8a5c", "series-0": "#7ba4f4", "series-1": "#f2914d", "series-2": "#3fc4a3",
        "series-3": "#e08cc4", "series-4": "#7fd0ff", "series-5": "#e6b94a", "series-6": "#a99df0",
        "series-7": "#b5bac4",
    },
    ((0.26, 0.020, 270), (0.40, 0.10, 280), (0.58, 0.13, 258), (0.77, 0.115, 215), (0.95, 0.075, 165)),
)  # fmt: skip
SERIES = 8


def series_color(index: int) -> str:
    """The role of the i-th system in a chart; repeats after the eighth."""
    return f"series-{index % SERIES}"


def contrast(first: str, second: str) -> float:
    """The contrast ratio of two colors, 1 to 21 (WCAG 2.1 requires at least 4.5 for text)."""
    light, dark = sorted((_luminance(first), _luminance(second)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def _luminance(color: str) -> float:
    red, green, blue = (_linear(int(color[i : i + 2], 16) / 255) for i in (1, 3, 5))
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def _linear(channel: float) -> float:
    return channel / 12.92 if channel <= 0.04045 else ((channel + 0.055) / 1.055) ** 2.4


def _encoded(channel: float) -> int:
    channel = min(1.0, max(0.0, channel))
    curved = 12.92 * channel if channel <= 0.0031308 else 1.055 * channel ** (1 / 2.4) - 0.055
    return round(255 * curved)


@cache
def _shades(anchors: tuple[Oklch, ...]) -> list[str]:
    """The LEVELS + 1 colors of a scale, evenly spaced in lightness."""
    return [_oklab_to_hex(*_on_curve(anchors, level / LEVELS)) for level in range(LEVELS + 1)]


def _on_curve(anchors: tuple[Oklch, ...], value: float) -> tuple[float, float, float]:
    """The OKLab point at a fraction of the lightness from the first anchor to the last."""
    first, last = anchors[0][0], anchors[-1][0]
    lightness = first + value * (last - first)
    segments = list(pairwise(anchors))
    reached = sum(
        (lightness - upper[0]) * (last - first) > 0 for _, upper in segments
    )  # number of segments passed
    (l0, c0, h0), (l1, c1, h1) = segments[min(reached, len(segments) - 1)]
    share = (lightness - l0) / (l1 - l0)
    a0, b0 = c0 * math.cos(math.radians(h0)), c0 * math.sin(math.radians(h0))
    a1, b1 = c1 * math.cos(math.radians(h1)), c1 * math.sin(math.radians(h1))
    return lightness, a0 + share * (a1 - a0), b0 + share * (b1 - b0)


def _oklab_to_hex(lightness: float, a: float, b: float) -> str:
    # The published inverse of OKLab: to cone responses, cubed, then to linear sRGB.
    long = (lightness + 0.3963377774 * a + 0.2158037573 * b) ** 3
    medium = (lightness - 0.1055613458 * a - 0.0638541728 * b) ** 3
    short = (lightness - 0.0894841775 * a - 1.2914855480 * b) ** 3
    red = 4.0767416621 * long - 3.3077115913 * medium + 0.2309699292 * short
    green = -1.2684380046 * long + 2.6097574011 * medium - 0.3413193965 * short
    blue = -0.0041960863 * long - 0.7034186147 * medium + 1.7076147010 * short
    return f"#{_encoded(red):02x}{_encoded(green):02x}{_encoded(blue):02x}"
