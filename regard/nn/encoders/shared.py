"""The encoder of another input, weights and all."""

from __future__ import annotations

from typing import Any

from regard.nn.encoders.encoder import Encoder
from regard.parts import Mistakes, Plan, nearest, register


@register("encoder", "shared")
class SharedEncoder(Encoder):
    """Two texts of one kind are read in one way: no weights of its own, those of the encoder of `of`."""

    class Options(Encoder.Options):
        """The encoder of another input, weights and all: two texts of one kind are read in one way."""

        of: str
        """The input whose encoder it is."""

    reads = ("text", "document", "story", "dialog", "image", "video", "audio", "series")

    @classmethod
    def owner(cls, options: Any) -> str | None:
        return str(options.of)

    @classmethod
    def board(cls, options: Any) -> list[str]:
        return [f"j = 1 … S     — read as {options.of} is, by the same equations and weights"]

    @classmethod
    def check(cls, options: Any, name: str, plan: Plan, mistakes: Mistakes) -> None:
        owners = [other for other, one in plan.encoder.items() if one.part.owner(one) is None]
        if options.of not in owners:
            mistakes.add(
                f"no input {options.of!r} has an encoder of its own to share.",
                "of",
                fix=nearest(options.of, owners),
            )
            return
        mine, theirs = (getattr(plan.inputs[one], "shared", None) or one for one in (name, options.of))
        if hasattr(plan.inputs[name], "shared") and mine != theirs:
            mistakes.add(
                f"one encoder reads {options.of} and {name}, whose vocabularies are two.",
                "of",
                fix=f"Add  shared: {options.of}  to the input {name}.",
            )
