"""Images, videos, audio and points of a trace, drawn with the attention."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from regard.errors import RegardError
from regard.inspect.film import draw_film, tell_film
from regard.inspect.layout import Block, below, frame
from regard.inspect.looked import looked
from regard.inspect.picture import draw_picture, picture_legend, tell_picture
from regard.inspect.plane import draw_plane, plane_legend, tell_plane
from regard.inspect.scene import Scene
from regard.inspect.series import draw_series, tell_series
from regard.inspect.sights import STYLES, Box, FilmLooks, PictureLooks, PlaneLooks, SeriesLooks, Sight, Style
from regard.inspect.timeline import time_legend
from regard.trace import Pointed, SeenFilm, SeenPicture, SeenPoints, SeenSeries, Trace

END = "</s>"


def seen(trace: Trace, *, over: str | None = None, style: Style = "smooth", title: str = "") -> Scene:
    """The input with the attention of each output piece; the end of a text is left out.

    over    the input to show if there are several; default: the first
    style   attention to images: "smooth" interpolates between grid cells, "grid" shows them
    """
    name = over if over is not None else next(iter(trace.seen), None)
    if name is None or name not in trace.seen:
        known = ", ".join(trace.seen) or "none"
        raise RegardError(
            f"the trace has no image, video, audio or points named {name!r}; it has: {known}."
            if name
            else "this trace has no image, video, audio or points to show."
        )
    found = sight(trace, name, style=style)
    return frame(draw_sights([found]), title=title, description=tell_sight(found))


def sight(trace: Trace, name: str, *, style: Style = "smooth", small: bool = False, title: str = "") -> Sight:
    """An image, video, audio or list of points of a trace, with its attention, if any."""
    if style not in STYLES:
        raise RegardError(f"no style {style!r}; there are {', '.join(STYLES)}.")
    what, looks = trace.seen[name], _looks(trace, name, small, title)
    if isinstance(what, SeenPicture):
        _check_grid(what, looks)
        return PictureLooks(
            pixels=what.pixels, grid=what.grid, boxes=_boxes(trace, what, looks), style=style, **looks
        )
    if isinstance(what, SeenFilm):
        return FilmLooks(frames=what.frames, **looks)
    if isinstance(what, SeenSeries):
        return SeriesLooks(values=what.values, seconds=what.seconds, **looks)
    if isinstance(what, SeenPoints):
        pointed = trace.pointed.get(name, Pointed(()))
        true = None if pointed.truth is None else tuple(pointed.truth)
        return PlaneLooks(
            points=what.points, places=tuple(pointed.places), true_places=true, form=pointed.form, **looks
        )
    raise TypeError(what)


def _looks(trace: Trace, name: str, small: bool, title: str) -> dict[str, Any]:
    """The words and their weights; empty if the input was not attended to."""
    if name not in trace.attention:
        return {"words": (), "weights": np.zeros((0, len(trace.input[name]))), "small": small, "title": title}
    rows = looked(trace, name)
    kept = len(rows.names) - (trace.kind == "text" and list(rows.names[-1:]) == [END])
    return {
        "words": rows.names[:kept],
        "weights": rows.weights[:kept],
        "truth": None if rows.truth is None else rows.truth[:kept],
        "probabilities": None if rows.probabilities is None else rows.probabilities[:kept],
        "small": small,
        "title": title,
        "outlined": rows.outlined,
    }


def _boxes(trace: Trace, what: SeenPicture, looks: dict[str, Any]) -> tuple[tuple[Box, ...], ...]:
    """The true boxes of each output piece with known truth; empty if one of them has no box."""
    count = len(looks["words"])
    if not what.places or looks.get("truth") is None:
        return ()
    if trace.single and count == 1:
        return (tuple(place[1:] for place in what.places),)
    known = [bool((row > 0).any()) for row in looks["truth"]]
    found = tuple(
        tuple(place[1:] for place in what.places if place[0] == number and known[number])
        for number in range(count)
    )
    return found if known == [bool(boxes) for boxes in found] else ()


def _check_grid(what: SeenPicture, looks: dict[str, Any]) -> None:
    rows, columns = what.grid
    positions = looks["weights"].shape[1]
    if looks["words"] and rows * columns != positions:
        raise RegardError(
            f"a grid of {rows} by {columns} cells has {rows * columns} positions, the attention {positions}."
        )


def draw_sight(found: Sight) -> Block:
    """The drawing, without its legend."""
    if isinstance(found, PictureLooks):
        return draw_picture(found)
    if isinstance(found, PlaneLooks):
        return draw_plane(found)
    return draw_film(found) if isinstance(found, FilmLooks) else draw_series(found)


def tell_sight(found: Sight) -> str:
    """The content of the drawing in words."""
    if isinstance(found, PictureLooks):
        return tell_picture(found)
    if isinstance(found, PlaneLooks):
        return tell_plane(found)
    return tell_film(found) if isinstance(found, FilmLooks) else tell_series(found)


def sight_legends(shown: Sequence[Sight]) -> list[Block]:
    """The legends, once per kind of input."""
    looked = [found for found in shown if found.words]
    pictures = [found for found in looked if isinstance(found, PictureLooks)]
    films = [found for found in looked if isinstance(found, FilmLooks)]
    planes = [found for found in looked if isinstance(found, PlaneLooks)]
    sounds = [found for found in looked if isinstance(found, SeriesLooks)]
    return [
        *([picture_legend(pictures)] if pictures else []),
        *([time_legend(films)] if films else []),
        *([time_legend(sounds)] if sounds else []),
        *([plane_legend(planes)] if planes else []),
    ]


def draw_sights(shown: Sequence[Sight], *, gap: float = 16.0) -> Block:
    """All drawings, stacked, with their legends."""
    return below([*map(draw_sight, shown), *sight_legends(shown)], gap=gap)
