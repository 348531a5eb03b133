"""The figures of entries."""

from __future__ import annotations

from typing import Any

from regard.course.lectures.catalog import deck, drawing, entry
from regard.course.lectures.checks import evaluated
from regard.errors import RegardError
from regard.inspect.scene import Scene
from regard.structures.kernels import plainly


def has_figure(name: str) -> bool:
    """Whether an entry has a figure for --open."""
    return drawing(name) is not None


def drawn(name: str) -> Scene:
    """The figure of an entry; if it has none, the RegardError names the nearest entry that has one."""
    entry(name)
    what = drawing(name)
    if what is None:
        number = name.partition(".")[0]
        near = sorted(
            (
                f"{number}.{one.number}"
                for one in deck(number).entries
                if has_figure(f"{number}.{one.number}")
            ),
            key=lambda other: abs(int(other.partition(".")[2]) - int(name.partition(".")[2])),
        )
        raise RegardError(
            f"{name} has no figure of its own.",
            where="regard lecture --open",
            fix=f"`regard lecture {name}` says what there is; figures nearby: {', '.join(near[:3])}.",
        )
    if what.lab:
        from regard.course.lab import run

        return run(what.lab, **what.set).figure
    if what.network:
        from regard import zoo
        from regard.describe import draw

        return draw(zoo.find(what.network, what.changes), what.network)
    with plainly():
        found: Any = evaluated(what.python)
    figure = found.plot() if hasattr(found, "plot") else found
    if not isinstance(figure, Scene):
        raise TypeError(f"{name}: the last line of its figure is a {type(figure).__name__}, no figure")
    return figure
