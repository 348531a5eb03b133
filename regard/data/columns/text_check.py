"""Checks of the options of text in a spec: units, shared vocabularies, `copied_from` and `repeat`."""

from __future__ import annotations

from typing import Any

from regard.parts import Mistakes, Plan, nearest


def check_units(options: Any, mistakes: Mistakes) -> None:
    """Check that the options apply to the chosen unit."""
    for option, units in (
        ("split", ("word",)),
        ("spaces", ("char",)),
        ("min_count", ("word", "char")),
        ("vocabulary", ("word", "char", "subword")),
        ("case", ("word", "char", "subword")),
    ):
        if option in options.model_fields_set and options.unit not in units:
            mistakes.add(
                f"{option} has no effect on unit: {options.unit}.",
                option,
                fix=f"Leave {option} out, or use unit: {units[0]}.",
            )


def check_repeat(options: Any, name: str, plan: Plan, mistakes: Mistakes) -> None:
    """Check that a repeated text is an input, and that no other column refers to its positions."""
    if options.repeat == 1:
        return
    if name not in plan.inputs:
        mistakes.add("only an input can be read several times.", "repeat", fix="Leave repeat out.")
    columns = {**plan.inputs, **plan.outputs, **plan.truth}
    about = [other for other, one in columns.items() if name in _about(one, plan)]
    if about:
        mistakes.add(
            f"{about[0]} refers to positions of {name}, which is read {options.repeat} times.",
            "repeat",
            fix=f"Leave repeat or {about[0]} out.",
        )
    if getattr(plan.encoder.get(name), "characters", None) is not None:
        mistakes.add(
            "repeat does not work with words that are read by their characters.",
            "repeat",
            fix="Leave out repeat, or characters of the encoder.",
        )


def check_copied(options: Any, name: str, plan: Plan, mistakes: Mistakes) -> None:
    """Check that words left out of the vocabulary can be copied."""
    source = options.copied_from
    if source is None:
        return
    decoder = plan.decoder.get(name)
    needs = {} if decoder is None else decoder.part.input_needs(decoder, name, plan).get(source, {})
    columns = {**plan.inputs, **plan.outputs}
    sharing = options.shared or any(getattr(one, "shared", None) == name for one in columns.values())
    if name not in plan.outputs:
        mistakes.add(
            "copied_from has no effect: it is an option of outputs.", "copied_from", fix="Leave it out."
        )
    elif source not in plan.inputs or not plan.inputs[source].part.can_be("text"):
        texts = [other for other, one in plan.inputs.items() if one.part.can_be("text")]
        mistakes.add(f"no input {source!r} of type text.", "copied_from", fix=nearest(source, texts))
    elif not needs.get("verbatim"):
        mistakes.add(
            f"{name} could not write the words of {source} that it leaves out: its decoder does not copy them.",
            "copied_from",
            fix=f"Add  copy: {source}  to the decoder, or leave copied_from out.",
        )
    elif options.unit != "word" or sharing:
        what = (
            f"the unit is {options.unit}"
            if options.unit != "word"
            else "another column has the same vocabulary"
        )
        mistakes.add(
            f"copied_from needs a vocabulary of words that {name} does not share, but {what}.",
            "copied_from",
            fix="Leave copied_from out, or use unit: word without shared.",
        )


def _about(column: Any, plan: Plan) -> tuple[str, ...]:
    """The columns to whose positions a column refers."""
    of = getattr(column, "of", None)
    if of is not None:
        return (of,) if isinstance(of, str) else tuple(of)
    return tuple(column.part.between(column, plan) or ())


def check_shared(options: Any, name: str, plan: Plan, mistakes: Mistakes) -> None:
    """Check that the column whose vocabulary is shared exists and has its own vocabulary."""
    columns = {**plan.inputs, **plan.outputs}
    others = [
        other for other, one in columns.items() if other != name and getattr(one, "shared", name) is None
    ]
    if options.shared is None:
        return
    if options.shared not in others:
        mistakes.add(
            f"no column {options.shared!r} whose vocabulary can be shared.",
            "shared",
            fix=nearest(options.shared, others),
        )
        return
    mine, theirs = (getattr(one, "unit", "word") for one in (options, columns[options.shared]))
    if mine != theirs:
        mistakes.add(
            f"{name} shares the vocabulary of {options.shared} but has another unit: {mine}, not {theirs}.",
            "shared",
            fix=f"Use unit: {theirs}, or leave shared out.",
        )
    for option in ("vocabulary", "min_count"):
        if option in options.model_fields_set:
            mistakes.add(
                f"{option} has no effect: the vocabulary is that of {options.shared}.",
                option,
                fix=f"Move {option} to {options.shared}.",
            )
