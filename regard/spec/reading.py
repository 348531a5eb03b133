"""Whether every input is read: encoders that are shared, trees that are given, texts that are compared."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from regard.errors import RegardError
from regard.spec.columns import TreeSpec
from regard.spec.decoders import AlignDecoderSpec
from regard.spec.encoders import (
    ConvolutionalEncoderSpec,
    MeanEncoderSpec,
    RecurrentEncoderSpec,
    SharedEncoderSpec,
)
from regard.spec.messages import nearest

if TYPE_CHECKING:
    from regard.spec.spec import Spec

Where = Callable[..., str]
Reader = RecurrentEncoderSpec | ConvolutionalEncoderSpec | MeanEncoderSpec


def encoder_of(spec: Spec, name: str) -> Reader:
    """The encoder that reads an input, be it its own or another's."""
    encoder = spec.encoder[name]
    found = spec.encoder[encoder.of] if isinstance(encoder, SharedEncoderSpec) else encoder
    if not isinstance(found, Reader):
        raise RegardError(f"{name} is not read as a text with one position for each unit.")
    return found


def check_reading(spec: Spec, where: Where) -> None:
    for name, encoder in spec.encoder.items():
        if isinstance(encoder, SharedEncoderSpec):
            _shared(spec, name, encoder, where)
        given = (
            isinstance(encoder, Reader) and encoder.parents is not None and encoder.parents.select == "given"
        )
        readers = [
            name,
            *(other for other, part in spec.encoder.items() if getattr(part, "of", None) == name),
        ]
        for reader in readers if given else ():
            if reader not in trees_of(spec):
                raise RegardError(
                    f"the parents of {reader} are to be given, and no input is its tree.",
                    where=where("encoder", name, "parents", "select"),
                    fix=f"Add  inputs: {{{reader}_tree: {{type: tree, of: {reader}}}}}, or choose select: projective.",
                )


def trees_of(spec: Spec) -> dict[str, str]:
    """{input: the input that is its tree}."""
    return {column.of: name for name, column in spec.inputs.items() if isinstance(column, TreeSpec)}


def _shared(spec: Spec, name: str, encoder: SharedEncoderSpec, where: Where) -> None:
    owners = [other for other, part in spec.encoder.items() if not isinstance(part, SharedEncoderSpec)]
    if encoder.of not in owners:
        raise RegardError(
            f"no input {encoder.of!r} has an encoder of its own to share.",
            where=where("encoder", name, "of"),
            fix=nearest(encoder.of, owners),
        )
    mine, theirs = (getattr(spec.inputs[one], "shared", None) for one in (name, encoder.of))
    if encoder.of != mine and name != theirs:
        raise RegardError(
            f"one encoder reads {encoder.of} and {name}, whose vocabularies are two.",
            where=where("encoder", name, "of"),
            fix=f"Add  shared: {encoder.of}  to the input {name}.",
        )


def check_align(spec: Spec, name: str, decoder: AlignDecoderSpec, where: Where) -> None:
    over = decoder.over or tuple(spec.encoder)
    if len(over) != 2:
        raise RegardError(
            f"an align decoder compares two inputs; it has {', '.join(over)}.",
            where=where("decoder", name, "over"),
            fix="Name two:  over: [premise, hypothesis].",
        )
