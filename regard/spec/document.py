"""YAML with line numbers: the data of PyYAML's safe loader, and the line of every path for error messages."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from regard.errors import Option, RegardError, Setting, Words
from regard.storage.files import read_bytes

LARGEST, DEEPEST = 1 << 20, 50
"""Maximum size in bytes and nesting depth of a spec, far above any real one."""
MERGE = "tag:yaml.org,2002:merge"

Place = tuple[str | int, ...]


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
