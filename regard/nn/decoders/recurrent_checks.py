"""What a recurrent decoder refuses: conditions and attentions that do not fit together."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from regard.errors import RegardError
from regard.nn.attention import check_attention, truths_about
from regard.nn.decoders.glimpsing import check_over
from regard.nn.decoders.stack import Stack
from regard.nn.encoders import owner_of
from regard.nn.encoders.encoder import LastStates
from regard.parts import Mistakes, Plan, nearest

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
            fix="Choose from start, first-input, every-step, output, gate, attention.",
        )
        return
    twice = [way for way in dict.fromkeys(options.condition) if options.condition.count(way) > 1]
    if twice:
        mistakes.add(f"condition names {twice[0]} twice.", "condition", fix="Keep one of them.")
    if "first-input" in options.condition and "attention" in options.condition:
        mistakes.add(
            "first-input is a step before the first word, in which an attention would have nothing to read.",
            "condition",
            fix="Use start with attention, or leave one of the two out.",
        )
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


def check_bridge(options: Any, plan: Plan, mistakes: Mistakes) -> None:
    """The first state is made from the summary, or is what the encoder ends with."""
    if options.bridge != "tanh" and "start" not in options.ways:
        mistakes.add(
            "bridge has no effect: the encoding is not the first state.",
            "bridge",
            fix="Add start to condition, or leave bridge out (it is tanh by default).",
        )
    if options.bridge != "copy" or "start" not in options.ways:
        return
    sources = [name for name in options.over or plan.encoder if name in plan.encoder]
    if len(sources) != 1:
        mistakes.add(
            f"bridge: copy begins with the last states of one input; there are {', '.join(sources)}.",
            "bridge",
            fix="Name one with  over, or use bridge: tanh.",
        )
        return
    encoder = owner_of(plan, sources[0])
    last = encoder.part.last_states(encoder)
    if why := _unlike(last, options.layers, options.size, options.cell.part.carries):
        mistakes.add(why, "bridge", fix="Give both the same, or use bridge: tanh.")


def check_last_states(sources: Mapping[str, Any], stack: Stack) -> None:
    """`bridge: copy` needs last states of the decoder's own size, one for each layer, and asks the encoder for them."""
    if len(sources) != 1:
        raise RegardError(
            f"bridge: copy begins with the last states of one input; there are {', '.join(sources)}.",
            where="decoder.bridge",
            fix="Use bridge: tanh.",
        )
    (source,) = sources.values()
    hand_on = getattr(source, "hand_on", None)
    last = LastStates(size=source.summary_size) if hand_on is None else hand_on()
    if why := _unlike(last, len(stack.cells), stack.size, stack.cell(0).carries):
        raise RegardError(why, where="decoder.bridge", fix="Give both the same, or use bridge: tanh.")


