"""Scene → PNG and PDF, with matplotlib (the extra `figures`).

Figures are created and written without `matplotlib.pyplot`: no window, and no state shared with a notebook.
"""

from __future__ import annotations

import io
import re
import unicodedata
import warnings
from collections.abc import Sequence
from typing import Any

from regard.errors import MissingExtra
from regard.inspect.palette import LIGHT, Color, Theme
from regard.inspect.scene import Circle, Group, Image, Mark, Rect, Scene, Shape, Text
from regard.reporting.terminal import printable

UNITS_PER_INCH = 96.0
POINTS_PER_UNIT = 72 / UNITS_PER_INCH
FONTS = (
    "Noto Sans", "DejaVu Sans", "Helvetica Neue", "Segoe UI", "Noto Sans Devanagari", "Kohinoor Devanagari",
    "Lohit Devanagari", "Nirmala UI", "Mangal", "Noto Sans Arabic", "Noto Naskh Arabic", "Noto Sans Hebrew",
    "Noto Sans CJK JP", "Noto Sans CJK SC", "Hiragino Sans", "PingFang SC", "Microsoft YaHei", "IPAGothic",
    "WenQuanYi Zen Hei", "Noto Sans Symbols", "Noto Sans Symbols 2", "Noto Emoji", "Segoe UI Emoji",
    "Arial Unicode MS", "Unifont",
)  # fmt: skip
"""Installed fonts are tried in this order for every character. matplotlib caches the list of fonts: delete its
fontlist file after installing new ones."""


def png(scene: Scene, *, scale: float = 2.0, theme: Theme = LIGHT) -> bytes:
    """The scene as a PNG with `scale` pixels per unit."""
    buffer = io.BytesIO()
    _write(scene, theme, buffer, format="png", dpi=UNITS_PER_INCH * scale, metadata={"Software": None})
    return buffer.getvalue()


def pdf(scene: Scene, *, theme: Theme = LIGHT) -> bytes:
    """The scene as a PDF in its own size."""
    buffer = io.BytesIO()
    _write(
        scene, theme, buffer, format="pdf", metadata={"CreationDate": None, "Title": printable(scene.title)}
    )
    return buffer.getvalue()


def _write(scene: Scene, theme: Theme, buffer: io.BytesIO, **options: Any) -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        figure(scene, theme).savefig(buffer, facecolor=theme.hex("paper"), **options)
    missing = []
    for warning in caught:
        found = re.match(r"Glyph (\d+) ", str(warning.message))
        if found:
            missing.append(chr(int(found[1])))
        else:
            warnings.warn_explicit(warning.message, warning.category, warning.filename, warning.lineno)
    if missing:  # one warning in place of matplotlib's one per character
        signs = list(dict.fromkeys(missing))
        warnings.warn(
            f"No installed font has {' '.join(signs[:8])}{' …' if len(signs) > 8 else ''} ({_scripts(signs)}); "
            "boxes stand for them. Install a font of this script, or write .svg or .html.",
            stacklevel=3,
        )


def _scripts(signs: list[str]) -> str:
    """The scripts of some characters, by the first word of their Unicode names: Devanagari, CJK."""
    named = [unicodedata.name(sign, "unknown").split()[0].capitalize() for sign in signs]
    return ", ".join(dict.fromkeys("CJK" if name == "Cjk" else name for name in named))


def figure(scene: Scene, theme: Theme = LIGHT) -> Any:
    """The scene as a matplotlib `Figure`, for further additions."""
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise MissingExtra("matplotlib", "figures", "Writing PNG or PDF") from error
    made = Figure(figsize=(scene.width / UNITS_PER_INCH, scene.height / UNITS_PER_INCH), dpi=UNITS_PER_INCH)
    axes = made.add_axes((0, 0, 1, 1))
    axes.set_xlim(0, scene.width)
    axes.set_ylim(scene.height, 0)
    axes.axis("off")
    _Painter(axes, theme).paint(scene.marks, 0.0, 0.0)
    return made


def installed_fonts() -> list[str]:
    """The installed families of FONTS; matplotlib looks up a character in each in turn."""
    from matplotlib import font_manager

    present = {font.name for font in font_manager.fontManager.ttflist}
    return [name for name in FONTS if name in present] or ["sans-serif"]


