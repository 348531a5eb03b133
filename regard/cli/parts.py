"""`regard list parts`: the registered parts, with their origin, options and equations."""

from __future__ import annotations

import inspect
from typing import Any

from pydantic import ValidationError

from regard.errors import RegardError
from regard.parts import KINDS, Options, find, names, nearest, origin, part


def list_parts(kind: str | None, name: str | None) -> None:
    """All kinds, the parts of a kind, or one part."""
    from rich.table import Table
    from rich.text import Text

    from regard.reporting.console import safe_console

    if kind is not None and kind not in KINDS:
        raise RegardError(
            f"there is no kind of part {kind!r}.", where="list parts", fix=nearest(kind, list(KINDS))
        )
    console = safe_console(highlight=False)
    if kind is not None and name is not None:
        console.print("\n".join(described(kind, name)), markup=False, soft_wrap=True)
        return
    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_column(style="cyan", no_wrap=True)
    table.add_column(no_wrap=kind is not None)
    table.add_column()
    if kind is None:
        for one in KINDS:
            table.add_row(*map(Text, (one, str(len(names(one))), ", ".join(names(one)))))
    else:
        for one in names(kind):
            made = part(kind, one)
            table.add_row(*map(Text, (one, where_from(made), first_line(made))))
    console.print(table)
    more = f"regard list parts {kind} NAME" if kind else "regard list parts KIND"
    console.print(f"\n{more} tells more; regard new {kind or 'KIND'} NAME starts your own.", style="dim")


def where_from(made: Any) -> str:
    """`regard 0.1.0`, another distribution and its version, or the script that registered the part."""
    found = origin(made)
    return f"{found.distribution} {found.version}" if found.distribution else f"a script ({made.__module__})"


def first_line(made: Any) -> str:
    """What the part says of itself, in one line."""
    for one in (_options_of(made), made):
        said = vars(one).get("__doc__")
        if said and one is not Options:
            return inspect.cleandoc(said).splitlines()[0]
    return ""


def described(kind: str, name: str) -> list[str]:
    """One part: its origin, what it is, its options and its equations."""
    from regard.spec.reference import option_cells

    made = find(kind, name)
    options = _options_of(made)
    lines = [f"{kind} {name}", f"from {where_from(made)}: {made.__module__}.{made.__qualname__}"]
    said = inspect.cleandoc(made.__doc__ or options.__doc__ or "")
    lines += ["", said] if said else []
    lines += ["", "options" if options.model_fields else "no options"]
    for key, values, default, told in option_cells(options):
        usual = f", default {default}" if default else ""
        lines.append(f"  {key}: {values}{usual}".replace("`", "").replace("**", ""))
        lines += [f"      {told}"] if told else []
    equations = equations_of(options)
    lines += ["", "equations", *(f"  {line}" for line in equations)] if equations else []
    return lines


def _options_of(made: Any) -> type[Options]:
    """The class of its options; an empty one for a part of a kind without options."""
    return made if issubclass(made, Options) else getattr(made, "Options", Options)


def equations_of(options: type[Options]) -> list[str]:
    from regard.describe.of_part import equations_of as written

    try:
        return written(options())
    except (ValidationError, RegardError):
        return []  # an option has no default
