"""Tying: one table of vectors for the embeddings of both sides and the output weights (Press and Wolf 2017)."""

from __future__ import annotations

from typing import Any

from regard.nn.encoders import owner_of
from regard.parts import Mistakes, Plan


def check_tie(options: Any, name: str, plan: Plan, mistakes: Mistakes) -> None:
    """Require what `tie` needs: trainable vectors, and with `all` one vocabulary and one embedding size."""
    if options.tie != "none" and options.vectors and options.freeze_vectors:
        mistakes.add("tied output weights cannot be frozen.", "tie", fix="Drop freeze_vectors.")
    if options.tie != "all":
        return
    target = plan.outputs[name]
    for source in plan.encoder:
        if not hasattr(owner_of(plan, source), "embedding"):
            mistakes.add(
                f"tie: all shares the embeddings of the inputs, and {source} has no embeddings.",
                "tie",
                fix="Use tie: output.",
            )
            continue
        shared = getattr(plan.inputs[source], "shared", None)
        if shared != name and getattr(target, "shared", None) != source:
            mistakes.add(
                f"tie: all needs one vocabulary for {source} and {name}.",
                "tie",
                fix=f"Add  shared: {source}  to the output {name}.",
            )
        width = owner_of(plan, source).embedding
        if width != options.embedding:
            mistakes.add(
                f"tie: all needs embeddings of one width; {source} has {width}, {name} {options.embedding}.",
                "tie",
                fix="Give both the same `embedding`.",
            )
