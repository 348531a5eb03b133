"""Whether the parts of a label decoder fit together."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from regard.errors import RegardError
from regard.spec.decoders import LabelDecoderSpec
from regard.spec.messages import nearest

if TYPE_CHECKING:
    from regard.spec.spec import Spec

Where = Callable[..., str]


def check_label(spec: Spec, name: str, decoder: LabelDecoderSpec, where: Where) -> None:
    """What asks is another input than what is looked at, and asks an attention."""
    place = ("decoder", name)
    for option in ("query", "glimpses", "whole", "where"):
        if option in decoder.model_fields_set and decoder.attention is None:
            raise RegardError(
                f"{option} is about an attention, and this decoder has none.",
                where=where(*place, option),
                fix="Add  attention: {over: INPUT}, or leave it out.",
            )
    if "combine" in decoder.model_fields_set and decoder.hidden is None:
        raise RegardError(
            "combine says how a hidden layer puts its parts together, and this decoder has none.",
            where=where(*place, "combine"),
            fix="Add  hidden: 128, or leave it out.",
        )
    if decoder.combine == "gated" and len(decoder.over or spec.encoder) < 2:
        raise RegardError(
            "combine: gated lets one input gate another, and this decoder has one.",
            where=where(*place, "combine"),
            fix="Use combine: beside.",
        )
    if decoder.query is None or decoder.attention is None:
        return
    read = decoder.over or tuple(spec.encoder)
    if decoder.query not in read:
        raise RegardError(
            f"no input {decoder.query!r} can ask.",
            where=where(*place, "query"),
            fix=nearest(decoder.query, list(read)),
        )
    if decoder.query == decoder.attention.over:
        raise RegardError(
            f"{decoder.query} asks, and is what is looked at.",
            where=where(*place, "query"),
            fix="Name another input, or leave query out: then the query is learned.",
        )
