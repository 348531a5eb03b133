"""A self-contained web page: headings, numbers, tables and figures in one file that works offline.

Light and dark follow the reader's system; print is always light. Hovering over a row of a heatmap fades the others (CSS
only) and shades the source pieces by their weight (a few lines of script).
"""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from html import escape

from regard.inspect.alignment import alignment
from regard.inspect.drawings.drawing import drawing_for, drawn
from regard.inspect.figure import figure
from regard.inspect.heads import heads_figure
from regard.inspect.narrowing import with_short_words
from regard.inspect.page_style import REPORT, SCRIPT, STYLE
from regard.inspect.ranking import beam, labels
from regard.inspect.samples import samples
from regard.inspect.scene import Scene
from regard.inspect.section import Card, PageSection
from regard.inspect.shaded_table import shaded_html
from regard.inspect.svg import SANS, stylesheet, svg
from regard.inspect.titles import headline, reading
from regard.reporting.terminal import printable
from regard.trace import Trace
from regard.trace.prediction import Prediction


@dataclass(frozen=True)
class LiveModule:
    """A script that makes a page alive, and its style sheet, to be written into the page."""

    script: str
    style: str


CODE = re.compile("`([^`\n]+)`")
"""A span of code in a text."""
TALL = 20
"""Rows of a sortable table that are shown without scrolling in it."""


