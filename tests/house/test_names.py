"""Nobody outside a part knows it by name: a part declares what it can do, and others ask for that.

A part may be named in its own file, in the files of its base classes, and in the folder of its kind.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

import pytest

from regard.parts import registry
from tests.house.sources import House, Registered, Source, class_names, house, resolved

EXCEPTIONS = {
    "regard.fast": "a fast path computes what certain classes compute, and must name them",
    "regard.fitting.pairs": "what a file implies is a choice of parts by name, and it compares what it chose",
    "regard.fitting.pair_model": "it warns of what was chosen so",
    "regard.course.notations": "a lecture has letters for certain parts, and refuses all others by name",
}
"""Files and folders that may name parts, each with its reason."""
PLACES = {kind: tuple(registry._FOLDERS[kind]) for kind in registry.KINDS}


def named(found: House) -> list[str]:
    """Every place where a part is asked for by its class or by its name."""
    names: dict[str, list[Registered]] = {}
    for part in found.registered.values():
        names.setdefault(part.name, []).append(part)
    return sorted(
        f"{source.module}:{line} {what}"
        for source in found.sources.values()
        for line, what, kind, asked in _asked(source)
        if (kind == "class" and any(_foreign(found, source, one) for one in asked))
        or (kind == "name" and any(one in names and not _own(source, names[one]) for one in asked))
        or kind == "method"
    )


def excused(place: str) -> bool:
    return any(place.startswith((f"{one}.", f"{one}:")) for one in EXCEPTIONS)


def _foreign(found: House, source: Source, name: str) -> bool:
    """Whether a name is that of a registered class which this file has no business to know."""
    part = found.registered.get(name)
    if part is None or _own(source, [part]):
        return False
    return source.module not in {found.homes[base] for base in found.above(name) if base in found.homes}


def _own(source: Source, parts: list[Registered]) -> bool:
    """Whether a file is that of one of these parts, or in the folder of its kind."""
    return any(
        source.module == part.module
        or any(source.module == one or source.module.startswith(f"{one}.") for one in PLACES[part.kind])
        for part in parts
    )


def _asked(source: Source) -> Iterator[tuple[int, str, str, list[str]]]:
    """Line, text, class or name, and what it is compared with, of each question."""
    for node in source.asked:
        match node:
            case ast.Call(args=[_, classes]):  # isinstance, issubclass
                yield node.lineno, ast.unparse(node), "class", list(resolved(source, class_names(classes)))
            case ast.match_case(pattern=pattern):
                for one in ast.walk(pattern):
                    if isinstance(one, ast.MatchClass):
                        asked = list(resolved(source, class_names(one.cls)))
                        yield one.lineno, ast.unparse(one), "class", asked
            case ast.Compare():
                yield from _compared(source, node)


def _compared(source: Source, node: ast.Compare) -> Iterator[tuple[int, str, str, list[str]]]:
    sides = [node.left, *node.comparators]
    told = ast.unparse(node)
    same = isinstance(node.ops[0], ast.Is | ast.IsNot | ast.Eq | ast.NotEq)
    if same or any(_is_type_of(side) for side in sides):
        classes = [name for side in sides if not _is_type_of(side) for name in class_names(side)]
        yield node.lineno, told, "class", list(resolved(source, classes))
    match sides:
        case [ast.Attribute(attr=one), ast.Attribute(attr=other)] if one == other and isinstance(
            node.ops[0], ast.Is | ast.IsNot
        ):
            yield node.lineno, told, "method", []
    if any(_is_type(side) for side in sides):
        words = [one for side in sides for one in ast.walk(side) if isinstance(one, ast.Constant)]
        yield node.lineno, told, "name", [str(one.value) for one in words]


def _is_type(node: ast.AST) -> bool:
    """x.type, x["type"], x.get("type")"""
    match node:
        case ast.Attribute(attr="type") | ast.Subscript(slice=ast.Constant(value="type")):
            return True
        case ast.Call(func=ast.Attribute(attr="get"), args=[ast.Constant(value="type"), *_]):
            return True
    return False


def _is_type_of(node: ast.AST) -> bool:
    """type(x), x.__class__"""
    match node:
        case ast.Call(func=ast.Name(id="type"), args=[_]) | ast.Attribute(attr="__class__"):
            return True
    return False


def test_nobody_outside_a_part_knows_it_by_name() -> None:
    assert [place for place in named(house()) if not excused(place)] == []


def test_exceptions_are_few_and_needed() -> None:
    assert len(EXCEPTIONS) <= 10
    places = named(house())
    for one in EXCEPTIONS:
        assert any(place.startswith((f"{one}.", f"{one}:")) for place in places), one


def test_the_parts_are_found() -> None:
    """As many classes as the registry has."""
    for kind in registry.KINDS:
        registry.load_own(kind)
    known = {
        (kind, name): made.__name__
        for kind, name, made in registry.registered()
        if registry.own_package(made)
    }
    found = {(part.kind, part.name): name for name, part in house().registered.items()}
    assert found == known


@pytest.mark.parametrize(
    "line",
    [
        "isinstance(x, GRUCell)",
        "isinstance(x, (int, nn.GRUCell))",
        "isinstance(x, int | GRUCell)",
        "issubclass(x, GRUCell)",
        "isinstance(x, GRUCell.Options)",
        "from regard.nn.cells import GRUCell as G\nisinstance(x, G)",
        "KNOWN = (int, GRUCell)\nisinstance(x, KNOWN)",
        "type(x) is GRUCell",
        "type(x) in (int, GRUCell)",
        "x.__class__ is not GRUCell",
        "kind is GRUCell",
        "kind == GRUCell",
        "match x:\n    case GRUCell():\n        pass",
        "match x:\n    case [int() | GRUCell(size=3)]:\n        pass",
        "type(x).advance is Cell.advance",
        "type(x).advance is not Cell.advance",
        "options.cell.type == 'gru'",
        "options.cell.type in ('rnn', 'gru')",
        "'gru' != options.type",
        "given['type'] == 'gru'",
        "given.get('type') in {'rnn', 'gru'}",
        "def late():\n    return [one for one in found if isinstance(one, GRUCell)]",
    ],
)
def test_a_planted_question_is_found(line: str) -> None:
    for module in ("regard.model.planted", "regard.nn.decoders.planted"):
        assert len(named(House({module: line}, beside=house()))) == 1
    for module in ("regard.nn.cells.gru", "regard.nn.cells.cell", "regard.nn.cells.planted"):
        found = named(House({module: line}, beside=house()))
        assert len(found) == (".advance" in line)


@pytest.mark.parametrize(
    "line",
    [
        "isinstance(x, Cell)",
        "isinstance(x, int)",
        "type(x) is dict",
        "device.type == 'cuda'",
        "options.cell.type == other.type",
        "a is b",
        "x.size is None",
        "match x:\n    case Cell():\n        pass",
    ],
)
def test_other_questions_are_free(line: str) -> None:
    assert named(House({"regard.model.planted": line}, beside=house())) == []
