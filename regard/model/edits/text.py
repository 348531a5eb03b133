"""Edits as a short text, for the command line:

    3-0            output piece 0 looks at input position 3; '3-0 4-0': at 3 and 4
    3-0=0.7        … with this weight; the weights of a piece are renormalized
    !3-0           … does not look at position 3
    0:l,t,r,b      … looks at a region of an image; 0:from,to: at a span of time
    uniform-0      … looks everywhere alike
    permute-0      … has its own weights at random positions; permute-0=7: drawn with seed 7
    truth          the true attention, where it is known
    2>3, !2>3      word 3 must have the head 2, must not have it; head 0 is the root
    2..5-0         positions 2 to 4 are a segment for piece 0; !2..5-0: are none
    mask-3         word 3 of the input becomes unknown; mask:l,t,r,b: a region of an image

`*` in the place of the piece is every piece: `!3-*`, `uniform-*`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from regard.errors import RegardError
from regard.model.edits.edit import (
    WHERE,
    ArcEdit,
    Edit,
    How,
    MaskEdit,
    PermuteEdit,
    PinEdit,
    RegionEdit,
    SegmentEdit,
    SpanEdit,
    TruthEdit,
    UniformEdit,
    WeightsEdit,
    ZeroEdit,
    edit_of,
)

_STEP = r"(?P<step>\d{1,9}|\*)"
_NUMBER = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
_FORMS = {
    "link": rf"(?P<position>\d{{1,9}})-{_STEP}(?:=(?P<weight>{_NUMBER}))?",
    "zero": rf"!(?P<position>\d{{1,9}})-{_STEP}",
    "place": rf"{_STEP}:(?P<box>{_NUMBER}(?:,{_NUMBER})*)",
    "uniform": rf"uniform-{_STEP}",
    "permute": rf"permute-{_STEP}(?:=(?P<seed>\d{{1,18}}))?",
    "truth": "truth",
    "arc": r"(?P<forbid>!?)(?P<head>\d{1,9})>(?P<dependent>\d{1,9})",
    "segment": rf"(?P<forbid>!?)(?P<start>\d{{1,9}})\.\.(?P<end>\d{{1,9}})-{_STEP}",
    "mask": r"mask-(?P<position>\d{1,9})",
    "hidden": rf"mask:(?P<box>{_NUMBER}(?:,{_NUMBER})*)",
}
_PATTERNS = {name: re.compile(form, re.ASCII) for name, form in _FORMS.items()}
FORMS = "3-0, 3-0=0.7, !3-0, 0:0.1,0.2,0.3,0.5, uniform-0, permute-0, truth, 2>3, !2>3, 2..5-0 or mask-3"


def parsed(text: str, name: str | None = None) -> list[Edit]:
    """The edits of a text about the input `name`, in their order. Links of one piece are one edit, as are positions
    without weight of one piece and masked words."""
    found: list[Edit] = []
    links: dict[int | None, dict[int, float | None]] = {}
    zeros: dict[int | None, list[int]] = {}
    masked: list[int] = []
    places: dict[int | None, int] = {}
    for word in text.split():
        form, given = _matched(word, text)
        step = _step(given)
        if form == "link":
            if step not in links:
                links[step], places[step] = {}, len(found)
                found.append(UniformEdit(input=name, step=step))  # its place; the links follow
            links[step][int(given["position"])] = None if given["weight"] is None else float(given["weight"])
        elif form == "zero":
            zeros.setdefault(step, []).append(int(given["position"]))
        elif form == "mask":
            masked.append(int(given["position"]))
        else:
            found.append(_single(form, given, step, name, word))
    for step, weights in links.items():
        found[places[step]] = _row(name, step, weights)
    found += [ZeroEdit(input=name, step=step, positions=several) for step, several in zeros.items()]
    return [*found, MaskEdit(input=name, positions=masked)] if masked else found


def _row(name: str | None, step: int | None, weights: Mapping[int, float | None]) -> Edit:
    position, weight = next(iter(weights.items()))
    if len(weights) == 1 and weight is None:
        return PinEdit(input=name, step=step, position=position)
    known = {place: 1.0 if one is None else one for place, one in weights.items()}
    return WeightsEdit(input=name, step=step, weights=known)


def _matched(word: str, text: str) -> tuple[str, dict[str, Any]]:
    for form, pattern in _PATTERNS.items():
        match = pattern.fullmatch(word)
        if match is not None:
            return form, match.groupdict()
    if ":" in word:
        cause = "expected token:left,top,right,bottom or token:begin,end, from 0 to 1"
    else:
        cause = "expected source-target positions such as 0-0 1-2, or another edit"
    raise RegardError(f"{cause}; received {word!r}.", where=f"{WHERE} {text!r}", fix=f"Write {FORMS}.")


def _single(form: str, given: Mapping[str, Any], step: int | None, name: str | None, word: str) -> Edit:
    if form == "uniform":
        return UniformEdit(input=name, step=step)
    if form == "permute":
        return PermuteEdit(input=name, step=step, seed=int(given["seed"] or 0))
    if form == "truth":
        return TruthEdit(input=name)
    how: How = "forbid" if given.get("forbid") else "force"
    if form == "arc":
        return ArcEdit(input=name, head=int(given["head"]), dependent=int(given["dependent"]), how=how)
    if form == "segment":
        return SegmentEdit(input=name, step=step, start=int(given["start"]), end=int(given["end"]), how=how)
    box = [float(number) for number in given["box"].split(",")]
    if form == "hidden":
        return MaskEdit(input=name, box=box)
    if len(box) not in (2, 4):
        raise RegardError(
            f"expected token:left,top,right,bottom or token:begin,end, from 0 to 1; received {word!r}.",
            where=WHERE,
        )
    if len(box) == 2:
        return SpanEdit(input=name, step=step, start=box[0], end=box[1])
    return RegionEdit(input=name, step=step, box=box)


def _step(given: Mapping[str, Any]) -> int | None:
    step = given.get("step")
    return None if step is None or step == "*" else int(step)


def written(edits: Sequence[Edit | Mapping[str, Any]], *, only: str | None = None) -> str:
    """The text that `regard show --look` takes for these edits.

    It is short, or a JSON object by the names of the inputs if the edits name them, or a JSON list if the order of the
    edits matters.

    only   the only input that is attended to, whose name may be left out
    """
    known = [edit_of(one) for one in edits]
    names = [None if one.input == only else one.input for one in known]
    by_name = {name: [one for one, own in zip(known, names, strict=True) if own == name] for name in names}
    texts = {name: " ".join(map(_written, several)) for name, several in by_name.items()}
    if any(parsed(texts[name], several[0].input) != several for name, several in by_name.items()) or (
        None in texts and len(texts) > 1
    ):
        return json.dumps([one.to_dict() for one in known], ensure_ascii=False)
    if set(texts) <= {None}:
        return texts.get(None, "")
    return json.dumps(texts, ensure_ascii=False)


def _written(edit: Edit) -> str:
    """One edit as text."""
    step = getattr(edit, "step", None)
    at = "*" if step is None else str(step)
    no = "!" if getattr(edit, "how", "") == "forbid" else ""
    match edit:
        case WeightsEdit(weights=weights):
            even = len(weights) > 1 and set(weights.values()) == {1.0}
            return " ".join(f"{s}-{at}" if even else f"{s}-{at}={w!r}" for s, w in weights.items())
        case PinEdit(position=position):
            return f"{position}-{at}"
        case ZeroEdit(positions=positions):
            return " ".join(f"!{position}-{at}" for position in positions)
        case UniformEdit():
            return f"uniform-{at}"
        case PermuteEdit(seed=seed):
            return f"permute-{at}={seed}" if seed else f"permute-{at}"
        case RegionEdit(box=box):
            return f"{at}:{_numbers(box)}"
        case SpanEdit(start=start, end=end):
            return f"{at}:{_numbers((start, end))}"
        case ArcEdit(head=head, dependent=dependent):
            return f"{no}{head}>{dependent}"
        case SegmentEdit(start=start, end=end):
            return f"{no}{start}..{end}-{at}"
        case MaskEdit(box=None, positions=positions):
            return " ".join(f"mask-{position}" for position in positions)
        case MaskEdit(box=box):
            return f"mask:{_numbers(box or ())}"
    return edit.kind


def _numbers(values: Sequence[float]) -> str:
    return ",".join(f"{value:g}" if float(f"{value:g}") == value else repr(value) for value in values)
