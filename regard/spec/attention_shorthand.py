"""Expand the shorthands of the attention of a decoder.

With several inputs it becomes a list with one entry for each attended input:

    attention: {score: dot}                          →  the same attention to each input that the decoder reads
    attention: {lemma: {score: dot}, features: {}}   →  an attention of its own for each input
    attention: [lemma, features]                     →  to these inputs
    attention: {over: [lemma, tags], score: dot}     →  the same attention to these inputs
    attention: {over: lemma, score: dot}             →  as written: to one of them
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, get_args

from pydantic import BaseModel

from regard.errors import RegardError
from regard.parts import nearest, part
from regard.spec.document import Document, Place


def expand_attention(
    name: str,
    decoder: dict[str, Any],
    column: Mapping[str, Any],
    inputs: Sequence[str],
    document: Document,
    written: dict[Place, Place],
) -> None:
    """Write out the attention of the decoder of the output `name`.

    inputs   those that have an encoder
    """
    kind, given = part("decoder", str(decoder.get("type"))), decoder.get("attention")
    field = None if kind is None else kind.Options.model_fields.get("attention")
    if field is not None and isinstance(given, str):
        none = given.lower() in ("none", "false", "no", "off")
        raise RegardError(
            f"expected a mapping of options, received {given!r}.",
            where=document.where(_written_place(name, written)),
            fix="Write  attention: null"
            if none
            else f"For example  attention: {{{'over' if given in inputs else 'score'}: {given}}}",
        )
    if field is None or not isinstance(given, Mapping | list | tuple):
        return
    read = _read_by(decoder, inputs)
    each = kind.attends_to(decoder, column, read)
    place, here = ("decoder", name, "attention"), _written_place(name, written)
    if not isinstance(given, Mapping):
        if each is not None:
            decoder["attention"], unnamed = [], each if len(given) == 1 and len(read) > 1 else ()
            for number, entry in enumerate(given):
                for one in _entries(entry, unnamed, read, document, (*here, number)):
                    written[(*place, len(decoder["attention"]))] = (*here, number)
                    decoder["attention"].append(one)
    elif isinstance(given.get("over"), list | tuple) and each is not None:
        decoder["attention"] = _entries(given, each, read, document, here)
        for number in range(len(decoder["attention"])):
            written[(*place, number)] = here
    elif _by_name(given, inputs, set(_options(field.annotation))):
        looks = _named(given, read, document, here)
        if each is None and len(looks) > 1:
            raise RegardError(
                f"a {kind.Options.type} decoder attends to one input; received {', '.join(looks)}.",
                where=document.where(here),
                fix=f"Keep one:  attention: {{{next(iter(looks))}: {{…}}}}",
            )
        entries = [{"over": source, **options} for source, options in looks.items()]
        decoder["attention"] = entries[0] if each is None else entries
        for number, source in enumerate(looks):
            written[place if each is None else (*place, number)] = (*here, source)
    elif each is not None and len(each) > 1 and given.get("over") is None:
        decoder["attention"] = [{**given, "over": source} for source in each]
        for number in range(len(each)):
            written[(*place, number)] = here
    elif each is not None and len(each) == 1 and len(read) > 1 and given.get("over") is None:
        decoder["attention"] = {**given, "over": each[0]}


def _entries(
    entry: Any, each: Sequence[str], read: Sequence[str], document: Document, here: Place
) -> list[Any]:
    """One entry of a list, written out: the name of an input, options for several inputs, or options for `each`."""
    options = {"over": entry} if isinstance(entry, str) else entry
    if not isinstance(options, Mapping):
        return [entry]
    over = options.get("over")
    if over is None:
        return [{**options, "over": source} for source in each] or [dict(options)]
    for source in over if isinstance(over, list | tuple) else (over,):
        if source not in read:
            raise RegardError(
                f"no input is named {source!r}.",
                where=document.where(here if isinstance(entry, str) else (*here, "over")),
                fix=nearest(str(source), read),
            )
    return [{**options, "over": source} for source in ([over] if isinstance(over, str) else over)]


def _written_place(name: str, written: Mapping[Place, Place]) -> Place:
    """The path of a decoder's attention as the user wrote it."""
    place: Place = ("decoder", name, "attention")
    return written.get(place, (*written.get(place[:2], place[:2]), "attention"))


def _read_by(decoder: Mapping[str, Any], inputs: Sequence[str]) -> list[str]:
    """The inputs that a decoder reads; all of them if `over` does not choose, or is wrong and reported later."""
    over = decoder.get("over")
    chosen = [over] if isinstance(over, str) else over
    if not isinstance(chosen, list | tuple) or any(one not in inputs for one in chosen):
        return list(inputs)
    return list(chosen)


def _options(annotation: Any) -> Iterator[str]:
    """The options of an attention, from the type of the field that holds it."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield from annotation.model_fields
        yield from getattr(annotation, "moved", ())
    else:
        for one in get_args(annotation):
            yield from _options(one)


def _by_name(given: Mapping[str, Any], inputs: Sequence[str], options: set[str]) -> bool:
    """Whether the entries are per input. A key that is an option is never taken for the name of an input."""
    if not given or any(key in options for key in given):
        return False
    return any(key in inputs for key in given) or all(isinstance(one, Mapping) for one in given.values())


def _named(
    given: Mapping[str, Any], read: Sequence[str], document: Document, here: Place
) -> dict[str, Mapping[str, Any]]:
    looks: dict[str, Mapping[str, Any]] = {}
    for name, options in given.items():
        if name not in read:
            raise RegardError(
                f"{name!r} is neither an option of the attention nor the name of an input.",
                where=document.where((*here, name)),
                fix=nearest(str(name), read),
            )
        if options is not None and not isinstance(options, Mapping):
            raise RegardError(
                f"expected a mapping of options, received {options!r}.",
                where=document.where((*here, name)),
                fix=f"For example  attention: {{{name}: {{score: additive}}}}",
            )
        if (options or {}).get("over", name) != name:
            raise RegardError(
                f"this entry attends to {name!r}, and its `over` names another input.",
                where=document.where((*here, name, "over")),
                fix="Leave over out.",
            )
        looks[str(name)] = options or {}
    return looks
