"""What only a decoder that looks again at every word can do."""

from __future__ import annotations

from collections.abc import Callable

from regard.errors import RegardError
from regard.spec.attention import AttentionSpec
from regard.spec.decoders import RecurrentDecoderSpec

Where = Callable[..., str]


def check_looking(decoder: object, attention: AttentionSpec, where: Where, place: tuple[str, ...]) -> None:
    """Draws and coverage belong to texts; options of hard attention to hard attention."""
    written = isinstance(decoder, RecurrentDecoderSpec)
    if attention.select == "hard" and not written:
        raise RegardError(
            "select: hard is learned from the words that follow a draw, and this decoder writes none.",
            where=where(*place, "select"),
            fix="Choose softmax, or use it with  decoder: {type: recurrent}.",
        )
    if attention.coverage and not written:
        raise RegardError(
            "coverage sums where all words of a text look, and this decoder writes none.",
            where=where(*place, "coverage"),
            fix="Leave it out.",
        )
    if attention.coverage and attention.select in ("uniform", "oracle"):
        raise RegardError(
            f"coverage changes where a decoder looks, and select: {attention.select} has nothing to learn.",
            where=where(*place, "coverage"),
            fix="Leave it out, or choose softmax.",
        )
    if "hard" in attention.model_fields_set and attention.select != "hard":
        raise RegardError(
            f"hard: … holds the options of select: hard, and this is select: {attention.select}.",
            where=where(*place, "hard"),
            fix="Leave it out, or write  select: hard.",
        )
