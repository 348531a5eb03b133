"""What a recurrent decoder refuses: conditions and attentions that do not fit together."""

from __future__ import annotations

from typing import Any

from regard.nn.attention import check_attention, truths_about
from regard.nn.decoders.glimpsing import check_over
from regard.nn.encoders import owner_of
from regard.parts import Mistakes, Plan

GIVES = ("query", "step", "previous", "truth", "costs")
"""What a look of this decoder is given, beside query and memory."""


def check_cell(options: Any, mistakes: Mistakes) -> None:
    """The parts of the input (word, summary, context) are projected apart, each as soon as it is known."""
    if not options.cell.part.linear_input(options.cell):
        mistakes.add(
            "layers between the input and the recurrence are for encoders: a decoder's input is known in parts.",
            "cell.input",
            fix="Leave out input.",
        )


def check_condition(options: Any, mistakes: Mistakes) -> None:
    """How the encoding reaches the decoder, and whether the attention agrees."""
    if options.condition is None:
        return
    if not options.condition:
        mistakes.add(
            "decoder.condition is empty: the decoder would never see the encoder.",
            "condition",
            fix="Choose from start, every-step, attention.",
        )
        return
    if "attention" in options.condition and not options.attention:
        mistakes.add(
            "condition names attention, and there is no attention.",
            "condition",
            fix="Add  attention: {score: additive, select: softmax}.",
        )
    if options.attention and "attention" not in options.condition:
        mistakes.add(
            "there is an attention, and condition leaves it out.",
            "condition",
            fix="Add attention to condition, or remove the attention.",
        )


def check_attentions(options: Any, name: str, plan: Plan, mistakes: Mistakes) -> None:
    """Each attention by itself, and what several of one decoder must agree on."""
    here = mistakes.at("attention")
    for one in options.attention:
        check_over(one, options, plan, here)
        source = one.over or next(iter(options.over or plan.encoder))
        looked_at = plan.inputs.get(source)
        check_attention(
            one,
            here,
            user="a recurrent decoder",
            gives=GIVES,
            together=False,
            truths=truths_about(plan, source, name, ("alignment", "places")),
            truth_type="places" if looked_at is not None and looked_at.part.perceived else "alignment",
        )
        if one.coverage and not one.select.part.learns:
            here.add(
                f"coverage changes where a decoder looks, and select: {one.select.type} has nothing to learn.",
                "coverage",
                fix="Leave it out, or choose softmax.",
            )
        if not one.feed and one.state == "previous":
            here.add(
                "feed: false belongs to attention from the current state; from the previous one the context always "
                "enters the cell.",
                "feed",
                fix="Add  state: current, or drop feed.",
            )
        _check_width(one, options, plan, here)
    overs = [one.over or next(iter(plan.encoder)) for one in options.attention]
    if len(set(overs)) < len(overs):
        here.add("two attentions look at the same input.", fix="Keep one of them.")
    if len({one.state for one in options.attention}) > 1:
        here.add(
            "one attention asks from the previous state and one from the current.",
            fix="Give both the same `state`.",
        )
    draws = [one.select for one in options.attention if one.select.part.draws]
    if any(one != draws[0] for one in draws):
        here.add("two attentions draw with different options.", "select", fix="Give both the same options.")


def _check_width(attention: Any, options: Any, plan: Plan, mistakes: Mistakes) -> None:
    """A dot product compares vectors of one width."""
    source = attention.over or next(iter(plan.encoder))
    if not attention.score.part.one_size or source not in plan.encoder:
        return
    encoder = owner_of(plan, source)
    width = encoder.part.width(encoder)
    if width is not None and getattr(encoder, "parents", None) is not None:
        width *= 2
    if width is not None and width != options.size:
        mistakes.add(
            f"a {attention.score.type} score compares vectors of one width; "
            f"the memory of {source} has {width}, the decoder {options.size}.",
            "score",
            fix=f"Use score: general, or make the decoder's size {width}.",
        )
