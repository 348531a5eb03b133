"""The encoder of another input, with its weights."""

from __future__ import annotations

from typing import Any

from regard.errors import RegardError
from regard.nn.encoders.encoder import Encoder
from regard.nn.memory import Memory
from regard.parts import Mistakes, Plan, nearest, register


@register("encoder", "shared")
class SharedEncoder(Encoder):
    """No weights of its own: the encoder of the input `of` reads this input too."""

    class Options(Encoder.Options):
        """The encoder of another input, with its weights: for two inputs of the same kind."""

        of: str
        """The input whose encoder to share."""

    reads = ("text", "document", "story", "dialog", "image", "video", "audio", "series")

    @classmethod
    def owner(cls, options: Any) -> str | None:
        return str(options.of)

    @classmethod
    def build(cls, options: Any, column: Any, *, read_files: bool = True) -> Encoder:
        raise _alone(options.of)

    def forward(self, collated: Any) -> Memory:
        raise _alone("another input")

    @classmethod
    def board(cls, options: Any) -> list[str]:
        return [f"j = 1 … S     — the same equations and weights as {options.of}"]

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
                f"{options.of} and {name} share an encoder, but their vocabularies differ.",
                "of",
                fix=f"Add  shared: {options.of}  to the input {name}.",
            )


def _alone(owner: str) -> RegardError:
    return RegardError(f"a shared encoder has no weights of its own: the encoder of {owner} reads its input.")
