"""Which input is the story and which one asks, and whether the parts of a memory network fit together."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from regard.errors import RegardError
from regard.spec.columns import FactsSpec, StorySpec
from regard.spec.decoders import FactsDecoderSpec
from regard.spec.encoders import BagEncoderSpec, StoryEncoderSpec
from regard.spec.messages import nearest

if TYPE_CHECKING:
    from regard.spec.spec import Spec

Where = Callable[..., str]
MULTIPLE_SELECTIONS = ("softmax", "sigmoid", "uniform", "facts")


def stories(spec: Spec) -> list[str]:
    return [name for name, column in spec.inputs.items() if isinstance(column, StorySpec)]


def story_of(part: FactsSpec | FactsDecoderSpec, spec: Spec) -> str:
    """The story that facts are in, or that a decoder looks at."""
    named = part.attention.over if isinstance(part, FactsDecoderSpec) else part.of
    return named or next(iter(stories(spec)), next(iter(spec.inputs)))


def question_of(decoder: FactsDecoderSpec, spec: Spec) -> str:
    """The input that asks."""
    others = [name for name in spec.inputs if name not in stories(spec)]
    return decoder.query or next(iter(others), next(iter(spec.inputs)))


def check_story_encoders(spec: Spec, where: Where) -> None:
    """A story has a story encoder and a text has none; `like` names a story that shares its vocabulary."""
    for name, encoder in spec.encoder.items():
        place = ("encoder", name)
        if isinstance(spec.inputs[name], StorySpec) != isinstance(encoder, StoryEncoderSpec):
            column = spec.inputs[name].type
            raise RegardError(
                f"a {encoder.type} encoder cannot read the {column} {name!r}.",
                where=where(*place, "type"),
                fix="Use type: story for stories and another for texts.",
            )
        if isinstance(encoder, StoryEncoderSpec):
            _tying(encoder, where, place)
        if isinstance(encoder, BagEncoderSpec) and encoder.like is not None:
            _likeness(spec, name, encoder, where)


def _tying(encoder: StoryEncoderSpec, where: Where, place: tuple[str, str]) -> None:
    if (encoder.tie == "adjacent") != (encoder.hops is not None):
        raise RegardError(
            "hops and tie: adjacent belong together: a table for each hop is what adjacent means.",
            where=where(*place),
            fix="Give both, or neither.",
        )
    if encoder.start == "words" and encoder.sentence != "bag":
        raise RegardError(
            "start: words lets words in common decide, and a recurrent sentence has no words left to compare.",
            where=where(*place, "start"),
            fix="Use sentence: bag, or leave start out.",
        )
    if encoder.sentence == "recurrent" and encoder.embedding % 2:
        raise RegardError(
            f"a recurrent sentence is read from both ends, half the features each; embedding is {encoder.embedding}.",
            where=where(*place, "embedding"),
            fix="Make it even.",
        )


def _likeness(spec: Spec, name: str, encoder: BagEncoderSpec, where: Where) -> None:
    other = encoder.like or ""
    if other not in stories(spec):
        raise RegardError(
            f"no story is named {other!r}.",
            where=where("encoder", name, "like"),
            fix=nearest(other, stories(spec)),
        )
    there = spec.encoder[other]
    assert isinstance(there, StoryEncoderSpec)
    if there.sentence != "bag" or there.embedding != encoder.embedding:
        raise RegardError(
            f"like shares a table of {encoder.embedding} features with a bag; {other} has {there.embedding}, "
            f"sentence: {there.sentence}.",
            where=where("encoder", name, "like"),
            fix="Make them alike, or leave like out.",
        )
    if getattr(spec.inputs[name], "shared", None) != other:
        raise RegardError(
            f"like needs one vocabulary for {name} and {other}.",
            where=where("encoder", name, "like"),
            fix=f"Add  shared: {other}  to the input {name}.",
        )


def check_facts_truth(spec: Spec, where: Where) -> None:
    """Facts are sentences of a story."""
    for name, truth in spec.truth.items():
        if isinstance(truth, FactsSpec) and story_of(truth, spec) not in stories(spec):
            raise RegardError(
                f"facts are sentences of a story, and {story_of(truth, spec)!r} is none.",
                where=where("truth", name, "of"),
                fix=f"Say which:  of: {stories(spec)[0]}"
                if stories(spec)
                else "Add a column of type: story.",
            )


def check_facts_decoder(spec: Spec, name: str, decoder: FactsDecoderSpec, where: Where) -> None:
    """It looks at a story, asks by another input, and a table of the encoder is there for each hop."""
    place = ("decoder", name)
    story = story_of(decoder, spec)
    if story not in stories(spec):
        raise RegardError(
            f"a facts decoder looks at the sentences of a story, and {story!r} is none.",
            where=where(*place, "attention", "over"),
            fix="Add an input of type: story, or use type: label.",
        )
    question = question_of(decoder, spec)
    if question not in spec.inputs or question in stories(spec):
        raise RegardError(
            f"a facts decoder is asked by a text, and {question!r} is none.",
            where=where(*place, "query"),
            fix="Add an input of type: text for the question.",
        )
    if decoder.attention.select not in MULTIPLE_SELECTIONS:
        raise RegardError(
            f"select: {decoder.attention.select} does not choose sentences of a story.",
            where=where(*place, "attention", "select"),
            fix=f"Choose one of {', '.join(MULTIPLE_SELECTIONS)}.",
        )
    if decoder.attention.select == "facts" and decoder.hops < 2:
        raise RegardError(
            "a joint choice of one fact is a softmax.",
            where=where(*place, "hops"),
            fix="Use select: softmax.",
        )
    if decoder.attention.guide and not any(isinstance(truth, FactsSpec) for truth in spec.truth.values()):
        raise RegardError(
            "guide needs the supporting facts, and the spec names none.",
            where=where(*place, "attention", "guide"),
            fix="Add  truth: {facts: {type: facts}}  and a field `facts` to the data.",
        )
    _hops(spec, story, decoder, where, place)


def _hops(spec: Spec, story: str, decoder: FactsDecoderSpec, where: Where, place: tuple[str, str]) -> None:
    encoder = spec.encoder[story]
    if isinstance(encoder, StoryEncoderSpec) and encoder.hops not in (None, decoder.hops):
        raise RegardError(
            f"the encoder of {story} has tables for {encoder.hops} hops, the decoder makes {decoder.hops}.",
            where=where(*place, "hops"),
            fix="Make them equal.",
        )
