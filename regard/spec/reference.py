"""Reference of all keys of a spec, generated from the parts: `python -m regard.spec.reference > docs/spec.md`."""

from __future__ import annotations

import ast
import inspect
import sys
import typing
from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from regard.parts import KINDS, Options, names, part
from regard.parts.choice import OneOf, Section
from regard.spec.sections import DataSpec, SearchSpec, SweepSpec, TrainingSpec

TITLES = {
    "column": "inputs, outputs, truth",
    "encoder": "encoder",
    "network": "network of an image or video encoder",
    "cell": "cell",
    "composer": "encoder.compose",
    "score": "attention: score",
    "selection": "attention: select",
    "decoder": "decoder",
    "store": "decoder.store",
}
SETTINGS: dict[str, type[BaseModel]] = {
    "search": SearchSpec,
    "training": TrainingSpec,
    "data": DataSpec,
    "sweep": SweepSpec,
}
AFTER = {
    "search": ("search",),
    "training": ("optimizer", "schedule", "curriculum", "logger"),
    "data": ("world", "package", "reader"),
}
"""Kinds of parts that a section without a type can contain."""
PIPE = r"\|"
"""A `|` in a cell of a Markdown table, inside or outside of code."""


def page() -> str:
    lines = [
        "# Every key of a spec",
        "",
        "This page is generated from the code: `python -m regard.spec.reference > docs/spec.md`.",
        "",
        "An unknown key is an error that suggests the nearest known key. A part without options is written as its",
        "name, `cell: gru`; a part with options is a mapping, `cell: {type: gru, update: cho}`. `encoder` has either",
        "the options of all encoders, or one entry for each input. `decoder` has one entry for each output; with one",
        "output, its options can be written directly, and `attention` can be a key at the top level. See",
        "[the guide](guide.md).",
    ]
    for kind, title in TITLES.items():
        lines += ["", f"## {title}", *_kind(kind)]
    for title, settings in SETTINGS.items():
        lines += ["", f"## {title}", "", *options_table(settings), *_nested(settings, title)]
        for kind in AFTER.get(title, ()):
            if kind in KINDS and any(
                isinstance(mark, OneOf) and mark.kind == kind for mark in _marks(settings)
            ):
                lines += ["", f"### {kind}", *_beside(kind, settings)]
    return "\n".join(lines) + "\n"


def _beside(kind: str, settings: type[BaseModel]) -> list[str]:
    """The parts of a kind, below the section that chooses them."""
    if not issubclass(settings, Section) or settings.choice().kind != kind:
        return _kind(kind, "####")
    words = (settings.__doc__ or "").split(". ", 1)[1]
    return ["", " ".join(words.split()), *_kind(kind, "####", settings.chooser)]


def _kind(kind: str, level: str = "###", key: str = "type") -> list[str]:
    lines: list[str] = []
    for name in names(kind):
        found = part(kind, name)
        options = found if isinstance(found, type) and issubclass(found, Options) else found.Options
        if kind == "column" and not found.roles:
            continue
        lines += ["", f"{level} {key}: {name}", "", *_words(options, found), *options_table(options)]
        lines += _nested(options, name, level)
    return lines


def _words(options: type[BaseModel], found: Any) -> list[str]:
    """The first paragraph of the docstring of the options, else of the part."""
    own = options.__doc__ if "__doc__" in vars(options) and options.__doc__ else found.__doc__
    words = (own or "").strip().split("\n\n")[0]
    return [" ".join(words.split()), ""] if words else []


def _nested(settings: type[BaseModel], title: str, level: str = "###") -> list[str]:
    """The tables of options that are mappings themselves."""
    lines = []
    for name, field in settings.model_fields.items():
        key = f"{title}: {field.alias or name}"
        for model in _models(field.annotation):
            words = (model.__doc__ or "").strip().split("\n\n")[0]
            lines += ["", f"{level}# {key}", "", " ".join(words.split()), "", *options_table(model)]
            lines += _nested(model, key, level)
    return lines