class _Painter:
    """Adds artists to axes in the order of the marks, because matplotlib would sort them by kind."""

    def __init__(self, axes: Any, theme: Theme) -> None:
        self.axes, self.theme = axes, theme
        self.fonts = installed_fonts()
        self.painted = 0

    def paint(self, marks: Sequence[Mark], dx: float, dy: float) -> None:
        for mark in marks:
            self.painted += 1
            match mark:
                case Group():
                    self.paint(mark.marks, dx + mark.dx, dy + mark.dy)
                case Rect():
                    self._rect(mark, dx, dy)
                case Text():
                    self._text(mark, dx, dy)
                case Shape():
                    self._path(mark, dx, dy)
                case Circle():
                    self._circle(mark, dx, dy)
                case Image():
                    self._image(mark, dx, dy)

    def _look(self, fill: Color | None, stroke: Color | None, width: float, opacity: float) -> dict[str, Any]:
        return {
            "facecolor": "none" if fill is None else self.theme.hex(fill),
            "edgecolor": "none" if stroke is None else self.theme.hex(stroke),
            "linewidth": 0 if stroke is None else width * POINTS_PER_UNIT,
            "alpha": opacity if opacity < 1 else None,
            "zorder": self.painted,
        }

    def _rect(self, mark: Rect, dx: float, dy: float) -> None:
        from matplotlib.patches import FancyBboxPatch, Rectangle

        look = self._look(mark.fill, mark.stroke, mark.stroke_width, mark.opacity)
        corner, radius = (mark.x + dx, mark.y + dy), min(mark.radius, mark.width / 2, mark.height / 2)
        if radius:
            style = f"round,pad=0,rounding_size={radius}"
            self.axes.add_artist(FancyBboxPatch(corner, mark.width, mark.height, boxstyle=style, **look))
        else:
            self.axes.add_artist(Rectangle(corner, mark.width, mark.height, **look))

    def _circle(self, mark: Circle, dx: float, dy: float) -> None:
        from matplotlib.patches import Circle as Disc

        look = self._look(mark.fill, mark.stroke, mark.stroke_width, mark.opacity)
        self.axes.add_artist(Disc((mark.x + dx, mark.y + dy), mark.radius, **look))

    def _path(self, mark: Shape, dx: float, dy: float) -> None:
        from matplotlib.patches import PathPatch
        from matplotlib.path import Path as Outline

        codes: dict[str, Any] = {
            "M": Outline.MOVETO,
            "L": Outline.LINETO,
            "Q": Outline.CURVE3,
            "C": Outline.CURVE4,
        }
        points: list[tuple[float, float]] = []
        kinds: list[Any] = []
        for letter, numbers in mark.steps:
            if letter == "Z":
                points.append(points[-1])
                kinds.append(Outline.CLOSEPOLY)
                continue
            pairs = list(zip(numbers[::2], numbers[1::2], strict=True))
            points += [(x + dx, y + dy) for x, y in pairs]
            kinds += [codes[letter]] * len(pairs)
        look = self._look(mark.fill, mark.stroke, mark.width, mark.opacity)
        if mark.dashes:
            look["linestyle"] = (0, tuple(dash / max(mark.width, 0.1) for dash in mark.dashes))
        self.axes.add_artist(PathPatch(Outline(points, kinds), capstyle="round", joinstyle="round", **look))

    def _text(self, mark: Text, dx: float, dy: float) -> None:
        self.axes.text(
            mark.x + dx,
            mark.y + dy,
            printable(mark.text),
            fontsize=mark.size * POINTS_PER_UNIT,
            family="monospace" if mark.mono else self.fonts,
            weight="bold" if mark.bold else "normal",
            style="italic" if mark.italic else "normal",
            color=self.theme.hex(mark.color),
            alpha=mark.opacity if mark.opacity < 1 else None,
            ha={"start": "left", "middle": "center", "end": "right"}[mark.anchor],
            va="baseline",
            rotation=-mark.rotate,
            rotation_mode="anchor",
            parse_math=False,
            zorder=self.painted,
        )

    def _image(self, mark: Image, dx: float, dy: float) -> None:
        from matplotlib.image import AxesImage, imread

        x, y = mark.x + dx, mark.y + dy
        picture = AxesImage(
            self.axes,
            extent=(x, x + mark.width, y + mark.height, y),
            interpolation="bilinear" if mark.smooth else "nearest",
            origin="upper",
            alpha=mark.opacity if mark.opacity < 1 else None,
            zorder=self.painted,
        )
        picture.set_data(imread(io.BytesIO(mark.png), format="png"))
        self.axes.add_artist(picture)
