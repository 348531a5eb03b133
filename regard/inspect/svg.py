"""Scene → SVG, without a library or external resources: one file that any browser opens.

Every color is written twice: as an attribute for light paper, which every SVG reader understands, and by class in a
style sheet for dark screens, which browsers understand.
"""

from __future__ import annotations

import base64
from collections import Counter
from collections.abc import Iterable, Mapping
from hashlib import sha256
from html import escape

from regard.inspect.palette import DARK, LIGHT, Color, Over, Shade
from regard.inspect.scene import Circle, Group, Image, Mark, Rect, Scene, Shape, Tags, Text
from regard.inspect.writing import right_to_left
from regard.reporting.terminal import printable

SANS = (
    "system-ui, -apple-system, 'Segoe UI', Roboto, 'Noto Sans', 'DejaVu Sans', 'Nirmala UI', "
    "'Kohinoor Devanagari', 'Noto Sans Devanagari', 'Noto Sans Arabic', 'Noto Sans Hebrew', 'Hiragino Sans', "
    "'PingFang SC', 'Microsoft YaHei', 'Noto Sans CJK SC', 'Noto Sans CJK JP', 'Apple Color Emoji', "
    "'Segoe UI Emoji', 'Noto Color Emoji', sans-serif"
)
NONE: Mapping[Image, str] = {}
MONO = "ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', 'Noto Sans Mono', monospace"


def svg(scene: Scene, *, standalone: bool = True) -> str:
    """The scene as an SVG element.

    standalone   include a background and a style sheet; without, both come from the enclosing page (see `stylesheet`)
    """
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" class="regard" role="img" width="{_number(scene.width)}" '
        f'height="{_number(scene.height)}" viewBox="0 0 {_number(scene.width)} {_number(scene.height)}" '
        f'font-family="{_attribute(SANS)}">'
    ]
    if scene.title:
        lines.append(f"<title>{_content(scene.title)}</title>")
    if scene.description:
        lines.append(f"<desc>{_content(scene.description)}</desc>")
    if standalone:
        lines.append(f"<style>{stylesheet([scene])}</style>")
        paper = Rect(0, 0, scene.width, scene.height, fill="paper")
        lines.append(_element(paper))
    several = _several(scene)
    if several:
        shared = "".join(_image(one, named=name) for one, name in several.items())
        lines.append(f"<defs>{shared}</defs>")
    lines += (_element(mark, several) for mark in scene.marks)
    lines.append("</svg>")
    return "\n".join(lines)


def stylesheet(scenes: Iterable[Scene]) -> str:
    """The style sheet of scenes for dark screens, and for hovering over a row or an arc."""
    rules = [f".f-{role}{{fill:{DARK.hex(role)}}}.s-{role}{{stroke:{DARK.hex(role)}}}" for role in DARK.roles]
    used = {color for scene in scenes for mark in scene.walk() for color in _colors(mark)}
    for color in sorted((c for c in used if not isinstance(c, str)), key=_class):
        rules.append(
            f".f-{_class(color)}{{fill:{DARK.hex(color)}}}.s-{_class(color)}{{stroke:{DARK.hex(color)}}}"
        )
    return (
        ".regard text{white-space:pre}.regard .row,.regard .arc{transition:opacity .12s}"
        ".regard .rows:hover .row{opacity:.28}.regard .rows .row:hover{opacity:1}"
        ".regard .arcs:has(.arc:hover) .arc:not(:hover){opacity:.2}"
        f"@media screen and (prefers-color-scheme:dark){{{''.join(rules)}}}"
    )


def _colors(mark: Mark) -> list[Color]:
    match mark:
        case Text():
            return [mark.color]
        case Rect() | Shape() | Circle():
            return [color for color in (mark.fill, mark.stroke) if color is not None]
    return []


def _class(color: Color) -> str:
    if isinstance(color, Shade):
        return f"v{color.level}"
    if isinstance(color, Over):
        return f"o{color.shade.level}"
    return color


def _several(scene: Scene) -> dict[Image, str]:
    """A name for each image that occurs more than once, whatever its position: a file stores it once."""
    counts = Counter(_placeless(mark) for mark in scene.walk() if isinstance(mark, Image))
    return {
        one: "picture-"
        + sha256(repr((one.width, one.height, one.smooth)).encode() + one.png).hexdigest()[:12]
        for one, count in counts.items()
        if count > 1
    }


def _placeless(mark: Image) -> Image:
    return Image(0, 0, mark.width, mark.height, mark.png, smooth=mark.smooth)


def _element(mark: Mark, several: Mapping[Image, str] = NONE) -> str:
    match mark:
        case Rect():
            return _rect(mark)
        case Text():
            return _text(mark)
        case Shape():
            return _path(mark)
        case Circle():
            return _circle(mark)
        case Image():
            name = several.get(_placeless(mark)) if several else None
            return _image(mark) if name is None else _again(mark, name)
        case Group():
            return _group(mark, several)


def _rect(mark: Rect) -> str:
    corner = f' rx="{_number(mark.radius)}"' if mark.radius else ""
    return _close(
        f'<rect x="{_number(mark.x)}" y="{_number(mark.y)}" width="{_number(mark.width)}" '
        f'height="{_number(mark.height)}"{corner}{_paint(mark.fill, mark.stroke, mark.stroke_width)}'
        f"{_rest(mark.opacity, mark.tags)}",
        "rect",
        mark.tip,
    )


