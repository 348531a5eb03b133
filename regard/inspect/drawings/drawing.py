"""The base classes of drawings, and what a trace holds for them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal, cast

from rich.text import Text

from regard import parts
from regard.errors import RegardError
from regard.inspect.layout import Block, below
from regard.inspect.scene import Group, Mark
from regard.inspect.titles import written_text
from regard.inspect.writing import linked
from regard.parts.contract import base, optional, required
from regard.trace import Panel, Trace, Traced

if TYPE_CHECKING:
    from regard.inspect.section import PageSection
    from regard.inspect.terminal.ink import Ink

Style = Literal["smooth", "grid"]
STYLES: tuple[Style, ...] = ("smooth", "grid")
"""How attention to an image is drawn: interpolated between the cells, or as the cells."""


@dataclass(frozen=True)
class View:
    """How a drawing is requested.

    title   the text above it
    style   attention to images: "smooth" interpolates between grid cells, "grid" shows them
    small   whether it is one of many
    """

    title: str = ""
    style: Style = "smooth"
    small: bool = False

    def __post_init__(self) -> None:
        if self.style not in STYLES:
            raise RegardError(f"no style {self.style!r}; there are {', '.join(STYLES)}.")


PLAIN = View()
"""A view with no title and no choices."""
HELD_BY_KIND = ("structures", "seen")
"""Fields of a trace whose entries have a kind."""


@base("drawing", options=False)
class Drawing:
    """The content of a group of marks as data (`Group.content`), to redraw it in a terminal.

    A drawing is a frozen dataclass. Derive from `TracedDrawing` to draw something that a trace holds.

    rank   where its legends stand among those of other drawings: those of a lower rank come first
    """

    rank: ClassVar[int] = 100

    @required("when a figure is printed")
    def terminal(self, width: int, ink: Ink) -> Iterator[Text]:
        """The lines in the terminal, at most `width` cells wide; `ink` has the styles, and whether there is color."""
        raise NotImplementedError

    @classmethod
    @optional("below the lines of all drawings, once per class")
    def terminal_legend(cls, shown: Sequence[Any], width: int, ink: Ink) -> Iterator[Text]:
        """The legend in the terminal of all drawings of this class; default: none."""
        return iter(())

    @classmethod
    @optional("for the panels of a trace")
    def panels(cls, trace: Trace) -> Sequence[Panel]:
        """What this class can draw of a trace besides its figure, each drawn when it is asked for; default: nothing."""
        return ()


class TracedDrawing(Drawing):
    """The drawing of something that a trace holds for one of its inputs.

    traced      the class of what it draws; its `kind` is written to JSON, and finds the class when it is read
    field       the field of the trace that holds it, a mapping by the name of the input
    links       whether a page may also draw the attention to its positions as links between words
    gridded     whether the style "grid" applies to it
    headed      whether a figure of it has input and output as its title
    lacking     in a comparison, what the trace of a panel lacks: "has no arcs over"
    gap         distance between drawings of one figure, and to their legends
    gap_below   distance to the attention that none of them shows
    """

    traced: ClassVar[type[Traced] | None] = None
    field: ClassVar[str] = "structures"
    links: ClassVar[bool] = False
    gridded: ClassVar[bool] = False
    headed: ClassVar[bool] = True
    lacking: ClassVar[str] = "has nothing of this kind over"
    gap: ClassVar[float] = 18.0
    gap_below: ClassVar[float] = 26.0

    title: str = ""

    @classmethod
    def declared_wrong(cls) -> str | None:
        """Why the declarations of the class are not valid; None if they are. Asked when it is registered."""
        traced = cls.traced
        if traced is None and cls.field not in HELD_BY_KIND:
            return None
        if not (isinstance(traced, type) and issubclass(traced, Traced) and hasattr(traced, "kind")):
            return "declares no class `traced` that derives from regard.trace.Traced and has a `kind`"
        for other in traced_drawings():
            if other.traced is not None and other.traced.kind == traced.kind and other.traced is not traced:
                return f"draws the kind {traced.kind!r}, which {other.__module__}.{other.__qualname__} draws"
        return None

    @classmethod
    @required("for each input of a trace for which `shows` is true")
    def of(cls, trace: Trace, name: str, view: View = PLAIN) -> Any:
        """The drawing of what a trace holds for the input `name`."""
        raise NotImplementedError

    @required("in figures, pages and comparisons")
    def block(self) -> Block:
        """The marks, with their size: a `Group` whose content is this drawing."""
        raise NotImplementedError

    @required("for the description of a figure")
    def description(self) -> str:
        """The content in words, for readers who cannot see it."""
        raise NotImplementedError

    def terminal(self, width: int, ink: Ink) -> Iterator[Text]:
        """The lines in the terminal; by default those of the drawings inside the block."""
        for number, one in enumerate(_contents(self.block().marks)):
            if number:
                yield Text()
            yield from one.terminal(width, ink)

    @classmethod
    @optional("below the drawings, once per class")
    def legend(cls, shown: Sequence[Any]) -> list[Block]:
        """The legend of all drawings of this class in a figure; default: none."""
        return []

    @classmethod
    @optional("before `of`")
    def shows(cls, trace: Trace, name: str) -> bool:
        """Whether there is something to draw; by default, if the trace holds the class `traced`."""
        return cls.draws(getattr(trace, cls.field).get(name))

    @classmethod
    def draws(cls, found: Any) -> bool:
        """Whether something that a trace holds is of the kind of this drawing."""
        return cls.traced is not None and getattr(found, "kind", None) == cls.traced.kind

    @classmethod
    @optional("for the attention that is drawn below")
    def replaces(cls, trace: Trace, name: str) -> Sequence[str]:
        """The fields of the trace whose entries for this input the drawing shows; default: none."""
        return ()

    @optional("to draw the output below, if no drawing shows it")
    def shows_output(self, trace: Trace) -> bool:
        """Whether a reader of the drawing also sees the output."""
        return trace.kind != "tags" or any(one.holds_output for one in trace.structures.values())

    @classmethod
    def stacked(cls, shown: Sequence[TracedDrawing]) -> list[Block]:
        """The drawings of one figure from top to bottom, with their legends."""
        return [below([*(one.block() for one in shown), *legends(shown)], gap=cls.gap)]

    @optional("in a page about one prediction")
    def sections(self, trace: Trace, name: str, heading: str) -> list[PageSection]:
        """More about the drawing, below the figure; sections with equal headings become one. Default: none."""
        return []

    @classmethod
    def compares(cls, traces: Sequence[Trace]) -> bool:
        """Whether these traces can be compared by this drawing; otherwise their attention is."""
        return True

    @classmethod
    @optional("in a comparison of several models")
    def comparable(cls, trace: Trace, name: str) -> bool:
        """Whether `of` can draw this trace beside one for which `shows` is true; default: as `shows`."""
        return cls.shows(trace, name)

    @optional("in a comparison of several models, for its first panel")
    def truth_panel(self) -> Any:
        """The drawing of the truth; None if it is not known, or not drawn as a panel of its own."""
        return None

    @classmethod
    @optional("in a comparison of several models")
    def arranged(cls, shown: Sequence[Any], across: int | None) -> Block:
        """The panels and their legend, `across` in a row; by default one below the other."""
        return below([*(one.block() for one in shown), *cls.legend(shown)], gap=24)

    @classmethod
    def descriptions(cls, shown: Sequence[Any]) -> str:
        """The panels of a comparison in words."""
        return " ".join(f"{one.title}: {one.description()}" for one in shown)

    @classmethod
    def panel_titles(cls, panels: Sequence[tuple[str, Trace]], name: str) -> list[str]:
        """The titles of the panels of a comparison: their names, with the output of each if the outputs differ."""
        written = [written_text(trace) for _, trace in panels]
        if len(set(written)) == 1:
            return [named for named, _ in panels]
        return [linked([named, text], "→") for (named, _), text in zip(panels, written, strict=True)]

    def titled(self, title: str) -> Any:
        """This drawing with another title."""
        return replace(cast(Any, self), title=title)


def _contents(marks: Sequence[Mark]) -> Iterator[Drawing]:
    """The contents of groups, in painting order; groups with content are not searched."""
    for mark in marks:
        if isinstance(mark, Group):
            if mark.content is not None:
                yield mark.content
            else:
                yield from _contents(mark.marks)


def traced_drawings() -> list[type[TracedDrawing]]:
    """The drawings of what traces hold, by their rank."""
    made = [parts.part("drawing", name) for name in parts.names("drawing")]
    return sorted((one for one in made if issubclass(one, TracedDrawing)), key=lambda one: one.rank)


def drawing_for(found: Any) -> type[TracedDrawing] | None:
    """The drawing of something that a trace holds, by its kind."""
    return next((one for one in traced_drawings() if one.draws(found)), None)


def drawing_of(trace: Trace, field: str, name: str) -> type[TracedDrawing] | None:
    """The drawing of what a field of a trace holds for an input; None if there is nothing to draw."""
    return next((one for one in traced_drawings() if one.field == field and one.shows(trace, name)), None)


def drawn(trace: Trace, field: str, view: View = PLAIN) -> dict[str, TracedDrawing]:
    """The drawings of all entries of a field, by input; titled with the name of the input if there are several."""
    found = {name: drawing_of(trace, field, name) for name in getattr(trace, field)}
    made = {name: one for name, one in found.items() if one is not None}
    return {
        name: one.of(trace, name, replace(view, title=name if len(made) > 1 else view.title))
        for name, one in made.items()
    }


def legends(shown: Sequence[TracedDrawing]) -> list[Block]:
    """The legends of all drawings, once per class, by their rank."""
    found: list[Block] = []
    for kind in sorted({type(one): None for one in shown}, key=lambda kind: kind.rank):
        found += kind.legend([one for one in shown if type(one) is kind])
    return found


def held(trace: Trace, kind: type[TracedDrawing], over: str | None, what: str) -> str:
    """The input to draw: `over`, or the first with this drawing; an error if the trace holds none.

    what   what is drawn, in the message: "arcs over"
    """
    found = [name for name, one in getattr(trace, kind.field).items() if kind.draws(one)]
    name = over if over is not None else next(iter(found), None)
    if name is None or name not in found:
        raise RegardError(f"the trace has no {what} {name!r}; it has: {', '.join(found) or 'none'}.")
    return name
