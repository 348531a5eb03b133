"""What a trace shows of itself: `regard.inspect`, the room above, installs it.

`Trace.plot`, `.html`, `.print` and `.save` belong to a trace, but the code that draws stands above it and is not
imported from here. It is loaded as parts are: by the registry, when drawings are first requested.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from os import PathLike
from typing import TYPE_CHECKING, Any

from regard import parts

if TYPE_CHECKING:
    from regard.inspect.heads import Layers
    from regard.inspect.scene import Scene
    from regard.trace.prediction import Prediction
    from regard.trace.trace import Trace


@dataclass(frozen=True)
class Panel:
    """One way to look at a trace, drawn when it is asked for: one scene, or a scene for each step.

    name    by which it is asked for: "figure", "states", "heads: encoder 1"
    title   for a reader
    draw    the scene; for steps, all of them
    """

    name: str
    title: str
    draw: Callable[[], Scene | Sequence[Scene]]
    stepwise: bool = False

    @cached_property
    def _drawn(self) -> list[Scene]:
        found: Any = self.draw()
        return list(found) if self.stepwise else [found]

    @property
    def scene(self) -> Scene | None:
        """The scene; None if there are steps instead."""
        return None if self.stepwise else self._drawn[0]

    @property
    def steps(self) -> list[Scene]:
        """The scenes of the steps; empty if there is one scene instead."""
        return self._drawn if self.stepwise else []


@dataclass(frozen=True)
class Views:
    """How a trace and a prediction are drawn.

    figure       the default figure
    heads        the attention of each head of the given layers
    panels       everything that can be drawn
    page         a web page with a title, or without
    save         writes a figure or a page to a file
    prediction   the notebook view of a prediction
    """

    figure: Callable[[Trace], Scene]
    heads: Callable[[Trace, Layers], Scene]
    panels: Callable[[Trace], list[Panel]]
    page: Callable[[Trace, str | None], str]
    save: Callable[[Any, str | PathLike[str]], object]
    prediction: Callable[[Prediction], str]


_installed: list[Views] = []
_explorers: list[Callable[[Prediction | Trace], Any]] = []


def install(found: Views) -> None:
    """Called by the room that draws, when it is imported."""
    _installed[:] = [found]


def views() -> Views:
    """How traces are drawn; loads the drawings at the first call."""
    if not _installed:
        parts.names("drawing")
    return _installed[0]


def install_explorer(found: Callable[[Prediction | Trace], Any]) -> None:
    """Called by the room that makes figures alive, when it is imported."""
    _explorers[:] = [found]


def explored(what: Prediction | Trace) -> Any:
    """The live view of a prediction or a trace, for a notebook."""
    if not _explorers:
        parts.names("drawing")
    return _explorers[0](what)