def _circle(mark: Circle) -> str:
    return _close(
        f'<circle cx="{_number(mark.x)}" cy="{_number(mark.y)}" r="{_number(mark.radius)}"'
        f"{_paint(mark.fill, mark.stroke, mark.stroke_width)}{_rest(mark.opacity, mark.tags)}",
        "circle",
        mark.tip,
    )


def _path(mark: Shape) -> str:
    steps = "".join(letter + " ".join(map(_number, numbers)) for letter, numbers in mark.steps)
    dashes = f' stroke-dasharray="{" ".join(map(_number, mark.dashes))}"' if mark.dashes else ""
    return _close(
        f'<path d="{steps}"{_paint(mark.fill, mark.stroke, mark.width)}{dashes} stroke-linejoin="round" '
        f'stroke-linecap="round"{_rest(mark.opacity, mark.tags)}',
        "path",
        mark.tip,
    )


def _text(mark: Text) -> str:
    anchor, direction = mark.anchor, ""
    if right_to_left(mark.text):
        # In SVG, "start" is where reading starts, the right end for these scripts. The anchor of a mark is visual.
        anchor = {"start": "end", "end": "start", "middle": "middle"}[anchor]  # type: ignore[assignment]
        direction = ' direction="rtl" unicode-bidi="embed"'
    attributes = f'<text x="{_number(mark.x)}" y="{_number(mark.y)}" font-size="{_number(mark.size)}"'
    if anchor != "start":
        attributes += f' text-anchor="{anchor}"'
    attributes += direction
    if mark.fills:
        attributes += f' textLength="{_number(mark.fills)}"'
    if mark.rotate:
        attributes += f' transform="rotate({_number(mark.rotate)} {_number(mark.x)} {_number(mark.y)})"'
    if mark.bold:
        attributes += ' font-weight="600"'
    if mark.italic:
        attributes += ' font-style="italic"'
    if mark.mono:
        attributes += f' font-family="{_attribute(MONO)}"'
    tip = f"<title>{_content(mark.tip)}</title>" if mark.tip else ""
    return (
        f"{attributes}{_paint(mark.color, None, 0)}{_rest(mark.opacity, mark.tags)}>"
        f"{tip}{_content(mark.text)}</text>"
    )


def _image(mark: Image, *, named: str = "") -> str:
    data = base64.b64encode(mark.png).decode("ascii")
    sharp = "" if mark.smooth else ' style="image-rendering:pixelated"'
    name = f' id="{named}"' if named else ""
    return _close(
        f'<image{name} x="{_number(mark.x)}" y="{_number(mark.y)}" width="{_number(mark.width)}" '
        f'height="{_number(mark.height)}" preserveAspectRatio="none"{sharp} '
        f'href="data:image/png;base64,{data}"{_rest(mark.opacity, mark.tags)}',
        "image",
        mark.tip,
    )


def _again(mark: Image, name: str) -> str:
    """A reference to an image that is defined elsewhere in the file."""
    place = f'<use href="#{name}" x="{_number(mark.x)}" y="{_number(mark.y)}"'
    return _close(place + _rest(mark.opacity, mark.tags), "use", mark.tip)


def _group(mark: Group, several: Mapping[Image, str] = NONE) -> str:
    kind = f' class="{_attribute(mark.kind)}"' if mark.kind else ""
    move = f' transform="translate({_number(mark.dx)} {_number(mark.dy)})"' if mark.dx or mark.dy else ""
    tip = f"<title>{_content(mark.tip)}</title>" if mark.tip else ""
    inside = "".join(_element(one, several) for one in mark.marks)
    return f"<g{kind}{move}{_rest(1.0, mark.tags)}>{tip}{inside}</g>"


def _paint(fill: Color | None, stroke: Color | None, width: float) -> str:
    classes, attributes = [], ""
    if fill is None:
        attributes += ' fill="none"'
    else:
        classes.append(f"f-{_class(fill)}")
        attributes += f' fill="{LIGHT.hex(fill)}"'
    if stroke is not None:
        classes.append(f"s-{_class(stroke)}")
        attributes += f' stroke="{LIGHT.hex(stroke)}" stroke-width="{_number(width)}"'
    named = " ".join(name for name in classes if "#" not in name)
    return (f' class="{named}"' if named else "") + attributes


def _rest(opacity: float, tags: Tags) -> str:
    data = "".join(f' data-{name}="{_attribute(value)}"' for name, value in tags)
    return (f' opacity="{_number(opacity)}"' if opacity < 1 else "") + data


def _close(opened: str, name: str, tip: str) -> str:
    return f"{opened}><title>{_content(tip)}</title></{name}>" if tip else f"{opened}/>"


def _number(value: float) -> str:
    """Two decimals: finer than any screen, and files stay small."""
    return f"{value:.2f}".rstrip("0").rstrip(".") if value % 1 else str(int(value))


def _content(text: str) -> str:
    return escape(_lines(text), quote=False)


def _attribute(text: str) -> str:
    return escape(_lines(text), quote=True)


def _lines(text: str) -> str:
    """Keep the line breaks of tooltips; XML refuses other control characters."""
    return "\n".join(map(printable, text.split("\n")))
