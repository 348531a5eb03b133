"""The inputs and the output of a trace in one line, for titles."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence

from regard.inspect.writing import JOINER, linked, shorten_words, spaced, visible
from regard.trace import Trace

LONGEST = 160
"""Maximum number of characters of a title that consists of the output only."""


def headline(trace: Trace) -> str:
    """The title: for a text, input and output; for pointers, themselves; for a label, the question, if any. Trees and
    tapes have no title."""
    if trace.pointed:
        return str(next(iter(trace.pointed.values())))
    if trace.kind == "text":
        return reading(trace)
    drawn = (*trace.structures, *trace.attention, *trace.seen, *trace.tapes)
    asked = [join(pieces) for name, pieces in trace.input.items() if name not in drawn]
    labeled = any(one.holds_output for one in trace.structures.values())
    found = "" if trace.kind in ("tree", "bits") or labeled else answer(trace)
    return linked(filter(None, (linked(asked, "+"), found)), "→")


def answer(trace: Trace) -> str:
    """The title of a figure of words: a label with its probability, or the input and the output text."""
    if not trace.single:
        return reading(trace) if trace.kind == "text" else ""
    probability = "" if trace.probabilities is None else f"  ({trace.probabilities[0]:.2f})"
    return " ".join(trace.output) + probability


def written_text(trace: Trace) -> str:
    """The output, as a title."""
    if trace.kind == "text":
        return (shorten_words(trace.hypotheses[0][0], 60) or "∅") if trace.hypotheses else join(trace.output)
    return "" if trace.kind in ("tree", "tags") else answer(trace)


def reading(trace: Trace) -> str:
    """Inputs and output as one line: attention → AH T EH N SH AH N. Trees are drawn, not written."""
    read = [name for name in trace.input if name not in trace.seen]  # an image has no text
    named = read if trace.seen else list(trace.attention) or read
    # The drawing of a dialog has all of its turns: a title that repeats them hides the answer.
    sources = [_read(trace, name) for name in named if trace.layout.get(name) != "dialog"]
    if trace.kind == "tree":
        return linked(sources, "+")
    # The output as text, if known: pieces alone do not show the spaces.
    written = trace.hypotheses[0][0] if trace.hypotheses else ""
    if not sources:
        return shorten_words(written, LONGEST) or join(trace.output, longest=LONGEST)
    answer = shorten_words(visible(written), 60) if written else join(trace.output)
    return linked([linked(sources, "+"), answer], "→")


def _read(trace: Trace, name: str) -> str:
    """An input in one line. The positions of a tree are its phrases, the last of which is the whole sentence."""
    if name in trace.structures and trace.structures[name].last_is_whole:
        return shorten_words(visible(trace.input[name][-1]), 60) if trace.input[name] else "∅"
    return join(trace.input[name])


def join(pieces: Sequence[str], *, longest: int = 60) -> str:
    """Pieces as running text: letters are joined, words get spaces. A long text is cut between two pieces."""
    kept = [piece for piece in pieces if piece not in ("</s>", "<s>", "<pad>")]
    subwords = any("▁" in piece for piece in kept)
    split = any(JOINER in piece and len(piece) > 1 for piece in kept)
    letters = not split and all(len(piece) <= 1 or not piece[0].isalnum() for piece in kept)

    def first(count: int) -> str:
        some = kept[:count]
        if subwords:
            text = "".join(some).replace("▁", " ")
        else:
            text = "".join(some) if letters else spaced(some)
        return " ".join(text.split())

    text = first(len(kept)) or "∅"
    if len(text) <= longest:
        return text
    counts = range(min(len(kept), 4 * longest))  # more never fit, but for pieces that are blank
    fitting = bisect_left(counts, longest, key=lambda count: len(first(count))) - 1
    return (first(fitting) or text[: longest - 1].rstrip()) + "…"
