"""The package as syntax trees: what each file imports, which classes it registers, what it asks about classes.

Everything here takes texts, so that a test can plant a fault.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import regard

PACKAGE = Path(regard.__file__).parent
READ = (ast.Import, ast.ImportFrom, ast.Assign, ast.Call, ast.Compare, ast.match_case)
LEAVES = (ast.Name, ast.Constant, ast.expr_context, ast.operator, ast.cmpop, ast.alias)


@dataclass(frozen=True)
class Import:
    """One imported module.

    typing   whether only a type checker imports it
    """

    module: str
    line: int
    typing: bool


@dataclass(frozen=True)
class Registered:
    """A class that is registered as a part: its kind and name, and the module that defines it."""

    kind: str
    name: str
    module: str


@dataclass
class Source:
    """One file.

    names     other names of classes in it: `from … import Dot as Plain`, `KNOWN = (Dot, General)`
    asked     the expressions that ask for the class or the type of something
    classes   the names of the bases of each class of the module, and the part as which it is registered
    """

    module: str
    package: bool
    imports: list[Import] = field(default_factory=list)
    names: dict[str, tuple[str, ...]] = field(default_factory=dict)
    asked: list[ast.Call | ast.Compare | ast.match_case] = field(default_factory=list)
    classes: dict[str, tuple[tuple[str, ...], Registered | None]] = field(default_factory=dict)


class House:
    """All files of a package.

    texts    the source of each module, by its name; that of a package ends with .__init__
    beside   a package whose modules and classes are known too
    """

    def __init__(self, texts: Mapping[str, str], beside: House | None = None) -> None:
        modules = {name.removesuffix(".__init__") for name in texts}
        known = modules if beside is None else modules | set(beside.sources)
        self.sources = {
            name.removesuffix(".__init__"): _source(name, text, known) for name, text in texts.items()
        }
        self.bases: dict[str, tuple[str, ...]] = {} if beside is None else dict(beside.bases)
        self.homes: dict[str, str] = {} if beside is None else dict(beside.homes)
        self.registered: dict[str, Registered] = {} if beside is None else dict(beside.registered)
        for source in self.sources.values():
            for name, (bases, part) in source.classes.items():
                self.bases[name], self.homes[name] = bases, source.module
                if part is not None:
                    self.registered[name] = part

    def above(self, name: str) -> set[str]:
        """All classes from which a class derives."""
        found: set[str] = set()
        waiting = [name]
        while waiting:
            for base in self.bases.get(waiting.pop(), ()):
                if base not in found:
                    found.add(base)
                    waiting.append(base)
        return found


@cache
def house() -> House:
    """The package as it is."""
    texts = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        texts[".".join(("regard", *path.relative_to(PACKAGE).with_suffix("").parts))] = path.read_text(
            encoding="utf-8"
        )
    return House(texts)


def _source(name: str, text: str, modules: set[str]) -> Source:
    source = Source(name.removesuffix(".__init__"), name.endswith(".__init__"))
    tree = ast.parse(text)
    for node in tree.body:
        if isinstance(node, ast.ClassDef):
            bases = tuple(_name(base) for base in node.bases)
            source.classes[node.name] = bases, _registered(node, source.module)
    for node, typing in _nodes(tree, False):
        match node:
            case ast.Import():
                source.imports += [Import(one.name, node.lineno, typing) for one in node.names]
            case ast.ImportFrom():
                _import_from(source, node, typing, modules)
            case ast.Assign(targets=[ast.Name(id=target)], value=ast.Tuple() | ast.BinOp() as value):
                source.names[target] = tuple(class_names(value))
            case ast.Call(func=ast.Name(id="import_module"), args=[ast.Constant(value=str(module))]):
                source.imports.append(Import(module, node.lineno, typing))
            case ast.Compare() | ast.match_case() | ast.Call(func=ast.Name(id="isinstance" | "issubclass")):
                source.asked.append(node)
    return source


def _nodes(node: ast.AST, typing: bool) -> Iterator[tuple[ast.AST, bool]]:
    """The nodes below one that are read here, each with whether only a type checker reads it."""
    waiting = [(node, typing)]
    while waiting:
        node, typing = waiting.pop()
        if isinstance(node, READ):
            yield node, typing
        guarded = node.body if isinstance(node, ast.If) and _is_typing(node) else ()
        for child in ast.iter_child_nodes(node):
            if not isinstance(child, LEAVES):
                waiting.append((child, typing or child in guarded))


def _is_typing(node: ast.If) -> bool:
    """Whether only a type checker reads the body: a room that loads these names at first use imports them too."""
    at_first_use = any("at_first_use" in ast.unparse(one) for one in node.orelse)
    return _name(node.test) == "TYPE_CHECKING" and not at_first_use


def _import_from(source: Source, node: ast.ImportFrom, typing: bool, modules: set[str]) -> None:
    parts = source.module.split(".")
    if node.level:
        up = node.level - source.package
        above = ".".join(parts[: len(parts) - up])
        module = f"{above}.{node.module}" if node.module else above
    else:
        module = str(node.module)
    for one in node.names:
        whole = f"{module}.{one.name}"
        source.imports.append(Import(whole if whole in modules else module, node.lineno, typing))
        if one.asname is not None:
            source.names[one.asname] = (one.name,)


def _registered(node: ast.ClassDef, module: str) -> Registered | None:
    for one in node.decorator_list:
        match one:
            case ast.Call(args=[ast.Constant(value=kind), ast.Constant(value=name)]) if (
                _name(one.func) == "register"
            ):
                return Registered(str(kind), str(name), module)
    return None


def _name(node: ast.AST) -> str:
    """The last name of an expression: `nn.Dot` is Dot, and `Dot.Options` belongs to Dot."""
    match node:
        case ast.Name():
            return node.id
        case ast.Attribute(attr="Options"):
            return _name(node.value)
        case ast.Attribute():
            return node.attr
        case ast.Subscript():
            return _name(node.value)
    return ""


def class_names(node: ast.AST) -> Iterator[str]:
    """The names of the classes in `Dot`, `(Dot, General)` or `Dot | General`."""
    match node:
        case ast.Tuple() | ast.Set() | ast.List():
            for one in node.elts:
                yield from class_names(one)
        case ast.BinOp():
            yield from class_names(node.left)
            yield from class_names(node.right)
        case ast.Starred():
            yield from class_names(node.value)
        case _ if name := _name(node):
            yield name


def resolved(source: Source, names: Iterable[str]) -> Iterator[str]:
    """Names of classes, with those of a file replaced by what they stand for."""
    for name in names:
        yield from source.names.get(name, (name,))
