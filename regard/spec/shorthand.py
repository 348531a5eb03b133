"""From what a person may write to the one full form.

    encoder: {size: 512}          →  encoder: {source: {type: recurrent, size: 512}}
    decoder: {size: 512}          →  decoder: {target: {type: recurrent, size: 512}}
    attention: {score: dot}       →  decoder: {target: {…, attention: [{score: dot}]}}

A mapping whose keys are all names of inputs (outputs) is taken as one encoder (decoder) each; anything else is the
options of every encoder (the only decoder).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from regard.errors import RegardError
from regard.spec.document import Document, Place

ENCODER_OF_COLUMN = {"image": "image", "video": "video", "audio": "pyramid", "series": "pyramid"}
DECODER_OF_COLUMN = {"text": "recurrent", "label": "label", "tags": "tags", "tree": "tree"}

MAPPINGS = {
    "encoder": {"characters", "parents"},
    "decoder": {"attention", "scheduled_sampling", "class_weights"},
}
"""Options that are mappings themselves, and could be taken for one encoder (decoder) each."""


def expand(document: Document) -> tuple[dict[str, Any], dict[Place, Place]]:
    """The full form, and for each path made by a shorthand the path the person wrote."""
    data = dict(document.data)
    written: dict[Place, Place] = {}
    inputs, outputs = (_mapping(data, part, document) for part in ("inputs", "outputs"))
    read = [name for name, column in inputs.items() if not _is_tree(column)]
    data["encoder"] = _per_name(data.get("encoder"), "encoder", read, document, written)
    data["decoder"] = _per_name(data.get("decoder"), "decoder", list(outputs), document, written)
    for name, options in data["encoder"].items():
        column = inputs.get(name)
        kind = column.get("type") if isinstance(column, Mapping) else None
        options.setdefault("type", ENCODER_OF_COLUMN.get(str(kind), "recurrent"))
    for name, options in data["decoder"].items():
        column = outputs.get(name)
        kind = column.get("type") if isinstance(column, Mapping) else None
        options.setdefault("type", DECODER_OF_COLUMN.get(str(kind), "recurrent"))
    if "attention" in data:
        _hand_down_attention(data, document, written)
    return data, written


def _is_tree(column: Any) -> bool:
    """A tree is not read by itself: it comes with the text it is of."""
    return isinstance(column, Mapping) and column.get("type") == "tree"


def _mapping(data: dict[str, Any], part: str, document: Document) -> Mapping[str, Any]:
    value = data.get(part)
    if not isinstance(value, Mapping) or not value:
        raise RegardError(
            f"expected a mapping from names to columns, received {value!r}.",
            where=document.where((part,)),
            fix=f"For example  {part}: {{{'source' if part == 'inputs' else 'target'}: {{type: text, unit: word}}}}",
        )
    return value


def _per_name(
    value: Any, part: str, names: list[str], document: Document, written: dict[Place, Place]
) -> dict[str, dict[str, Any]]:
    if value is None:
        value = {}
    if not isinstance(value, Mapping):
        raise RegardError(
            f"expected a mapping of options, received {value!r}.",
            where=document.where((part,)),
            fix=f"For example  {part}: {{type: recurrent, cell: gru, size: 256}}",
        )
    if value and all(isinstance(options, Mapping) for options in value.values()) and "type" not in value:
        strangers = [name for name in value if name not in names]
        looks_named = len(strangers) < len(value) or not _is_options(value, part)
        if looks_named:
            if strangers:
                raise RegardError(
                    f"{strangers[0]!r} is not the name of an {'input' if part == 'encoder' else 'output'}.",
                    where=document.where((part, strangers[0])),
                    fix=f"The names here are {', '.join(names)}.",
                )
            return {name: dict(value.get(name, {})) for name in names}
    if part == "decoder" and len(names) > 1:
        if value:
            raise RegardError(
                f"there are {len(names)} outputs ({', '.join(names)}) and one decoder without a name.",
                where=document.where((part,)),
                fix=f"Write one for each:  decoder: {{{names[0]}: {{…}}, {names[1]}: {{…}}}}",
            )
        return {name: {} for name in names}
    for name in names:
        written[(part, name)] = (part,)
    return {name: dict(value) for name in names}


def _is_options(value: Mapping[str, Any], part: str) -> bool:
    return set(value) <= MAPPINGS[part]


def _hand_down_attention(data: dict[str, Any], document: Document, written: dict[Place, Place]) -> None:
    """Give the top level's attention to the one decoder there is."""
    attention = data.pop("attention")
    names = list(data["decoder"])
    if attention is None:
        return
    if len(names) > 1:
        raise RegardError(
            f"there are {len(names)} decoders ({', '.join(names)}), and attention belongs to one.",
            where=document.where(("attention",)),
            fix=f"Move it into a decoder:  decoder: {{{names[0]}: {{attention: …}}}}",
        )
    decoder = data["decoder"][names[0]]
    if decoder.get("attention") is not None:
        raise RegardError(
            "attention is given at the top and in the decoder.",
            where=document.where(("attention",)),
            fix="Keep one of the two.",
        )
    decoder["attention"] = attention
    written[("decoder", names[0], "attention")] = ("attention",)
