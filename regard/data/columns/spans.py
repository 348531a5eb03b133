"""Spans as tags: groups of tokens, written as one tag per token.

    IOB1    I-NP inside; B-NP only if a span of the same kind precedes immediately
    BIO     B-NP starts every span, I-NP continues it
    BIOES   B-NP starts, I-NP continues, E-NP ends; S-NP is a span of one token (L and U in BILOU)

`spans` reads all three by the conventions of conlleval (Tjong Kim Sang and Buchholz 2000): a span starts at a tag that
says so, or at a tag whose predecessor is not in a span of its kind. "O", and any tag without a dash, is outside.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal

Scheme = Literal["bio", "bioes"]
Span = tuple[int, int, str]
"""First token, the token after the last, kind."""

OUTSIDE = "O"
BEGINS, GOES_ON, ENDS = frozenset("BSU"), frozenset("IEL"), frozenset("ESLU")


def parts(tag: str) -> tuple[str, str]:
    """("B", "NP") of "B-NP"; ("O", "") of a tag outside."""
    mark, dash, kind = tag.partition("-")
    return (mark, kind) if dash and mark in BEGINS | GOES_ON else (OUTSIDE, "")


def spans(tags: Sequence[str]) -> list[Span]:
    """The spans of a sequence of tags, in order."""
    found: list[Span] = []
    start, before = 0, (OUTSIDE, "")
    for place, tag in enumerate([*tags, OUTSIDE]):
        mark, kind = parts(tag)
        previous, kind_before = before
        inside = previous != OUTSIDE
        ended = inside and (mark == OUTSIDE or mark in BEGINS or kind != kind_before or previous in ENDS)
        if ended:
            found.append((start, place, kind_before))
        if mark != OUTSIDE and (ended or not inside):
            start = place
        before = mark, kind
    return found


def write_spans(found: Sequence[Span], length: int, scheme: Scheme) -> list[str]:
    """The spans as one tag per token."""
    tags = [OUTSIDE] * length
    for start, end, kind in found:
        for place in range(start, end):
            first, last = place == start, place == end - 1
            if scheme == "bio":
                mark = "B" if first else "I"
            else:
                mark = "S" if first and last else "B" if first else "E" if last else "I"
            tags[place] = f"{mark}-{kind}"
    return tags


def rewrite(tags: Sequence[str], scheme: Scheme) -> list[str]:
    """The same spans in another scheme."""
    return write_spans(spans(tags), len(tags), scheme)


def is_span_tag(tag: str) -> bool:
    """Whether a tag marks a part of a span: B-NP, I-PER, U-LOC."""
    mark, dash, kind = tag.partition("-")
    return bool(dash and kind) and mark in BEGINS | GOES_ON


def scheme_of(sequences: Iterable[Sequence[str]]) -> Scheme | None:
    """The scheme to which to convert the tags of a corpus: their own, or bio if they are IOB1; None if they do not mark
    spans."""
    tags = {tag for sequence in sequences for tag in sequence}
    if not any(map(is_span_tag, tags)) or not all(tag == OUTSIDE or is_span_tag(tag) for tag in tags):
        return None
    return "bioes" if any(parts(tag)[0] in "ESLU" for tag in tags if is_span_tag(tag)) else "bio"


def may_follow(before: str | None, after: str | None, scheme: Scheme) -> bool:
    """Whether a tag may follow another; None stands for the positions before the first and after the last token."""
    mark, kind = (OUTSIDE, "") if after is None else parts(after)
    previous, kind_before = (OUTSIDE, "") if before is None else parts(before)
    if scheme == "bio":
        return mark != "I" or (previous in "BI" and kind == kind_before)
    open_before = previous in ("B", "I")
    if open_before != (mark in ("I", "E")):
        return False
    return not open_before or kind == kind_before


def first_fault(tags: Sequence[str], scheme: Scheme) -> str | None:
    """The first violation of the scheme in a sequence, to follow its name in a message."""
    marks = "BIO" if scheme == "bio" else "BIOES"
    for place, tag in enumerate(tags, start=1):
        if parts(tag)[0] not in marks:
            return f"has {tag} at token {place}, which is not a tag of {scheme}"
    for place, (before, after) in enumerate(zip([None, *tags], [*tags, None], strict=True), start=1):
        if not may_follow(before, after, scheme):
            first = "the beginning" if before is None else before
            then = "the end" if after is None else f"{after} (token {place})"
            return f"has {first} before {then}, which {scheme} does not allow"
    return None
