"""Running text shaded by attention, for labels, and texts with a note below each word."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import zip_longest

import numpy as np

from regard.errors import RegardError
from regard.inspect.attention_rows import attention_rows
from regard.inspect.drawings.words import WeightedWords
from regard.inspect.handles import PieceHandle, WeightHandle
from regard.inspect.layout import IDLE, Block, below, color_scale, frame, idle_sign
from regard.inspect.palette import Over, Shade
from regard.inspect.scene import Group, Mark, Rect, Scene, Text
from regard.inspect.titles import answer
from regard.inspect.writing import is_special, runs_right_to_left, text_width, visible
from regard.trace import Array, Trace

SIZE = 15.0
WIDTH = 680.0


def draw_words(words: WeightedWords, *, width: float = WIDTH) -> Block:
    """The words in lines of at most `width`, each on a background shaded by its weight."""
    rtl = runs_right_to_left(words.words)
    notes = bool(words.notes)
    height = SIZE + 12 + (17 if notes else 0)
    marks: list[Mark] = []
    top = 0.0
    if words.title:
        marks.append(Text(0, 12, words.title, size=13, bold=True))
        top = 24.0
    lines = _lines(words, width)
    widest = max((sum(size for _, size in line) for line in lines), default=0.0)
    for line in lines:
        x = widest if rtl else 0.0
        for place, size in line:
            left = x - size if rtl else x
            marks.append(_word(words, place, left, top, size - 4))
            x += -size if rtl else size
        top += height
    group = Group(tuple(marks), kind="words", content=words)
    return Block((group,), max(widest, text_width(words.title, 14)), max(top - 5, 20.0))


def _lines(words: WeightedWords, width: float) -> list[list[tuple[int, float]]]:
    """The indices of the words of each line, with the width of each."""
    lines: list[list[tuple[int, float]]] = [[]]
    used = 0.0
    for place, word in enumerate(words.words):
        note = text_width(words.notes[place], 11) if words.notes else 0.0
        size = max(text_width(visible(word), SIZE), note) + 14
        if lines[-1] and used + size > width:
            lines.append([])
            used = 0.0
        lines[-1].append((place, size))
        used += size
    return lines


def _word(words: WeightedWords, place: int, x: float, y: float, width: float) -> Group:
    word, shade = words.words[place], Shade(words.share(place))
    weight = float(words.weights[place])
    tip = f"{visible(word)}  {weight:.3f}" if np.isfinite(weight) else visible(word)
    tip += f"\n{IDLE}" if words.is_idle(place) else ""
    tags = (("place", str(place)), ("value", f"{weight:.6g}"))
    marks: list[Mark] = []
    if not words.bars:
        marks.append(Rect(x, y, width, SIZE + 8, fill=shade, radius=4, tip=tip, tags=tags))
    elif np.isfinite(weight):
        line, drawn = y + SIZE + 6, max(3.0, (width - 4) * words.share(place))
        marks.append(Rect(x + 2, line, width - 4, 3, fill="faint", radius=1.5))
        marks.append(Rect(x + 2, line, drawn, 3, fill="accent", radius=1.5, tip=tip, tags=tags))
    color = Over(shade) if not words.bars else "muted" if is_special(word) else "ink"
    marks.append(Text(x + width / 2, y + SIZE + 1.5, visible(word), size=SIZE, anchor="middle", color=color))
    if words.is_idle(place):
        marks += idle_sign(x + width - 6, y + 6, 2.5, color)
    if words.notes:
        note = words.notes[place]
        marks.append(Text(x + width / 2, y + SIZE + 22, note, size=11, anchor="middle", color="muted"))
    at = words.handles[place] if words.handles else None
    return Group(tuple(marks), kind="word", at=at)


def highlight(trace: Trace, *, title: str | None = None) -> Scene:
    """The text of each attended input, shaded by attention, and the predicted label; once per glimpse if there are
    several.

    The scale ends at the largest weight, because every word of a long text has a small one.
    """
    if not trace.attention:
        raise RegardError(
            "this trace has no attention to shade the words by.", fix="Use regard.inspect.figure(trace)."
        )
    shown = [
        WeightedWords(
            tuple(trace.input[name]),
            weights,
            title=glimpse or (name if len(trace.attention) > 1 else ""),
            handles=tuple(WeightHandle(name, step, s, float(one)) for s, one in enumerate(weights)),
            idle=_idle(trace, name, weights),
        )
        for name, step, glimpse, weights in _shades(trace)
    ]
    limit = max(float(words.weights.max(initial=0.0)) for words in shown) or 1.0
    blocks = [draw_words(replace(words, limit=limit)) for words in shown]
    idle = any(words.idle is not None for words in shown)
    legend = color_scale(name="weight", limit=round(limit, 3), idle=idle)
    return frame(
        below([*blocks, legend]), title=answer(trace) if title is None else title, description=_spoken(trace)
    )


def _idle(trace: Trace, name: str, weights: Array) -> Array | None:
    """(S,) which weights of an answer are without effect; None if it is not known."""
    found = trace.idle(name, weights[None, :])
    return None if found is None else found[0]


def _shades(trace: Trace) -> Iterator[tuple[str, int, str, Array]]:
    """The attended inputs with a step and a weight for each word, (S,), per glimpse or for the whole answer."""
    several = len(trace.attention) > 1
    for name, weights in trace.attention.items():
        if name in trace.glimpses:
            found = attention_rows(trace, name)
            for step, (glimpse, row) in enumerate(zip(found.names, found.weights, strict=True)):
                yield name, step, f"{name}, {glimpse}" if several else glimpse, row
        else:
            yield name, 0, "", weights.mean(axis=0) if len(weights) else np.zeros(weights.shape[1])


def pieces(trace: Trace, *, title: str | None = None) -> Scene:
    """The output, piece by piece, with probabilities: for tags, and for models without attention.

    Tags are below the words they belong to; a bar below each word shows the model's certainty.
    """
    probabilities = trace.probabilities
    sure = np.full(len(trace.output), np.nan) if probabilities is None else probabilities
    source = next(iter(trace.input.values()), [])
    steps = tuple(map(PieceHandle, range(len(trace.output))))
    if trace.kind == "tags" and len(source) == len(trace.output):
        words = WeightedWords(tuple(source), sure, notes=tuple(trace.output), bars=True, handles=steps)
    else:
        notes = tuple(f"{p:.2f}" for p in sure) if probabilities is not None else ()
        words = WeightedWords(tuple(trace.output), sure, notes=notes, bars=True, handles=steps)
    spoken = " ".join(
        f"{word} {note}".rstrip() for word, note in zip_longest(words.words, words.notes, fillvalue="")
    )
    return frame(draw_words(words), title=answer(trace) if title is None else title, description=spoken)


def shaded(words: Sequence[str], weights: Array, *, title: str = "", limit: float | None = None) -> Scene:
    """Any words shaded by any weights, (S,)."""
    if len(words) != len(weights):
        raise RegardError(
            f"{len(words)} words and {len(weights)} weights: expected one weight for each word."
        )
    top = float(np.max(weights, initial=0.0)) if limit is None else limit
    return frame(
        draw_words(WeightedWords(tuple(words), np.asarray(weights, dtype=np.float64), limit=top or 1.0)),
        title=title,
    )


def _spoken(trace: Trace) -> str:
    parts = []
    for name, _, glimpse, weights in _shades(trace):
        idle = _idle(trace, name, weights)
        first = [
            f"{visible(trace.input[name][int(s)])} ({weights[s]:.2f}"
            f"{f', {IDLE}' if idle is not None and idle[s] else ''})"
            for s in np.argsort(-weights, kind="stable")[:5]
        ]
        parts.append(f"Most attended in {glimpse or name}: {', '.join(first)}.")
    return " ".join(parts)
