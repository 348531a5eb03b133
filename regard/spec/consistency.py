"""What no single part of a spec can know: whether the parts fit together."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from regard.errors import RegardError
from regard.spec.attention import AttentionSpec
from regard.spec.columns import AlignmentSpec, ColumnSpec, LabelSpec, TagsSpec, TextSpec, TreeSpec
from regard.spec.decoders import (
    AlignDecoderSpec,
    FactsDecoderSpec,
    LabelDecoderSpec,
    RecurrentDecoderSpec,
    TagsDecoderSpec,
    TreeDecoderSpec,
)
from regard.spec.images import check_images
from regard.spec.labels import check_label
from regard.spec.looking import check_looking
from regard.spec.messages import nearest
from regard.spec.perceiving import check_perceiving
from regard.spec.places import check_places
from regard.spec.reading import check_align, check_reading, encoder_of
from regard.spec.shorthand import DECODER_OF_COLUMN
from regard.spec.stories import check_facts_decoder, check_facts_truth, check_story_encoders
from regard.spec.widths import check_width

if TYPE_CHECKING:
    from regard.spec.spec import Spec

Where = Callable[..., str]

WRITES = {
    RecurrentDecoderSpec: TextSpec,
    LabelDecoderSpec: LabelSpec,
    TagsDecoderSpec: TagsSpec,
    TreeDecoderSpec: TreeSpec,
    FactsDecoderSpec: LabelSpec,
    AlignDecoderSpec: LabelSpec,
}


def check(spec: Spec, where: Where) -> None:
    """Raise the first thing that cannot be, with what to choose instead."""
    _names(spec, where)
    _characters(spec, where)
    check_story_encoders(spec, where)
    check_facts_truth(spec, where)
    check_perceiving(spec, where)
    check_images(spec, where)
    check_places(spec, where)
    check_reading(spec, where)
    for name, decoder in spec.decoder.items():
        wanted = WRITES[type(decoder)]
        if not isinstance(spec.outputs[name], wanted):
            fitting = DECODER_OF_COLUMN[spec.outputs[name].type]
            raise RegardError(
                f"a {decoder.type} decoder cannot write a {spec.outputs[name].type} column.",
                where=where("decoder", name, "type"),
                fix=f"Use type: {fitting}.",
            )
        for over in decoder.over or ():
            _known_input(spec, over, where("decoder", name, "over"))
        if isinstance(decoder, FactsDecoderSpec):
            check_facts_decoder(spec, name, decoder, where)
            continue
        for attention in attentions(decoder):
            check_looking(decoder, attention, where, ("decoder", name, "attention"))
            _attention(spec, name, attention, where)
        if isinstance(decoder, RecurrentDecoderSpec):
            _recurrent(spec, name, decoder, where)
        elif isinstance(decoder, AlignDecoderSpec):
            check_align(spec, name, decoder, where)
        elif isinstance(decoder, TagsDecoderSpec):
            _tags(spec, name, decoder, where)
        elif isinstance(decoder, LabelDecoderSpec):
            check_label(spec, name, decoder, where)


def attentions(decoder: object) -> tuple[AttentionSpec, ...]:
    """The attentions of any decoder, as a tuple."""
    value = getattr(decoder, "attention", None)
    if value is None:
        return ()
    return value if isinstance(value, tuple) else (value,)


def _names(spec: Spec, where: Where) -> None:
    parts: dict[str, Mapping[str, ColumnSpec]] = {
        "inputs": spec.inputs,
        "outputs": spec.outputs,
        "truth": spec.truth,
    }
    seen: dict[str, str] = {}
    for part, columns in parts.items():
        for name in columns:
            if not name.isidentifier():
                raise RegardError(
                    f"{name!r} cannot name a column.",
                    where=where(part, name),
                    fix="Use letters, digits and _.",
                )
            if name in seen:
                raise RegardError(
                    f"{name!r} is the name of a column in {seen[name]} and in {part}.",
                    where=where(part, name),
                    fix="Give each column a name of its own; `field:` says which field of the row it reads.",
                )
            seen[name] = part
    for part, columns in parts.items():
        for name, column in columns.items():
            shared = getattr(column, "shared", None)
            texts = [other for other in (*spec.inputs, *spec.outputs) if other != name]
            if shared is not None and shared not in texts:
                raise RegardError(
                    f"no column {shared!r} to share with.",
                    where=where(part, name, "shared"),
                    fix=nearest(shared, texts),
                )
            if isinstance(column, TagsSpec | TreeSpec):
                _known_input(spec, column.of, where(part, name, "of"))
    for name, truth in spec.truth.items():
        if not isinstance(truth, AlignmentSpec):
            continue
        if truth.of is None and (len(spec.inputs) > 1 or len(spec.outputs) > 1):
            raise RegardError(
                "several inputs or outputs, and no word which of them this aligns.",
                where=where("truth", name, "of"),
                fix="Write  of: [INPUT, OUTPUT].",
            )
        if truth.of is not None:
            _known_input(spec, truth.of[0], where("truth", name, "of"))
            if truth.of[1] not in spec.outputs:
                raise RegardError(
                    f"no output {truth.of[1]!r}.",
                    where=where("truth", name, "of"),
                    fix=nearest(truth.of[1], list(spec.outputs)),
                )


def _known_input(spec: Spec, name: str, where: str) -> None:
    if name not in spec.inputs:
        raise RegardError(f"no input is named {name!r}.", where=where, fix=nearest(name, list(spec.inputs)))


def _attention(spec: Spec, decoder: str, attention: AttentionSpec, where: Where) -> None:
    place = ("decoder", decoder, "attention")
    if attention.select == "facts":
        raise RegardError(
            "select: facts chooses several sentences of a story together, for one answer.",
            where=where(*place, "select"),
            fix="Use it with  decoder: {type: facts}, or choose softmax.",
        )
    if attention.score == "location" and not isinstance(spec.decoder[decoder], RecurrentDecoderSpec):
        raise RegardError(
            "score: location asks where the step before looked, and this decoder looks once.",
            where=where(*place, "score"),
            fix="Choose score: additive.",
        )
    if attention.over is not None:
        _known_input(spec, attention.over, where(*place, "over"))
    elif len(spec.decoder[decoder].over or tuple(spec.encoder)) > 1:
        raise RegardError(
            f"there are several inputs ({', '.join(spec.encoder)}) to look at.",
            where=where(*place),
            fix="Say which:  over: " + next(iter(spec.encoder)),
        )
    if attention.guide and attention.select in ("uniform", "sigmoid", "segments", "oracle"):
        why = {
            "uniform": "a uniform selection has nothing to learn",
            "sigmoid": "independent weights satisfy it by looking everywhere",
            "segments": "a segment satisfies it by covering everything",
            "oracle": "the oracle is the truth already",
        }[attention.select]
        raise RegardError(
            f"guide pulls a selection towards the true alignment, but {why}.",
            where=where(*place, "guide"),
            fix="Use select: softmax or local, or leave guide out.",
        )
    needs_truth = "guide" if attention.guide else "select: oracle" if attention.select == "oracle" else None
    if needs_truth:
        if not spec.truth:
            raise RegardError(
                f"{needs_truth} needs the true alignment, and the spec names none.",
                where=where(*place),
                fix="Add  truth: {alignment: {type: alignment}}  and a field `alignment` to the data.",
            )
        if attention.truth is not None and attention.truth not in spec.truth:
            raise RegardError(
                f"no truth column {attention.truth!r}.",
                where=where(*place, "truth"),
                fix=nearest(attention.truth, list(spec.truth)),
            )
        aligned = all(isinstance(truth, AlignmentSpec) for truth in spec.truth.values())
        if aligned and isinstance(spec.decoder[decoder], LabelDecoderSpec):
            raise RegardError(
                f"{needs_truth} aligns the tokens of two texts, and a label has none.",
                where=where(*place),
                fix="Leave it out.",
            )


def _recurrent(spec: Spec, name: str, decoder: RecurrentDecoderSpec, where: Where) -> None:
    _condition(decoder, where, ("decoder", name))
    _attentions_together(spec, decoder, where, ("decoder", name))
    dots = [attention for attention in decoder.attention if attention.score in ("dot", "scaled-dot")]
    for attention in dots:
        check_width(spec, name, decoder, attention, where)
    _tie(spec, name, decoder, where)


def _condition(decoder: RecurrentDecoderSpec, where: Where, place: tuple[str, ...]) -> None:
    """How the encoding reaches the decoder, and whether the attention agrees."""
    if decoder.condition is None:
        return
    if not decoder.condition:
        raise RegardError(
            "the encoding reaches the decoder in no way.",
            where=where(*place, "condition"),
            fix="Choose from start, every-step, attention.",
        )
    if "attention" in decoder.condition and not decoder.attention:
        raise RegardError(
            "condition names attention, and there is no attention.",
            where=where(*place, "condition"),
            fix="Add  attention: {score: additive, select: softmax}.",
        )
    if decoder.attention and "attention" not in decoder.condition:
        raise RegardError(
            "there is an attention, and condition leaves it out.",
            where=where(*place, "condition"),
            fix="Add attention to condition, or remove the attention.",
        )


def _attentions_together(
    spec: Spec, decoder: RecurrentDecoderSpec, where: Where, place: tuple[str, ...]
) -> None:
    """What several attentions of one decoder must agree on."""
    overs = [attention.over or next(iter(spec.encoder)) for attention in decoder.attention]
    if len(set(overs)) < len(overs):
        raise RegardError(
            "two attentions look at the same input.",
            where=where(*place, "attention"),
            fix="Keep one of them.",
        )
    if len({attention.state for attention in decoder.attention}) > 1:
        raise RegardError(
            "one attention asks from the previous state and one from the current.",
            where=where(*place, "attention"),
            fix="Give both the same `state`.",
        )
    for attention in decoder.attention:
        if not attention.feed and attention.state == "previous":
            raise RegardError(
                "feed: false belongs to attention from the current state; from the previous one the context always "
                "enters the cell.",
                where=where(*place, "attention", "feed"),
                fix="Add  state: current, or drop feed.",
            )


def _tie(spec: Spec, name: str, decoder: RecurrentDecoderSpec, where: Where) -> None:
    place = ("decoder", name)
    if decoder.tie != "none" and decoder.vectors and decoder.freeze_vectors:
        raise RegardError(
            "tied output weights cannot be frozen.", where=where(*place, "tie"), fix="Drop freeze_vectors."
        )
    if decoder.tie == "all":
        target = spec.outputs[name]
        for source_name in spec.encoder:
            source = getattr(spec.inputs[source_name], "shared", None)
            if source != name and getattr(target, "shared", None) != source_name:
                raise RegardError(
                    f"tie: all needs one vocabulary for {source_name} and {name}.",
                    where=where(*place, "tie"),
                    fix=f"Add  shared: {source_name}  to the output {name}.",
                )
            width = encoder_of(spec, source_name).embedding
            if width != decoder.embedding:
                raise RegardError(
                    f"tie: all needs embeddings of one width; {source_name} has {width}, "
                    f"{name} {decoder.embedding}.",
                    where=where(*place, "tie"),
                    fix="Make them equal.",
                )


def _characters(spec: Spec, where: Where) -> None:
    for name, encoder in spec.encoder.items():
        column = spec.inputs[name]
        if getattr(encoder, "characters", None) is None:
            continue
        place = where("encoder", name, "characters")
        if getattr(column, "unit", None) != "word" or getattr(column, "case", None) == "marked":
            raise RegardError(
                f"characters are read of whole words, and {name} is cut otherwise.",
                where=place,
                fix="Use unit: word, and case: keep or lower.",
            )
        if any(getattr(decoder, "tie", "none") == "all" for decoder in spec.decoder.values()):
            raise RegardError(
                "tie: all shares the embeddings of words, and these are made from characters too.",
                where=place,
                fix="Use tie: output, or leave characters out.",
            )


def _tags(spec: Spec, name: str, decoder: TagsDecoderSpec, where: Where) -> None:
    if decoder.crf and decoder.class_weights is not None:
        raise RegardError(
            "class_weights weigh the tags one by one, and a chain scores whole sequences.",
            where=where("decoder", name, "class_weights"),
            fix="Leave class_weights out, or crf.",
        )
    for option, usual in (("decode", "viterbi"), ("constraints", "none")):
        if not decoder.crf and getattr(decoder, option) != usual:
            raise RegardError(
                f"{option}: {getattr(decoder, option)} needs a chain over the tags.",
                where=where("decoder", name, option),
                fix="Add  crf: true.",
            )
    scheme = getattr(spec.outputs[name], "scheme", None)
    if scheme and decoder.constraints not in ("none", scheme):
        raise RegardError(
            f"the tags are turned into {scheme}, and the chain allows only {decoder.constraints}.",
            where=where("decoder", name, "constraints"),
            fix=f"Use constraints: {scheme}.",
        )
