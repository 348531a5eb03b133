"""Which application of a lecture a model is: what is read, what is written, and with which attention."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from regard.course.notations.letters import CELLS, Letters
from regard.describe.notations.notation import NOTATION, WITHOUT
from regard.errors import RegardError, Words
from regard.spec import Spec


@dataclass(frozen=True)
class Application:
    """A model as a lecture sees it.

    source    the input whose text, image, video or document is read; `image` the image beside a question
    kind      its encoder, `question` if an image stands beside it, or `language` if the model has no input
    writes    recurrent, attention (with one), label, tags or language
    """

    source: str
    target: str
    kind: str
    writes: str
    image: str = ""

    @property
    def at_once(self) -> bool:
        """Whether the output is one class, so that t is free to count positions."""
        return self.writes == "label" or (self.kind == "hierarchical" and self.writes == "attention")

    @property
    def given(self) -> str:
        """What the slide's probabilities are conditioned on."""
        if self.kind == "language":
            return "y_1^{t−1}"
        found = {"image": "I", "question": "q, I", "video": "x", "hierarchical": "document"}.get(
            self.kind, "x"
        )
        return found if self.at_once else f"y_1^{{t−1}}, {'x' if found == 'document' else found}"


def application(spec: Spec, letters: Letters, deck: str) -> Application:
    """The application of a model; a RegardError names anything for which the lecture has no letters."""

    def refuse(what: str, fix: Words = WITHOUT) -> None:
        raise RegardError(f"lecture {deck} has no notation for {what}.", where=NOTATION, fix=fix)

    kinds = {name: options.type for name, options in spec.encoder.items()}
    if not kinds and len(spec.outputs) == 1:
        target, decoder = next(iter(spec.decoder.items()))
        if not letters.condition:
            refuse("a model without an input")
        _check_language(decoder, refuse)
        return Application("", target, "language", "language")
    pair = sorted(kinds.values()) == ["image", "recurrent"] and letters.condition
    if (len(kinds) != 1 and not pair) or len(spec.outputs) != 1:
        refuse("several inputs or outputs")
    target, decoder = next(iter(spec.decoder.items()))
    source = next((name for name, kind in kinds.items() if kind != "image"), next(iter(kinds)))
    for name in kinds:
        _check_encoder(spec.encoder[name], letters, refuse)
    looks = _check_decoder(decoder, letters, refuse)
    writes = "attention" if looks else decoder.type
    kind = kinds[source]
    if pair and (decoder.type != "label" or looks or decoder.combine != "beside"):
        refuse("an image and a question with another decoder than softmax(V s + b)")
    if kind == "hierarchical":
        _check_levels(spec.encoder[source], decoder, looks, refuse)
    elif looks and decoder.type == "label":
        refuse("a class chosen by attention")
    image = next((name for name, one in kinds.items() if one == "image"), "") if pair else ""
    return Application(source, target, "question" if pair else kind, writes, image)


def _check_language(decoder: Any, refuse: Any) -> None:
    """Refuse language models other than s_t = RNN(s_{t−1}, x_t), softmax(V s_t + c)."""
    if decoder.type != "language":
        refuse(f"the decoder {decoder.type}")
    if decoder.layers > 1 or decoder.cell.type not in CELLS:
        refuse("a decoder of several layers" if decoder.layers > 1 else f"the cell {decoder.cell.type}")
    if decoder.tie != "none":
        refuse("tied weights", "Add  --set decoder.tie=none.")
    if decoder.output != "full" or decoder.activity or decoder.change:
        refuse("an adaptive output" if decoder.output != "full" else "a penalty on the states")


def _check_encoder(encoder: Any, letters: Letters, refuse: Any) -> None:
    if encoder.type not in letters.encoders or getattr(encoder, "parents", None) is not None:
        refuse(f"the encoder {encoder.type}")
    if encoder.type == "recurrent" and (encoder.layers > 1 or encoder.cell.type not in CELLS):
        refuse("an encoder of several layers" if encoder.layers > 1 else f"the cell {encoder.cell.type}")
    if encoder.type == "video" and (
        encoder.cell is None
        or encoder.cell.type not in CELLS
        or encoder.motion != "none"
        or encoder.values != "states"
    ):
        refuse("a video encoder without a recurrent network over its frames, or with motion features")


def _check_levels(encoder: Any, decoder: Any, looks: Any, refuse: Any) -> None:
    """Refuse what the slides on documents do not have."""
    for level in (encoder.words, encoder.sentences):
        if level.cell is None or level.cell.type not in CELLS:
            refuse("a level of a document without a recurrent network")
        if "values" in level.model_fields_set and level.values != "states":
            refuse(
                "values: inputs; the slide sums the states",
                "Set values: states on both levels, as document-class-states has it.",
            )
    if (encoder.attention is None) != (not looks):
        refuse("attention on one level of a document alone")
    for one in [] if encoder.attention is None else [encoder.attention, *looks]:
        if one.score.type != "additive" or one.score.bias or one.select.type != "softmax":
            refuse("another score than u·tanh(W h + b) on the levels of a document")
    if looks and decoder.type != "label":
        refuse("a decoder that attends to the sentences of a document")


def _check_decoder(decoder: Any, letters: Letters, refuse: Any) -> tuple[Any, ...]:
    """Refuse decoders without letters; returns the attentions of the others."""
    looks = decoder.attention or () if hasattr(decoder, "attention") else ()
    looks = tuple(looks) if isinstance(looks, (list, tuple)) else (looks,)
    if decoder.type == "recurrent":
        if decoder.layers > 1 or decoder.cell.type not in CELLS:
            refuse("a decoder of several layers" if decoder.layers > 1 else f"the cell {decoder.cell.type}")
        if decoder.tie != "none" or decoder.deep:
            refuse("tied weights or a deep output")
        if len(looks) > 1 or any(one.select.type not in letters.selections for one in looks):
            refuse(f"the selection {looks[0].select.type}")
        if any(one.score.type not in ("additive", "general", "dot") for one in looks):
            refuse(f"the score {looks[0].score.type}")
        if any(one.guide or one.coverage or one.repetition for one in looks):
            refuse("a guide or a penalty of the attention")
        if any(one.gate or one.level != "positions" for one in looks):
            refuse("a gate of the attention, or attention over words of sentences")
        if decoder.copy_ is not None:
            refuse("copying")
        if others := set(decoder.ways) - {"start", "every-step", "attention"}:
            refuse(f"the condition {', '.join(sorted(others))}")
    elif decoder.type not in ("label", "tags") or getattr(decoder, "hidden", None):
        refuse(f"the decoder {decoder.type} with these options")
    elif (
        any(getattr(decoder, name, False) for name in ("where", "whole"))
        or (getattr(decoder, "glimpses", None) or 1) > 1
    ):
        refuse("several looks before an answer")
    return looks
