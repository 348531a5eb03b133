"""Expand the shorthands of a spec to its full form.

    encoder: {size: 512}          →  encoder: {source: {type: recurrent, size: 512}}
    decoder: {size: 512}          →  decoder: {target: {type: recurrent, size: 512}}
    attention: {score: dot}       →  decoder: {target: {…, attention: {score: dot}}}
    encoder: transformer          →  encoder: {source: {type: transformer}}
    search: {method: beam, …}     →  search: {method: {type: beam, …}}

A mapping whose first key is the name of an input (output) is read as one entry per encoder (decoder). Any other mapping
holds the options of every encoder (of the only decoder).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from regard.errors import RegardError
from regard.parts import Settings, part
from regard.parts.choice import Section
from regard.spec.attention_shorthand import expand_attention
from regard.spec.document import Document, Place
from regard.spec.mapping_options import mappings
from regard.spec.messages import as_written
from regard.spec.sections import SearchSpec, TrainingSpec

SECTIONS: Mapping[str, type[Section]] = {"search": SearchSpec, "training": TrainingSpec}
"""Sections in which the options of a part stand beside its name."""


def usual(column: Mapping[str, Any], what: str) -> str | None:
    """The default encoder (decoder) of a column; None if it has none."""
    kind = part("column", str(column.get("type")))
    return None if kind is None else getattr(kind, what)


def expand(document: Document) -> tuple[dict[str, Any], dict[Place, Place]]:
    """The full form, and for each path that a shorthand produced, the path as written."""
    data = dict(document.data)
    written: dict[Place, Place] = {}
    outputs = _columns(data, "outputs", document)
    if data.get("inputs") is None and outputs and all(_is_alone(column) for column in outputs.values()):
        data["inputs"], inputs = {}, dict[str, Any]()
    else:
        inputs = dict(_columns(data, "inputs", document))
    # A tree is not encoded by itself, but together with its text.
    unread = [name for name, column in inputs.items() if _is_unread(column)]
    read = [name for name in inputs if name not in unread]
    data["encoder"] = _per_name(data.get("encoder"), "encoder", read, document, written)
    data["decoder"] = _per_name(data.get("decoder"), "decoder", list(outputs), document, written)
    for name, options in data["encoder"].items():
        options.setdefault("type", usual(inputs[name], "encoder") or "recurrent")
    for name, options in data["decoder"].items():
        options.setdefault("type", usual(outputs[name], "decoder") or "recurrent")
    if "attention" in data:
        _hand_down_attention(data, document, written)
    for name, options in data["decoder"].items():
        if not _is_plain(options.get("attention"), read):
            expand_attention(name, options, outputs[name], read, document, written)
    for name, section in SECTIONS.items():
        if isinstance(data.get(name), Mapping):
            data[name], moved = section.gathered(data[name])
            written |= {(name, section.chooser, key): (name, key) for key in moved}
    return data, written


def _is_unread(column: Mapping[str, Any]) -> bool:
    kind = part("column", str(column.get("type")))
    return kind is not None and "inputs" in kind.roles and kind.encoder is None


def _is_alone(column: Mapping[str, Any]) -> bool:
    """Whether the output has no inputs."""
    kind = part("column", str(column.get("type")))
    return kind is not None and bool(kind.alone)


def _columns(data: dict[str, Any], part: str, document: Document) -> Mapping[str, Mapping[str, Any]]:
    value = data.get(part)
    if not isinstance(value, Mapping) or not value:
        raise RegardError(
            f"expected a mapping from names to columns, received {value!r}.",
            where=document.where((part,)),
            fix=f"For example  {part}: {{{'source' if part == 'inputs' else 'target'}: {{type: text, unit: word}}}}",
        )
    for name, column in value.items():
        if not isinstance(column, Mapping):
            raise RegardError(
                f"expected a mapping of options, received {column!r}.",
                where=document.where((part, name)),
                fix=f"For example  {part}: {{{name}: {{type: text, unit: word}}}}",
            )
    return value


def _per_name(
    value: Any, kind: str, names: list[str], document: Document, written: dict[Place, Place]
) -> dict[str, dict[str, Any]]:
    if value is None:
        value = {}
    if isinstance(value, str):
        value = {"type": value}
    if isinstance(value, Mapping):
        value = {name: _spelled_out(name, options, kind, names) for name, options in value.items()}
    else:
        raise RegardError(
            f"expected a mapping of options, received {value!r}.",
            where=document.where((kind,)),
            fix=f"For example  {kind}: {{type: recurrent, cell: gru, size: 256}}",
        )
    if _is_named(value, kind, names):
        _check_named(value, kind, names, document)
        return {name: dict(value.get(name, {})) for name in names}
    for name, options in value.items():
        if name in names and isinstance(options, Mapping) and name not in mappings(kind):
            raise RegardError(
                f"{kind} mixes the entry {name!r} with options that belong to no entry.",
                where=document.where((kind, name)),
                fix=f"Leave {name} out:  {kind}: {{{next(iter(options), 'size')}: …}}"
                if len(names) == 1
                else f"Write an entry for each:  {kind}: {{{names[0]}: {{…}}, {names[1]}: {{…}}}}",
            )
    if kind == "decoder" and len(names) > 1:
        if value:
            raise RegardError(
                f"there are {len(names)} outputs ({', '.join(names)}), but the decoder does not say which it writes.",
                where=document.where((kind,)),
                fix=f"Write a decoder for each:  decoder: {{{names[0]}: {{…}}, {names[1]}: {{…}}}}",
            )
        return {name: {} for name in names}
    for name in names:
        written[(kind, name)] = (kind,)
    return {name: dict(value) for name in names}


def _spelled_out(name: str, options: Any, kind: str, names: list[str]) -> Any:
    """A part without options is its name: {question: bag} → {question: {type: bag}}."""
    named = isinstance(options, str) and name in names and name != "type" and part(kind, options) is not None
    return {"type": options} if named else options


def _is_named(value: Mapping[str, Any], part: str, names: list[str]) -> bool:
    """Whether entries are per encoder (decoder). If only some are mappings, the first decides."""
    if not value:
        return False
    if all(isinstance(options, Mapping) for options in value.values()):
        return any(name in names for name in value) or not set(value) <= mappings(part)
    first, options = next(iter(value.items()))
    return first in names and isinstance(options, Mapping) and first not in mappings(part)


def _check_named(value: Mapping[str, Any], part: str, names: list[str], document: Document) -> None:
    for name, options in value.items():
        mapping = isinstance(options, Mapping)
        if name not in names:
            known = f"The names here are {', '.join(names)}."
            option = f"An option belongs below one of them:  {part}: {{{names[0]}: {{{name}: …}}}}"
            raise RegardError(
                f"{name!r} is not the name of an {'input' if part == 'encoder' else 'output'}.",
                where=document.where((part, name)),
                fix=known if mapping else f"{known} {option}",
            )
        if not mapping:
            raise RegardError(
                f"expected a mapping of options, received {options!r}.",
                where=document.where((part, name)),
                fix=f"For example  {part}: {{{name}: {{dropout: 0.1}}}}",
            )


def _hand_down_attention(data: dict[str, Any], document: Document, written: dict[Place, Place]) -> None:
    """Move the top-level attention to the only decoder."""
    attention = data.pop("attention")
    names = list(data["decoder"])
    if attention is None:
        return
    if len(names) > 1:
        raise RegardError(
            f"there are {len(names)} decoders ({', '.join(names)}); attention at the top level works with one only.",
            where=document.where(("attention",)),
            fix=f"Move it into a decoder:  decoder: {{{names[0]}: {{attention: …}}}}",
        )
    decoder = data["decoder"][names[0]]
    if decoder.get("attention") is not None:
        raise RegardError(
            "attention is given both at the top level and in the decoder.",
            where=document.where(("attention",)),
            fix="Keep one of the two.",
        )
    decoder["attention"] = attention
    written[("decoder", names[0], "attention")] = ("attention",)


def _is_plain(attention: Any, inputs: Sequence[str]) -> bool:
    """Whether these are plain options of an attention to the only input."""
    if attention is None:
        return True
    options = attention.items() if isinstance(attention, Mapping) else [("over", None)]
    return len(inputs) == 1 and all(
        key != "over" and not isinstance(value, Mapping | list) for key, value in options
    )


def completed(
    data: dict[str, Any], options: Mapping[str, Any], written: Mapping[Place, Place]
) -> dict[str, Any]:
    """The document of a spec with the values that its options found out.

    options   the validated options, by their keys in the spec
    written   for each path that a shorthand produced, the path as written
    """
    for place, found in _found(options, ()):
        data = _put(data, as_written(place, written), found)
    return data


def _found(value: Any, place: Place) -> Iterator[tuple[Place, dict[str, Any]]]:
    if isinstance(value, Settings):
        if more := value.completed():
            yield place, more
        fields = type(value).model_fields
        for name in value.model_fields_set & fields.keys():
            yield from _found(getattr(value, name), (*place, fields[name].alias or name))
    elif isinstance(value, Mapping):
        for key, one in value.items():
            yield from _found(one, (*place, key))


def _put(data: Any, place: Place, found: Mapping[str, Any]) -> Any:
    """A copy of the data with more values at a path, if the path is written there."""
    if not place:
        return {**data, **found} if isinstance(data, Mapping) else data
    if not isinstance(data, Mapping) or place[0] not in data:
        return data
    return {**data, place[0]: _put(data[place[0]], place[1:], found)}
