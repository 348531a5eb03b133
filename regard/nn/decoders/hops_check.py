"""Checks of a memory network: the story and the question of a spec, and options that fit together."""

from __future__ import annotations

from typing import Any

from regard.nn.attention_check import check_attention, truths_about
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
            "a memory network needs a story or dialog to attend to"
            + (f"; {story!r} is neither." if story else ", and the spec has none."),
            "attention",
            "over",
            fix="Add such an input, or use the decoder type: label.",
        )
        return None
    encoder = owner_of(plan, story)
    if not encoder.part.for_hops and plan.inputs[story].part.can_be(*encoder.part.reads):
        mistakes.add(
            f"a memory network needs separate keys and values of the sentences; the encoder of {story} is "
            f"{encoder.type}.",
            "attention",
            "over",
            fix="Use an input of type: story or dialog, with the encoder  type: story.",
        )
        return None
    question = question_of(options, plan)
    if question not in _questions(plan):
        mistakes.add(
            "a memory network needs a text as its question"
            + (f"; {question!r} is not one." if question else ", and the spec has none."),
            "query",
            fix="Add one, or name it in query.",
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
            f"tie needs sentences that are sums of word vectors; those of {story} are read by a recurrent network.",
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
            f"hops is {encoder.hops} in the encoder of {story} and {options.hops} in the decoder.",
            "hops",
            fix="Make them equal.",
        )
    ours: tuple[str, ...] = ("linear_start",) if options.carry == "add" else ("carry", "linear_start")
    if not joint:
        ours = ("stay", "rank", "reach", "fewer", "hop_cost")
    elif options.carry == "add" and "rank" in options.model_fields_set:
        mistakes.add(
            "rank has no effect: carry: add compares all features.",
            "rank",
            fix="Leave rank out.",
        )
    for option in ours:
        if option in options.model_fields_set:
            kind = "a joint selection of facts" if not joint else "hops that select one after another"
            mistakes.add(
                f"{option} belongs to {kind}; select is {options.attention.select.type}.",
                option,
                fix=f"Leave {option} out, or choose select: {'facts' if not joint else 'softmax'}.",
            )
    if "hop_cost" in options.model_fields_set and not options.fewer and joint:
        mistakes.add(
            "hop_cost needs fewer: true.", "hop_cost", fix="Add  fewer: true, or leave hop_cost out."
        )
    if options.fewer and joint and options.hops < 3:
        mistakes.add(
            "fewer needs hops ≥ 3: a joint selection has at least two facts.", "fewer", fix="Leave fewer out."
        )