def _unlike(last: LastStates, layers: int, size: int, carries: bool) -> str:
    """Why the last states of an encoder are not the first ones of a decoder; nothing where they are."""
    begin = "bridge: copy begins with the encoder's last states"
    if last.layers != layers:
        return f"{begin}, layer by layer; the encoder has {last.layers}, the decoder {layers}."
    if last.size is not None and last.size != size:
        return f"{begin}; they have {last.size} features, the decoder {size}."
    if carries and not last.carries:
        return f"{begin}; the decoder's cell carries a second vector, and the encoder has none to hand on."
    return ""


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
        for penalty in ("coverage", "repetition"):
            if getattr(one, penalty) and not one.select.part.learns:
                here.add(
                    f"{penalty} changes where a decoder looks, and select: {one.select.type} has nothing to learn.",
                    penalty,
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
        if one.level != "positions":
            _check_level(one, source, plan, here)
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


def _check_level(attention: Any, source: str, plan: Plan, mistakes: Mistakes) -> None:
    """Words are looked at where an encoder reads sentences of them, by a softmax."""
    level = attention.level
    if source in plan.encoder and not owner_of(plan, source).part.of_words:
        mistakes.add(
            f"level: {level} looks at the words of sentences, and the positions of {source} are none.",
            "level",
            fix="Use a hierarchical encoder, or leave level out.",
        )
    if attention.select.type != "softmax":
        mistakes.add(
            f"level: {level} chooses among the words of all sentences by a softmax; received {attention.select.type}.",
            "select",
            fix="Use select: softmax, or leave level out.",
        )
    if attention.score.part.needs:
        mistakes.add(
            f"level: {level} goes with scores of query and word alone; {attention.score.type} needs to know where the "
            "steps before looked.",
            "score",
            fix="Use score: additive.",
        )
    for penalty in ("coverage", "repetition", "guide"):
        if getattr(attention, penalty):
            mistakes.add(
                f"{penalty} is of attention over the positions of an input, not over the words of its sentences.",
                penalty,
                fix=f"Leave {penalty} or level out.",
            )


def _check_width(attention: Any, options: Any, plan: Plan, mistakes: Mistakes) -> None:
    """A dot product compares vectors of one width."""
    source = attention.over or next(iter(plan.encoder))
    if not attention.score.part.one_size or source not in plan.encoder:
        return
    encoder = owner_of(plan, source)
    width = encoder.part.width(encoder)
    if attention.level != "positions":
        width = None  # that of the words is known when they are
    if width is not None and getattr(encoder, "parents", None) is not None:
        width *= 2
    if width is not None and width != options.size:
        mistakes.add(
            f"a {attention.score.type} score compares vectors of one width; "
            f"the memory of {source} has {width}, the decoder {options.size}.",
            "score",
            fix=f"Use score: general, or make the decoder's size {width}.",
        )


def copied_input(options: Any, plan: Plan) -> str | None:
    """The input that a decoder copies from; None where it copies from none, or names what there is not."""
    if options.copy_ is None:
        return None
    looked = [one.over or next(iter(options.over or plan.encoder)) for one in options.attention]
    if options.copy_.from_ is not None:
        return options.copy_.from_ if options.copy_.from_ in looked else None
    return next((name for name in looked if _copyable(name, options, plan)), None)


def _copyable(name: str, options: Any, plan: Plan) -> bool:
    """Whether words of an input can be copied: its column gives them, its encoder leaves them in their places."""
    if name not in plan.inputs or name not in plan.encoder:
        return False
    encoder = owner_of(plan, name).part
    levels = {one.over or next(iter(options.over or plan.encoder)): one.level for one in options.attention}
    by_words = encoder.by_word or (encoder.of_words and levels.get(name) != "positions")
    return bool(plan.inputs[name].part.copyable and by_words)


def check_copying(options: Any, name: str, plan: Plan, mistakes: Mistakes) -> None:
    """The source is looked at by a distribution over its words, and cut as the output is."""
    looked = {one.over or next(iter(options.over or plan.encoder)): one for one in options.attention}
    if not looked:
        mistakes.add(
            "copy takes words from where the decoder looks, and there is no attention.",
            "copy",
            fix="Add  attention: {score: additive, select: softmax}.",
        )
        return
    wanted = options.copy_.from_
    if wanted is not None and wanted not in looked:
        mistakes.add(
            f"copy takes words from an input that the decoder looks at; it does not look at {wanted!r}.",
            "copy.from",
            fix=nearest(wanted, list(looked)) or f"Choose {next(iter(looked))}.",
        )
        return
    source = copied_input(options, plan)
    if source is None or not _copyable(source, options, plan):
        where = wanted or " or ".join(looked)
        mistakes.add(
            f"copy needs an input whose positions are words; {where} has others.",
            "copy.from" if wanted else "copy",
            fix="Name an input of type text whose encoder leaves one position for each word, or look at the words of a "
            "document:  attention: {level: both}.",
        )
        return
    select = looked[source].select
    if not select.part.sums_to_one(select):
        mistakes.add(
            f"copy mixes two distributions, and the weights of select: {select.type} over {source} do not sum to one.",
            "copy",
            fix="Use select: softmax, sparsemax or entmax.",
        )
    if options.label_smoothing:
        mistakes.add(
            "label_smoothing spreads a share over the whole vocabulary, which words to copy have no part in.",
            "label_smoothing",
            fix="Leave label_smoothing or copy out.",
        )
    _check_cut(source, name, plan, mistakes)


def _check_cut(source: str, name: str, plan: Plan, mistakes: Mistakes) -> None:
    """What is copied is a piece of the source, and must be one of the output."""
    mine, theirs = plan.outputs[name], plan.inputs[source]
    for option, usual in (("unit", "word"), ("case", "keep"), ("split", "space"), ("normalize", "NFC")):
        one, other = (getattr(column, option, usual) for column in (mine, theirs))
        if one != other:
            mistakes.add(
                f"copy needs {source} and {name} cut in one way; {option} is {other} of one and {one} of the other.",
                "copy",
                fix=f"Give both the same {option}.",
            )
    shared = getattr(mine, "shared", None) == source or getattr(theirs, "shared", None) == name
    if getattr(mine, "unit", "") == "subword" and not shared:
        mistakes.add(
            f"copy needs {source} and {name} cut in one way, and each learns subwords of its own.",
            "copy",
            fix=f"Add  shared: {source}  to the output {name}.",
        )