def page(
    title: str,
    sections: Sequence[PageSection],
    *,
    subtitle: str = "",
    heading: bool = True,
    contents: bool = False,
    script: bool = True,
    live: LiveModule | None = None,
    sealed: bool = False,
) -> str:
    """The page as HTML.

    heading    whether the title is shown at the top of the page; a single figure has its own title
    contents   whether a line of links to the sections follows the title
    script     False: without scripts
    live       the module that makes figures and tables alive, instead of the few lines of this page
    sealed     forbid everything that is not in the page: other scripts, connections, images of the network
    """
    laid = [_laid_out(section) for section in sections]
    scenes = [card.figure for one in laid for card in one.cards() if isinstance(card.figure, Scene)]
    top = f"<header><h1>{_text(title)}</h1>{_paragraph(subtitle, 'subtitle')}</header>" if heading else ""
    top += _contents(sections) if contents else ""
    body = "\n".join(_section(one, f"s{number}" if contents else "") for number, one in enumerate(laid, 1))
    style = f"{STYLE}\n{REPORT}" if contents else STYLE
    style += f"\n{live.style}" if live is not None else ""
    written = live.script if live is not None else SCRIPT if script else ""
    policy = f"\n{_policy([written] if written else [])}" if sealed else ""
    main = ' data-live="report"' if live is not None else ""
    scripts = f"\n<script>{written}</script>" if written else ""
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">{policy}
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{_text(title)}</title>
<style>
body{{font-family:{SANS}}}
{style}
{stylesheet(scenes)}
</style>
</head>
<body>
<main{main}>
{top}
{body}
</main>{scripts}
</body>
</html>
"""


def trace_page(trace: Trace, *, title: str | None = None) -> str:
    """A page about one prediction: its figure, what its drawings add (marginals, samples, all sentences), the attention
    as links between words, and the hypotheses of the search."""
    trace = with_short_words(trace)
    sections = [
        PageSection(figures=[figure(trace, title="")]),
        *_behind(trace),
        *_heads(trace),
        *links_shown(trace),
    ]
    if len(trace.hypotheses) > 1:
        sections.append(PageSection("Hypotheses of the search", figures=[beam(trace)]))
    if title is None:
        title = (headline(trace) if trace.structures or trace.seen else "") or reading(trace)
    return page(title, sections)


def _behind(trace: Trace) -> list[PageSection]:
    """What the drawings add, and the samples of structures; sections with equal headings become one."""
    found: dict[str, PageSection] = {}
    for field in ("seen", "structures"):
        several = len(getattr(trace, field)) > 1
        for name, drawing in drawn(trace, field).items():
            for one in drawing.sections(trace, name, name if several else ""):
                before = found.get(one.heading)
                found[one.heading] = (
                    one if before is None else replace(before, figures=[*before.figures, *one.figures])
                )
    return [*found.values(), *samples_shown(trace)]


def samples_shown(trace: Trace) -> list[PageSection]:
    """The samples of structures."""
    sampled = [name for name, one in trace.structures.items() if one.samples is not None and len(one.samples)]
    cards = [Card(samples(trace, over=name), name if len(trace.structures) > 1 else "") for name in sampled]
    text = "Each distinct sample once, the most frequent first."
    return [PageSection("Samples", text, figures=cards)] if cards else []


def links_shown(trace: Trace) -> list[PageSection]:
    """The attention of a short text as links between words."""
    longest = max([len(trace.output), *(len(pieces) for pieces in trace.input.values())], default=0)
    shown = [name for name in trace.attention if name not in trace.seen and _linked(trace, name)]
    if not shown or trace.kind != "text" or not trace.output or longest > 40:
        return []
    ties = [
        Card(alignment(trace, over=name), heading=name if len(shown) > 1 else "")
        for name in shown
        if trace.input[name]
    ]
    told = " True links are orange." if trace.truth else ""
    text = f"Links with a weight of at least 0.1; the thicker, the larger.{told}"
    return [PageSection("Attention as links", text, figures=ties)]


def _linked(trace: Trace, name: str) -> bool:
    """Whether links to the positions of an input tell more than the drawing of its structure."""
    if name not in trace.structures:
        return True
    drawing = drawing_for(trace.structures[name])
    return drawing is not None and drawing.links


def _heads(trace: Trace) -> list[PageSection]:
    """The attention of each head of each layer."""
    if not trace.heads:
        return []
    text = "The attention of each head of each layer. Rows are queries, columns are positions."
    return [PageSection("Heads", text, figures=[heads_figure(trace, title="")])]


def prediction_fragment(prediction: Prediction) -> str:
    """The notebook view of a prediction: the answer, its score, and its figure."""
    parts = [
        f"<div><strong>{_text(prediction.text)}</strong> <small>log p = {prediction.score:.3f}</small></div>"
    ]
    if prediction.trace is not None:
        parts.append(figure(prediction.trace, title="")._repr_html_())
    if prediction.probabilities:
        parts.append(labels(prediction.probabilities)._repr_html_())
    elif len(prediction.alternatives) > 1:
        parts.append(beam(prediction.alternatives)._repr_html_())
    return "".join(parts)


def _card(one: Scene | Trace | Card) -> Card:
    """A trace becomes its figure, without its own title if the card has a heading."""
    card = one if isinstance(one, Card) else Card(one)
    if isinstance(card.figure, Trace):
        title = "" if card.heading or card.answer else None
        return Card(figure(card.figure, title=title), card.heading, card.answer, card.note)
    return card


@dataclass(frozen=True)
class _LaidOut:
    """A section whose traces are figures, and those inside it."""

    section: PageSection
    figures: Sequence[Card]
    beside: Sequence[_LaidOut]
    below: Sequence[_LaidOut]

    def cards(self) -> Iterator[Card]:
        yield from (*self.section.steps, *self.figures)
        for one in (*self.beside, *self.below):
            yield from one.cards()


def _laid_out(section: PageSection) -> _LaidOut:
    inner = ([_laid_out(one) for one in some] for some in (section.beside, section.below))
    return _LaidOut(section, [_card(one) for one in section.figures], *inner)


def _section(laid: _LaidOut, name: str = "", level: int = 2) -> str:
    section, cards = laid.section, laid.figures
    parts = [f"<h{level}>{_text(section.heading)}</h{level}>"] if section.heading else []
    parts += [_paragraph(text) for text in section.text.split("\n\n") if text]
    if section.facts:
        tiles = "".join(
            f"<div><dt>{_text(name)}</dt><dd>{_text(value)}</dd></div>"
            for name, value in section.facts.items()
        )
        parts.append(f'<dl class="facts">{tiles}</dl>')
    if section.steps:
        parts.append(_stepper(section.steps))
    if cards:
        kind = "cards" if len(cards) > 1 else "cards single"
        parts.append(f'<div class="{kind}">{"".join(map(_figure, cards))}</div>')
    if section.table is not None:
        parts.append(_table(*section.table, sortable=section.sortable))
    if section.shaded is not None:
        parts.append(shaded_html(section.shaded))
    if section.html:
        parts.append(section.html)
    if section.code:
        parts.append(f"<pre><code>{_text(section.code)}</code></pre>")
    if laid.beside:
        inner = "".join(_section(one, level=level + 1) for one in laid.beside)
        parts.append(f'<div class="beside">{inner}</div>')
    parts += [_section(one, level=level + 1) for one in laid.below]
    return f"<section{f' id={name}' if name else ''}>{''.join(parts)}</section>"


def _contents(sections: Sequence[PageSection]) -> str:
    links = "".join(
        f'<a href="#s{number}">{_text(section.heading)}</a>'
        for number, section in enumerate(sections, 1)
        if section.heading
    )
    return f'<nav aria-label="contents">{links}</nav>'


def _policy(scripts: Sequence[str]) -> str:
    """Nothing is loaded, and no other script runs than these."""
    hashes = [b64encode(sha256(script.encode()).digest()).decode() for script in scripts]
    allowed = " ".join(f"'sha256-{one}'" for one in hashes) or "'none'"
    rules = f"default-src 'none'; style-src 'unsafe-inline'; img-src data:; script-src {allowed}"
    return f'<meta http-equiv="Content-Security-Policy" content="{rules}">'


def frame_of_page(html: str, height: int = 640) -> str:
    """A page inside a notebook, in a frame in which no script runs."""
    return (
        f'<iframe sandbox srcdoc="{escape(html)}" title="report" '
        f'style="width:100%;height:{height}px;border:1px solid #8884;border-radius:.5rem"></iframe>'
    )


def _stepper(cards: Sequence[Card]) -> str:
    """Figures one at a time, chosen by a slider; the last is shown first."""
    count = len(cards)
    slider = (
        f'<label class="slider">step <input type="range" min="1" max="{count}" value="{count}">'
        f"<output>{count} of {count}</output></label>"
    )
    return f'<div class="steps">{slider}{"".join(map(_figure, cards))}</div>'


def _figure(card: Card) -> str:
    answer = f'<span class="answer">{_text(card.answer)}</span>' if card.answer else ""
    head = f"<h3>{_text(card.heading)}{answer}</h3>" if card.heading or answer else ""
    drawing = svg(card.figure, standalone=False) if isinstance(card.figure, Scene) else ""
    size = f' style="--width:{card.figure.width:g}px"' if isinstance(card.figure, Scene) else ""
    scroller = f'<div class="scroller">{drawing}</div>'
    return f'<figure>{head}<div class="drawing"{size}>{scroller}</div>{_caption(card.note)}</figure>'


def _caption(note: str) -> str:
    return f"<figcaption>{_text(note)}</figcaption>" if note else ""


def _table(head: Sequence[str], rows: Sequence[Sequence[object]], *, sortable: bool = False) -> str:
    def cell(value: object) -> str:
        number = isinstance(value, int | float)
        return f"<td{' class=number' if number else ''}>{_text(_shown(value))}</td>"

    numeric = [bool(rows) and all(isinstance(row[i], int | float) for row in rows) for i in range(len(head))]
    first = "".join(
        f'<th scope="col"{" class=number" if number else ""}>{_text(name)}</th>'
        for name, number in zip(head, numeric, strict=True)
    )
    first = first if any(head) else ""
    kind = ' class="sortable"' if sortable else ""
    box = "scroll tall" if sortable and len(rows) > TALL else "scroll"
    body = "".join(f"<tr>{''.join(map(cell, row))}</tr>" for row in rows)
    return (
        f'<div class="{box}"><table{kind}><thead><tr>{first}</tr></thead><tbody>{body}</tbody></table></div>'
    )


def _shown(value: object) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _paragraph(text: str, kind: str = "") -> str:
    named = f' class="{kind}"' if kind else ""
    words = CODE.sub(r"<code>\1</code>", _text(text))
    return f'<p{named} dir="auto">{words}</p>' if text else ""


def _text(text: str) -> str:
    """Escaped text without control characters, except line breaks."""
    return escape("\n".join(map(printable, text.split("\n"))))
