"""Changes of a spec: settings with values of Python, or as typed, `encoder.size=512`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from regard.errors import Message, Option, RegardError, Setting
from regard.parts import as_data
from regard.spec.document import Document, Place, parse
from regard.spec.training import ALTERNATIVES

Change = str | Setting
"""A setting and its value; a text is `key.path=value` with a value in YAML."""


def settings(changes: Iterable[Change]) -> list[Setting]:
    """Changes as settings; those that were typed are parsed."""
    return [_parsed(one) if isinstance(one, str) else one for one in changes]


def nested(path: str, value: Any) -> Iterator[Setting]:
    """The settings of nested mappings. One with a `type` replaces the part; others change single values."""
    value = as_data(value)
    if isinstance(value, Mapping) and value and "type" not in value:
        for key, inner in value.items():
            yield from nested(f"{path}.{key}", inner)
    else:
        yield Setting(path, plain(value, path))


def changed(document: Document, changes: Sequence[Change]) -> Document:
    """The document with other settings: missing mappings are created, short forms become mappings.

    A value replaces the one that it excludes: `training.batch_rows` replaces `training.batch_tokens`.
    """
    if not changes:
        return document
    data: dict[str, Any] = _copy(document.data)
    origins: dict[Place, Setting | Option] = dict(document.changes)
    for change in settings(changes):
        steps = change.steps
        target = _mapping(data, change)
        target[steps[-1]] = _copy(change.value)
        origins[steps] = change
        other = ALTERNATIVES.get(steps)
        if other is not None and other not in origins:
            target.pop(other[-1], None)
    return Document(data, document.name, document.lines, origins)


def _mapping(data: dict[str, Any], change: Setting) -> dict[str, Any]:
    """The mapping that holds the last key of a setting."""
    for step in change.steps[:-1]:
        following = data.get(step)
        if following is None:
            following = data[step] = {}
        elif isinstance(following, str):  # short form of a part: world: rooms
            following = data[step] = {"type": following}
        if not isinstance(following, dict):
            raise RegardError(f"{step!r} is {following!r}, which has no keys.", where=change)
        data = following
    return data


def _parsed(typed: str) -> Setting:
    path, equals, text = typed.partition("=")
    path = path.strip()
    if not equals or not all(path.split(".")):
        raise RegardError(
            f"expected key.path=value, received {typed!r}.",
            where=Option("set"),
            fix=Message("For example  ", Setting("encoder.size", 512)),
        )
    try:
        return Setting(path, parse(f"value: {text}", "").data["value"], typed)
    except RegardError as error:
        raise RegardError(error.what, where=Setting(path, typed=typed), fix=error.fix) from None


def plain(value: Any, path: str) -> Any:
    """A value as YAML can hold it: lists for tuples, and no number of another library."""
    if getattr(value, "ndim", None) == 0 and hasattr(value, "item"):
        value = value.item()
    if isinstance(value, Mapping):
        return {str(key): plain(one, path) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [plain(one, path) for one in value]
    if value is None or isinstance(value, bool):
        return value
    for kind in (str, int, float):
        if isinstance(value, kind) and _writable(value):
            return kind(value)
    raise RegardError(f"{value!r} cannot be written into a spec.", where=path)


def _writable(value: Any) -> bool:
    return not isinstance(value, str) or not any("\ud800" <= sign <= "\udfff" for sign in value)


def _copy(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _copy(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_copy(item) for item in value]
    return value