def _models(annotation: Any) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for argument in get_args(annotation):
        yield from _models(argument)


def _marks(settings: type[BaseModel]) -> Iterator[Any]:
    for field in settings.model_fields.values():
        yield from _of(field.annotation, field.metadata)


def _of(annotation: Any, metadata: Any = ()) -> Iterator[Any]:
    yield from metadata
    yield from getattr(annotation, "__metadata__", ())
    for argument in get_args(annotation):
        yield from _of(argument)


def field_words(settings: type[BaseModel]) -> dict[str, str]:
    """The docstring below each field of a class and its bases. pydantic can collect them too, but only when a class is
    created, which takes a third of the startup time."""
    found: dict[str, str] = {}
    for base in reversed(settings.__mro__):
        if issubclass(base, BaseModel):
            found |= _words_of_classes(base.__module__).get(base.__qualname__, {})
    return found


@cache
def _words_of_classes(module: str) -> dict[str, dict[str, str]]:
    """For each class of a module, by qualified name, the docstring below each field."""
    try:
        tree = ast.parse(inspect.getsource(sys.modules[module]))
    except (OSError, TypeError, KeyError):  # no source available
        return {}
    found: dict[str, dict[str, str]] = {}

    def visit(node: ast.AST, place: str) -> None:
        for inner in ast.iter_child_nodes(node):
            match inner:
                case ast.ClassDef(name=name, body=body):
                    found[place + name] = dict(_words_below(body))
                    visit(inner, f"{place}{name}.")
                case ast.FunctionDef(name=name):
                    visit(inner, f"{place}{name}.<locals>.")
                case ast.stmt():
                    visit(inner, place)

    visit(tree, "")
    return found


def _words_below(body: list[ast.stmt]) -> Iterator[tuple[str, str]]:
    for field, after in pairwise(body):
        match field, after:
            case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(value=ast.Constant(value=str(words))):
                yield name, words


def options_table(settings: type[BaseModel]) -> list[str]:
    if not settings.model_fields:
        return ["No options."]
    lines = ["| key | value | default | |", "|---|---|---|---|"]
    for key, *others in option_cells(settings):
        cells = (f"`{key}`", *others)
        lines.append(f"| {' | '.join(cell.replace('|', PIPE) for cell in cells)} |")
    return lines


def option_cells(settings: type[BaseModel]) -> Iterator[tuple[str, str, str, str]]:
    """Key, values, default and words of each option."""
    words = field_words(settings)
    for name, field in settings.model_fields.items():
        about = " ".join((field.description or words.get(name, "")).split())
        kind = next(
            (mark.kind for mark in _of(field.annotation, field.metadata) if isinstance(mark, OneOf)), None
        )
        shown = f"a {kind}" if kind else _type(field.annotation)
        yield field.alias or name, shown, _default(field), about


def _type(annotation: Any) -> str:
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is typing.Annotated:
        return _type(arguments[0])
    if origin is Literal:
        return ", ".join(f"`{value}`" for value in arguments)
    if origin is tuple:
        return (
            f"list of {_type(arguments[0])}"
            if arguments[-1] is Ellipsis
            else f"{len(arguments)} × {_type(arguments[0])}"
        )
    if origin is dict:
        return "mapping"
    if origin in (Union, UnionType):
        return " or ".join(_type(argument) for argument in arguments if argument is not NoneType)
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return "mapping"
    return {int: "whole number", float: "number", str: "text", bool: "true, false"}.get(annotation, "any")


def _default(field: FieldInfo) -> str:
    if field.default is PydanticUndefined:
        return "**needed**"
    value = field.default
    if value is None or value in ((), {}, "") or isinstance(value, BaseModel):
        return ""
    return f"`{str(value).lower() if isinstance(value, bool) else value}`"


if __name__ == "__main__":
    print(page(), end="")
