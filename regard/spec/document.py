"""YAML with line numbers, and changes of it.

The data are those of PyYAML's safe loader, with the line of every path for error messages. A change sets a path to a
value of Python, or is typed: `encoder.size=512`.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from regard.errors import Message, Option, RegardError, Setting, Words
from regard.parts import as_data
from regard.spec.sections import ALTERNATIVES
from regard.storage.files import read_bytes

LARGEST, DEEPEST = 1 << 20, 50
"""Maximum size in bytes and nesting depth of a spec, far above any real one."""
MERGE = "tag:yaml.org,2002:merge"

Place = tuple[str | int, ...]
Change = str | Setting
"""A setting and its value; a text is `key.path=value` with a value in YAML."""


@dataclass(frozen=True)
class Document:
    """Plain data, the name of its source, and the line (from 1) of each path."""

    data: dict[str, Any]
    name: str = ""
    lines: dict[Place, int] = field(default_factory=dict)
    changes: dict[Place, Setting | Option] = field(default_factory=dict)
    """Changed paths, and the setting or option that changed each."""

    def where(self, place: Sequence[str | int]) -> Words:
        """`my.yaml:12: encoder.size`, or the nearest enclosing line known."""
        dotted = ".".join(str(step) for step in place)
        for path, change in self.changes.items():
            shorter = min(len(path), len(place))
            if shorter and path[:shorter] == tuple(place[:shorter]) and tuple(place) not in self.lines:
                return change
            if path == tuple(place[: len(path)]):
                return change
        if not self.name:
            return dotted
        known = tuple(place)
        while known and known not in self.lines:
            known = known[:-1]
        line = f":{self.lines[known]}" if known in self.lines else ""
        return f"{self.name}{line}" + (f": {dotted}" if dotted else "")


def parse(text: str, name: str) -> Document:
    """Read one YAML mapping. Invalid YAML, duplicate keys and aliases are errors with their line."""
    try:
        lines: dict[Place, int] = {}
        loader = _Loader(text)
        try:
            node = loader.get_single_node()
            if node is not None:
                _walk(node, (), lines, name)
            data = None if node is None else loader.construct_document(node)
        finally:
            loader.dispose()
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = f":{mark.line + 1}" if mark else ""
        problem = getattr(error, "problem", None) or str(error).splitlines()[0]
        raise RegardError(
            f"this is not valid YAML: {problem}.",
            where=name + line,
            fix="Check the indentation, the colons and the brackets of that line.",
        ) from None
    except (ValueError, TypeError, LookupError, AttributeError, OverflowError, RecursionError) as error:
        if isinstance(error, RegardError):
            raise
        raise RegardError(
            f"a value in the spec cannot be read: {error}.",
            where=name,
            fix="Quote texts that look like numbers or dates.",
        ) from None
    if not isinstance(data, dict):
        raise RegardError(
            f"a spec is a mapping with inputs, outputs, encoder, decoder; this is {_kind(data)}.",
            where=name,
            fix="See `regard init translation` for one to start from.",
        )
    return Document(data, name, lines)


def parse_file(path: Path) -> Document:
    try:
        text = read_bytes(path, most=LARGEST).decode("utf-8")
    except UnicodeDecodeError as error:
        raise RegardError(
            f"byte {error.start} is not UTF-8.", where=str(path), fix="Save the spec as UTF-8."
        ) from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise RegardError(f"the spec cannot be read: {reason}.", where=str(path)) from None
    return parse(text, str(path))


class _Loader(yaml.SafeLoader):
    """Limits the depth and refuses aliases, with which a few lines can expand to billions of values."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self._depth = 0

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:
        if self.check_event(yaml.AliasEvent):
            event = self.peek_event()
            raise yaml.composer.ComposerError(
                None,
                None,
                f"*{event.anchor} is a YAML alias, which a spec cannot contain; write the value out",
                event.start_mark,
            )
        self._depth += 1
        if self._depth > DEEPEST:
            mark = self.peek_event().start_mark
            raise yaml.composer.ComposerError(
                None, None, f"the spec is nested more than {DEEPEST} levels deep", mark
            )
        node: yaml.Node | None = super().compose_node(parent, index)
        self._depth -= 1
        return node


def _walk(node: yaml.Node, place: Place, lines: dict[Place, int], name: str) -> None:
    lines[place] = node.start_mark.line + 1
    if isinstance(node, yaml.MappingNode):
        seen: dict[Hashable, int] = {}
        for key, value in node.value:
            line = key.start_mark.line + 1
            if not isinstance(key, yaml.ScalarNode):
                raise RegardError(
                    "a key must be a word, received a list or a mapping.",
                    where=f"{name}:{line}",
                    fix="Write lists and mappings after a colon, or quote the key.",
                )
            if key.tag == MERGE:
                raise RegardError(
                    "a spec cannot contain the merge key <<.",
                    where=f"{name}:{line}",
                    fix="Write the keys out.",
                )
            if key.value in seen:
                raise RegardError(
                    f"the key {key.value!r} is given twice (first in line {seen[key.value]}).",
                    where=f"{name}:{line}",
                    fix="Remove one of the two.",
                )
            seen[key.value] = line
            _walk(value, (*place, key.value), lines, name)
            lines[(*place, key.value)] = line
    elif isinstance(node, yaml.SequenceNode):
        for index, value in enumerate(node.value):
            _walk(value, (*place, index), lines, name)


def _kind(value: object) -> str:
    return {type(None): "empty", list: "a list", str: "a text"}.get(type(value), f"a {type(value).__name__}")


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


def _may_be_mapping(section: str, option: str) -> bool:
    """Whether an option of encoders (decoders) that holds a number may be a mapping instead."""
    from regard.spec.mapping_options import mappings

    return section in ("encoder", "decoder") and option in mappings(section)


def _mapping(data: dict[str, Any], change: Setting) -> dict[str, Any]:
    """The mapping that holds the last key of a setting."""
    for step in change.steps[:-1]:
        following = data.get(step)
        if following is None:
            following = data[step] = {}
        elif isinstance(following, str):  # short form of a part: world: rooms
            following = data[step] = {"type": following}
        elif isinstance(following, int) and _may_be_mapping(change.steps[0], step):
            following = data[step] = {}  # embedding: 128 becomes embedding: {vectors: …}
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
