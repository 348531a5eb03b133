"""Checks of a memory network: the story and the question of a spec, and options that fit together."""

from __future__ import annotations

from typing import Any

from regard.nn.attention import check_attention, truths_about
from regard.nn.encoders import owner_of
from regard.parts import Mistakes, Plan


def is_joint(options: Any) -> bool:
    return bool(options.attention.select.part.joint == "queries")


def story_of(options: Any, plan: Plan) -> str:
    """The input whose sentences are attended to: preferably one whose encoder is made for hops."""
    stories = _of_sentences(plan)
    fitting = [one for one in stories if owner_of(plan, one).part.for_hops]
    return str(options.attention.over or next(iter([*fitting, *stories]), ""))


def question_of(options: Any, plan: Plan) -> str:
    """The input that is the question: by default the first that is not a story."""
    return str(options.query or next(iter(_questions(plan)), ""))


def check_memory_network(options: Any, name: str, plan: Plan, mistakes: Mistakes) -> str | None:
    """Require a story, a question, and only options of the chosen kind of selection. Returns the name of the
    story, or None if there is none."""
    if options.over is not None:
        mistakes.add(
            "over has no effect: attention.over names the story, query the question.",
            "over",
            fix="Leave over out.",
        )
    stories = _of_sentences(plan)
    story = story_of(options, plan)
    if story not in stories:
        mistakes.add(
            f"a memory network looks at the sentences of a story, and {story or 'no input'!r} is none.",
            "attention",
            "over",
            fix="Add an input of type: story or dialog, or use type: label.",
        )
        return None
    encoder = owner_of(plan, story)
    if not encoder.part.for_hops and plan.inputs[story].type in encoder.part.reads:
        mistakes.add(
            f"a memory network compares a key of each sentence and reads its value; the encoder of {story} is "
            f"{encoder.type}.",
            "attention",
            "over",
            fix="Use an input of type: story or dialog, with the encoder  type: story.",
        )
        return None
    question = question_of(options, plan)
    if question not in _questions(plan):
        mistakes.add(
            f"a memory network is asked by a text, and {question or 'no input'!r} is none.",
            "query",
            fix="Add an input of type: text for the question.",
        )
    check_attention(
        options.attention,
        mistakes.at("attention"),
        user="a memory network",
        gives=("query", "transitions"),
        together=True,
        truths=truths_about(plan, story, name, ["facts"]),
        truth_type="facts",
    )
    _check_hops(options, plan.encoder[story], story, mistakes)
    return story


def check_words(encoder: Any, story: str, mistakes: Mistakes) -> None:
    """Report a story whose sentences are not sums of the vectors of their words."""
    if getattr(encoder, "sentence", "bag") != "bag":
        mistakes.add(
            f"tie takes the vectors of words, and the sentences of {story} are read by a recurrent network.",
            "tie",
            fix="Leave tie out, or use sentence: bag.",
        )


def _of_sentences(plan: Plan) -> list[str]:
    """The inputs that consist of sentences."""
    return [one for one in plan.encoder if one in plan.inputs and plan.inputs[one].part.of_sentences]


def _questions(plan: Plan) -> list[str]:
    stories = _of_sentences(plan)
    return [one for one in plan.encoder if one not in stories]


def _check_hops(options: Any, encoder: Any, story: str, mistakes: Mistakes) -> None:
    joint = is_joint(options)
    if joint and options.hops < 2:
        mistakes.add(
            f"select: {options.attention.select.type} needs hops ≥ 2.",
            "hops",
            fix="With one hop use select: softmax.",
        )
    if getattr(encoder, "hops", None) not in (None, options.hops):
        mistakes.add(
            f"the encoder of {story} has tables for {encoder.hops} hops, the decoder makes {options.hops}.",
            "hops",
            fix="Make them equal.",
        )
    ours: tuple[str, ...] = ("linear_start",) if options.carry == "add" else ("carry", "linear_start")
    if not joint:
        ours = ("stay", "rank", "reach", "fewer", "hop_cost")
    elif options.carry == "add" and "rank" in options.model_fields_set:
        mistakes.add("carry: add compares facts in all their features.", "rank", fix="Leave rank out.")
    for option in ours:
        if option in options.model_fields_set:
            kind = "a joint selection" if not joint else "hops that are made one after the other"
            mistakes.add(
                f"{option} is of {kind}, and select is {options.attention.select.type}.",
                option,
                fix=f"Leave {option} out, or choose select: {'facts' if not joint else 'softmax'}.",
            )
    if "hop_cost" in options.model_fields_set and not options.fewer and joint:
        mistakes.add(
            "hop_cost is used with fewer: true.", "hop_cost", fix="Add  fewer: true, or leave it out."
        )
    if options.fewer and joint and options.hops < 3:
        mistakes.add(
            "fewer needs hops ≥ 3: a joint choice has at least two facts.", "fewer", fix="Leave it out."
        )
