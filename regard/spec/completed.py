"""Values that options find out when they are validated, such as the size of a file's vectors, for the saved spec."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from regard.parts import Settings
from regard.spec.document import Place
from regard.spec.messages import as_written


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
