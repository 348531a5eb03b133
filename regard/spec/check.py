"""Checks across parts: every part is asked whether it fits the others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from regard.parts import Mistakes, Plan, is_stream, names, nearest, part

ROLES = ("inputs", "outputs", "truth")


def check(plan: Plan, mistakes: Mistakes) -> None:
    """Report all contradictions, each with an alternative."""
    _check_columns(plan, mistakes)
    _check_encoders(plan, mistakes)
    _check_decoders(plan, mistakes)
    check_search(plan, mistakes)
    _check_stream(plan, mistakes)
    _check_curriculum(plan, mistakes)


OF_STREAMS = ("span", "carry")
OF_ROWS = {
    "training": ("batch_tokens", "bucket", "workers", "distill", "curriculum"),
    "data": ("fields", "format", "images", "where", "references", "bad_rows"),
}


def _check_stream(plan: Plan, mistakes: Mistakes) -> None:
    """Refuse options of streams without a stream, and options of rows with one."""
    stream = is_stream(plan)
    for section, keys in OF_ROWS.items() if stream else {"training": OF_STREAMS}.items():
        given = getattr(getattr(plan, section, None), "model_fields_set", ())
        for key in keys:
            if key in given:
                reason = "the data are a text stream" if stream else "no output is of type stream"
                remedy = "" if stream or key != "span" else ", or write an output of type: stream"
                mistakes.at(section).add(
                    f"{key} has no effect: {reason}.", key, fix=f"Leave {key} out{remedy}."
                )
    search = getattr(plan, "search", None)
    if stream and search is not None:
        _check_search_of_stream(search, mistakes.at("search"))


def _check_search_of_stream(search: Any, mistakes: Mistakes) -> None:
    """A stream is continued by drawing: only the options of a search that does so have an effect."""
    given = search.given - {"max_length", "constraint"}
    if any(one.part.banked for one in search.constraint):
        given -= {"method"}  # which such a constraint implies
    searches = [part("search", name) for name in (names("search") if given else ())]
    used = {key for one in searches if one.continues for key in one.Options.model_fields}
    for key in sorted(given - used):
        mistakes.add(f"{key} has no effect: the data are a text stream.", key, fix=f"Leave {key} out.")


def _check_columns(plan: Plan, mistakes: Mistakes) -> None:
    seen: dict[str, str] = {}
    for role in ROLES:
        columns: Mapping[str, Any] = getattr(plan, role)
        for name, column in columns.items():
            here = mistakes.at(role, name)
            if not name.isidentifier():
                here.add(f"{name!r} cannot name a column.", fix="Use letters, digits and _.")
            if name in seen:
                here.add(
                    f"{name!r} is the name of a column in {seen[name]} and in {role}.",
                    fix="Give each column its own name; `field:` names the field of the row that it reads.",
                )
            seen[name] = role
            if role not in column.part.roles:
                fitting = [one for one in names("column") if role in part("column", one).roles]
                here.add(
                    f"a column of type {column.type} cannot be one of the {role}.",
                    "type",
                    fix=f"Use one of {', '.join(fitting)}.",
                )
            else:
                column.part.check_options(column, name, plan, here)


def _check_encoders(plan: Plan, mistakes: Mistakes) -> None:
    for name, encoder in plan.encoder.items():
        here = mistakes.at("encoder", name)
        column = plan.inputs[name]
        types = set(column.part.types())
        if types.isdisjoint(encoder.part.reads):
            fitting = [one for one in names("encoder") if not types.isdisjoint(part("encoder", one).reads)]
            here.add(
                f"the encoder {encoder.type} cannot read {name}, which is of type {column.type}.",
                "type",
                fix=_instead(column.part.encoder, fitting)
                if column.part.encoder != encoder.type
                else f"It is the default encoder of {column.type}: add {column.type!r} to its `reads`.",
            )
        else:
            encoder.part.check(encoder, name, plan, here)


def _check_decoders(plan: Plan, mistakes: Mistakes) -> None:
    for name, decoder in plan.decoder.items():
        here = mistakes.at("decoder", name)
        column = plan.outputs[name]
        types = set(column.part.types())
        if types.isdisjoint(decoder.part.writes):
            fitting = [one for one in names("decoder") if not types.isdisjoint(part("decoder", one).writes)]
            here.add(
                f"a {decoder.type} decoder cannot write a {column.type} column: it writes "
                f"{', '.join(decoder.part.writes) or 'no type of column'}.",
                "type",
                fix=_instead(column.part.decoder, fitting)
                if column.part.decoder != decoder.type
                else f"It is the default decoder of {column.type}: add {column.type!r} to its `writes`.",
            )
            continue
        if decoder.over is not None and not plan.encoder:
            here.add("over has no effect: this model reads no input.", "over", fix="Leave over out.")
            continue
        unknown = [over for over in decoder.over or () if over not in plan.encoder]
        for over in unknown:
            here.add(f"no input is named {over!r}.", "over", fix=nearest(over, list(plan.encoder)))
        if not unknown:
            decoder.part.check(decoder, name, plan, here)


def _instead(usual: str | None, fitting: Sequence[str]) -> str:
    """Alternatives: the default part of a column first, then the others that fit."""
    others = [one for one in fitting if one != usual]
    if usual not in fitting:
        return f"Use one of {', '.join(others)}." if others else ""
    listed = f", or {'one of ' * (len(others) > 1)}{', '.join(others)}" if others else ""
    return f"Use type: {usual}{listed}."


def check_search(plan: Plan, mistakes: Mistakes) -> None:
    """Report options of the search that need another part."""
    search = getattr(plan, "search", None)
    looking = any(
        decoder.part.stepwise
        and decoder.part.from_vocabulary
        and decoder.part.reads_positions(decoder, name, plan)
        for name, decoder in plan.decoder.items()
    )
    if getattr(search, "replace_unknown", False) and not looking:
        mistakes.at("search").add(
            "replace_unknown has no effect: it needs a text output with attention, which selects the replacement.",
            "replace_unknown",
            fix="Add an attention, or leave replace_unknown out.",
        )


def _check_curriculum(plan: Plan, mistakes: Mistakes) -> None:
    curriculum = getattr(getattr(plan, "training", None), "curriculum", None)
    if curriculum is not None:
        curriculum.part.check(curriculum, plan, mistakes.at("training", "curriculum"))
