"""The panels of a trace: its figure, its heads, its hypotheses, and what each registered drawing adds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial

from regard import parts
from regard.inspect.drawings.drawing import drawn
from regard.inspect.figure import figure, unframed
from regard.inspect.heads import heads_figure
from regard.inspect.highlight import pieces
from regard.inspect.layout import below, frame
from regard.inspect.narrowing import with_short_words
from regard.inspect.page import links_shown, samples_shown
from regard.inspect.ranking import beam
from regard.inspect.scene import Scene
from regard.inspect.section import Card, PageSection
from regard.trace import Panel, Trace


def panels_of(trace: Trace) -> list[Panel]:
    """Everything that can be drawn of a trace, the default figure first, then by the rank of the drawings."""
    short = with_short_words(trace)
    drawings = sorted(
        (parts.part("drawing", name) for name in parts.names("drawing")), key=lambda one: one.rank
    )
    found = [Panel("figure", "Where it looked", lambda: figure(short, title=""))]
    found += _general(short)
    for field in ("seen", "structures"):
        found += _behind(short, field)
    for one in drawings:
        found += one.panels(short)
    return _distinct(found)


def _general(trace: Trace) -> Iterator[Panel]:
    """What every trace may hold: probabilities, links, heads, hypotheses, samples."""
    if trace.probabilities is not None and not trace.single:
        yield Panel("probabilities", "The probability of each piece", lambda: pieces(trace, title=""))
    if links := links_shown(trace):
        yield Panel("links", "Attention as links", lambda: _joined(links))
    for layer in trace.heads:
        yield Panel(f"heads: {layer}", f"Heads of {layer}", partial(heads_figure, trace, layer, title=""))
    if len(trace.hypotheses) > 1:
        yield Panel("hypotheses", "Hypotheses of the search", lambda: beam(trace))
    if sampled := samples_shown(trace):
        yield Panel("samples", "Samples", lambda: _joined(sampled))


def _behind(trace: Trace, field: str) -> Iterator[Panel]:
    """What the drawings of a field add below the figure."""
    several = len(getattr(trace, field)) > 1
    for name, drawing in drawn(trace, field).items():
        for section in drawing.sections(trace, name, ""):
            heading = f"{section.heading} of {name}" if several else section.heading
            if section.steps:
                yield Panel(_key(heading), heading, partial(_scenes, section.steps), stepwise=True)
            elif section.figures:
                yield Panel(_key(heading), heading, partial(_joined, [section]))


def _joined(sections: list[PageSection]) -> Scene:
    """The figures of sections, one below the other."""
    return stacked([_scene(one) for section in sections for one in section.figures])


def stacked(scenes: Sequence[Scene], titles: Sequence[str] = ()) -> Scene:
    """Several scenes as one, one below the other; with titles, if there are several."""
    if len(scenes) == 1:
        return scenes[0]
    blocks = []
    for number, scene in enumerate(scenes):
        shown = unframed(scene)
        blocks.append(unframed(frame(shown, title=titles[number])) if titles else shown)
    return frame(below(blocks, gap=32), description=" ".join(scene.description for scene in scenes))


def _scenes(cards: Sequence[Card]) -> list[Scene]:
    return list(map(_scene, cards))


def _scene(one: Scene | Trace | Card) -> Scene:
    shown = one.figure if isinstance(one, Card) else one
    return figure(shown, title="") if isinstance(shown, Trace) else shown


def _key(heading: str) -> str:
    return heading.lower()


def _distinct(found: list[Panel]) -> list[Panel]:
    """Panels with distinct names: the second of a name gets a number."""
    seen: dict[str, int] = {}
    made = []
    for one in found:
        seen[one.name] = seen.get(one.name, 0) + 1
        made.append(one if seen[one.name] == 1 else replace(one, name=f"{one.name} {seen[one.name]}"))
    return made
