"""Contracts: the methods that a part of each kind writes, declared on the base class of its kind.

    @base("cell", gives=("input_size", "size"))
    class Cell(nn.Module):
        @required("at every step of a sequence")
        def advance(self, projected: Tensor, state: Tensor) -> Tensor: ...

`register` refuses a class that lacks a required method, and options that its constructor does not take. The tables of
docs/extending.md are generated from the same declarations (`python -m regard.testing.tables`).
"""

from __future__ import annotations

import difflib
import inspect
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import FunctionType
from typing import Any, TypeVar

from regard.errors import RegardError
from regard.parts.definition import remember

Base = TypeVar("Base", bound=type)
Function = TypeVar("Function", bound=Callable[..., Any])
METHODS = (FunctionType, classmethod, staticmethod, property)
SIMILAR = 0.85
"""How much a method resembles another one, of 1, for the author to be asked whether it was meant."""


@dataclass(frozen=True)
class Method:
    """A method of a base class that parts write.

    needed   whether every part must write it
    takes    its arguments, as in `advance(projected, state)`
    returns  the type that it returns, as annotated
    about    the first sentence of its docstring
    when     when it is called
    """

    name: str
    needed: bool
    takes: str
    returns: str
    about: str
    when: str


@dataclass(frozen=True)
class Contract:
    """What a kind asks of its parts.

    gives     the arguments that the constructor of a part receives by position
    also      those that it receives by name
    spread    whether the constructor also receives every option by name
    maker     the method that calls the constructor; a part that writes its own is free to call it as it likes.
              Empty if parts of this kind construct themselves
    options   whether its parts have options
    check     the function that `regard.testing.check_part` calls for it, `module:function`; empty if it knows the kind
    """

    kind: str
    base: type
    gives: tuple[str, ...] = ()
    also: tuple[str, ...] = ()
    spread: bool = False
    maker: str = ""
    options: bool = True
    check: str = ""


_CONTRACTS: dict[str, Contract] = {}


def base(
    kind: str,
    *,
    gives: tuple[str, ...] = (),
    also: tuple[str, ...] = (),
    spread: bool = False,
    maker: str = "",
    options: bool = True,
    check: str = "",
) -> Callable[[Base], Base]:
    """Declare the base class of a kind, and how its parts are constructed; see `Contract`."""

    def declare(made: Base) -> Base:
        _CONTRACTS[kind] = Contract(kind, made, gives, also, spread, maker, options, check)
        return remember(made)

    return declare


def required(when: str) -> Callable[[Function], Function]:
    """Mark a method that every part must write; `when` says when it is called."""

    def mark(method: Function) -> Function:
        method.__isabstractmethod__ = True  # type: ignore[attr-defined]
        method.__called__ = when  # type: ignore[attr-defined]
        return method

    return mark


def optional(when: str) -> Callable[[Function], Function]:
    """Mark a method that a part may write; `when` says when it is called."""

    def mark(method: Function) -> Function:
        method.__called__ = when  # type: ignore[attr-defined]
        return method

    return mark


def declared(ability: str) -> Callable[[Function], Function]:
    """Mark a method that is called only of a class that declares an ability: an attribute that is true. A class that
    writes the one without the other is refused."""

    def mark(method: Function) -> Function:
        method.__ability__ = ability  # type: ignore[attr-defined]
        method.__called__ = f"if the class declares `{ability} = True`"  # type: ignore[attr-defined]
        return method

    return mark


def contract_of(kind: str) -> Contract:
    """The contract of a kind whose own parts are loaded."""
    return _CONTRACTS[kind]


def has_options(kind: str) -> bool:
    """Whether parts of a kind have options; a kind whose base class is not imported yet has."""
    return kind not in _CONTRACTS or _CONTRACTS[kind].options


def methods(made: type) -> list[Method]:
    """The methods that a class declares for those who derive from it: required ones first, in their order."""
    found: dict[str, Method] = {}
    for owner in reversed(made.__mro__):
        for name, value in list(vars(owner).items()):
            function = getattr(value, "fget", None) or getattr(value, "__func__", value)
            when = getattr(function, "__called__", None)
            if when is not None:
                found[name] = _method(name, function, when, isinstance(value, property))
            elif name in found:
                del found[name]  # this class has written it
    return sorted(found.values(), key=lambda one: not one.needed)


def _method(name: str, function: Any, when: str, attribute: bool) -> Method:
    signature = inspect.signature(function)
    names = [
        ("*" * (one.kind is one.VAR_POSITIONAL) or "**" * (one.kind is one.VAR_KEYWORD)) + one.name
        for one in signature.parameters.values()
        if one.name not in ("self", "cls")
    ]
    returns = "" if signature.return_annotation is inspect.Signature.empty else signature.return_annotation
    returns = returns if isinstance(returns, str) else getattr(returns, "__name__", str(returns))
    said = inspect.cleandoc(function.__doc__ or "")
    about = re.split(r"(?<=[.;])\s", " ".join(said.split("\n\n")[0].split()))[0].rstrip(".:;")
    needed = bool(getattr(function, "__isabstractmethod__", False))
    return Method(name, needed, name if attribute else f"{name}({', '.join(names)})", returns, about, when)


def missing(made: type) -> list[str]:
    """The required methods that a class has not written, in the order of its base class."""
    marked = [one.name for owner in reversed(made.__mro__) for one in methods(owner) if one.needed]
    written = (name for owner in reversed(made.__mro__) for name in vars(owner) if not name.startswith("__"))
    names = dict.fromkeys([*marked, *written])
    return [name for name in names if getattr(getattr(made, name, None), "__isabstractmethod__", False)]


def check_class(kind: str, name: str, made: type) -> None:
    """Refuse a class that cannot be a part of this kind, naming the class and what it lacks."""
    known = _CONTRACTS.get(kind)
    if known is None:
        return  # the base class of the kind is being imported
    if not isinstance(made, type):
        what = f"{getattr(made, '__name__', repr(made))}, a {type(made).__name__}"
        raise RegardError(
            f"the {kind} {name!r} is {what}, expected a class.",
            fix=f"Write  class Mine({known.base.__name__}):  with its methods.",
        )
    who = f"the {kind} {name!r} ({made.__module__}.{made.__qualname__})"
    for problem, fix in _problems(known, made):
        raise RegardError(f"{who} {problem}.", fix=fix)


def misspelled(kind: str, made: type) -> list[tuple[str, str]]:
    """Methods of a class that nobody calls, each with the method of its kind that it resembles and does not write."""
    hooks = {
        name
        for owner in made.__mro__
        for name, value in list(vars(owner).items())
        if _is_ours(owner) and not name.startswith("_") and isinstance(value, METHODS)
    }
    foreign = [
        owner for owner in made.__mro__ if issubclass(owner, _CONTRACTS[kind].base) and not _is_ours(owner)
    ]
    known = {name for owner in made.__mro__ if owner not in foreign for name in vars(owner)}
    found: dict[str, str] = {}
    for owner in foreign:
        written = [name for name, value in list(vars(owner).items()) if isinstance(value, METHODS)]
        free = sorted(hooks.difference(written))
        for name in written:
            near = difflib.get_close_matches(name, free, 1, SIMILAR)
            if near and not name.startswith("_") and name not in known | hooks:
                found.setdefault(name, near[0])
    return list(found.items())


def _is_ours(made: type) -> bool:
    return made.__module__.partition(".")[0] == "regard"


def _problems(known: Contract, made: type) -> Iterator[tuple[str, str]]:
    called = f"{known.base.__module__.partition('.')[0]} class {known.base.__name__}"
    if not issubclass(made, known.base):
        yield f"does not derive from the {called}", f"Write  class {made.__name__}({known.base.__name__}):"
        return
    lacks = missing(made)
    if lacks:
        declared = {one.name: one for one in methods(known.base)}
        first = declared.get(lacks[0])
        told = f"{first.takes} → {first.returns}" if first else lacks[0]
        others = f", and {', '.join(lacks[1:])}" if lacks[1:] else ""
        noun = "methods" if lacks[1:] else "method"
        yield (
            f"lacks the {noun} {lacks[0]}{others}",
            f"Write {told}{f': {first.about}' if first and first.about else ''}.",
        )
    if known.options:
        yield from _wrong_options(known, made)
    yield from _texts_for_tuples(known, made)
    yield from _half_declared(known, made)
    declared_wrong: Any = getattr(made, "declared_wrong", None)
    if declared_wrong is not None and (reason := declared_wrong()):
        yield reason, ""


def _wrong_options(known: Contract, made: type) -> Iterator[tuple[str, str]]:
    from regard.parts.options import Options

    if issubclass(made, Options):
        nested = vars(made).get("Options")
        if isinstance(nested, type):
            named = ", ".join(vars(nested).get("__annotations__", {})) or "its fields"
            yield (
                f"has a nested class Options, which a {known.kind} does not use: its options are its own fields",
                f"Move {named} into the class itself.",
            )
    else:
        yield from _wrong_constructor(known, made)


def _wrong_constructor(known: Contract, made: type) -> Iterator[tuple[str, str]]:
    from regard.parts.options import Options

    options = getattr(made, "Options", None)
    if not (isinstance(options, type) and issubclass(options, Options)):
        yield (
            "has a class Options that does not derive from the Options of its base class",
            (f"Write  class Options({known.base.__name__}.Options):"),
        )
        return
    own, usual = getattr(made, known.maker, None), getattr(known.base, known.maker, None)
    if not known.maker or getattr(own, "__func__", own) is not getattr(usual, "__func__", usual):
        return
    constructor: Any = inspect.getattr_static(made, "__init__")
    inherited = str(getattr(constructor, "__module__", "")).startswith("torch")  # it takes no option
    parameters = [] if inherited else list(inspect.signature(made).parameters.values())
    takes = {one.name for one in parameters if one.kind in (one.POSITIONAL_OR_KEYWORD, one.KEYWORD_ONLY)}
    any_name = any(one.kind is one.VAR_KEYWORD for one in parameters)
    places = [one for one in parameters if one.kind in (one.POSITIONAL_ONLY, one.POSITIONAL_OR_KEYWORD)]
    if len(places) < len(known.gives) and not any(one.kind is one.VAR_POSITIONAL for one in parameters):
        yield (
            f"has a constructor that takes {', '.join(one.name for one in places) or 'nothing'}; "
            f"__init__ receives {', '.join(known.gives)}",
            f"Write  def __init__(self, {', '.join(known.gives)}, …).",
        )
        return
    fields = list(options.model_fields) if known.spread else []
    named = (*fields, *known.also)
    given = {one.name for one in places[: len(known.gives)]}
    for option in named:
        if option in given:
            yield (
                f"has an option {option!r} with the name of an argument that __init__ receives anyway",
                ("Give the option another name."),
            )
        if option not in takes and not any_name:
            what = "option" if option in fields else "argument"
            yield (
                f"has the {what} {option!r}, which its constructor __init__ does not take",
                (f"Write  def __init__(self, {', '.join((*known.gives, '…', option))})."),
            )
    for one in parameters:
        free = one.kind in (one.POSITIONAL_OR_KEYWORD, one.KEYWORD_ONLY) and one.default is one.empty
        if free and one.name not in given and one.name not in named:
            yield (
                f"has a constructor __init__ with the argument {one.name!r}, which is not an option",
                (f"Add {one.name} to its Options, or give it a default."),
            )


def _half_declared(known: Contract, made: type) -> Iterator[tuple[str, str]]:
    """A method without the declaration of its ability, which nobody would call, or the declaration without it."""
    for name in dict.fromkeys(name for owner in known.base.__mro__ for name in vars(owner)):
        ability = getattr(inspect.getattr_static(known.base, name), "__ability__", None)
        if ability is None:
            continue
        told = getattr(made, ability)  # a property says of each object whether it is able
        written = not hasattr(inspect.getattr_static(made, name), "__ability__")
        silent = not any(ability in vars(one) for one in made.__mro__ if one not in known.base.__mro__)
        if written and silent:
            yield (
                f"writes {name}, and does not declare {ability} = True, without which nothing calls it",
                f"Write  {ability} = True  in the class.",
            )
        elif told is True and not written:
            takes = _method(name, getattr(known.base, name), "", attribute=False).takes
            yield f"declares {ability} = True and does not write {takes}", f"Write {takes}."


def _texts_for_tuples(known: Contract, made: type) -> Iterator[tuple[str, str]]:
    """A declaration that is a tuple in the base class and one text here: ("text") for ("text",)."""
    for owner in known.base.__mro__:
        for name, value in list(vars(owner).items()):
            if isinstance(value, tuple | frozenset) and isinstance(getattr(made, name, None), str):
                yield (
                    f"declares {name} = {getattr(made, name)!r}, a text; expected several, as a tuple",
                    (f"Write  {name} = ({getattr(made, name)!r},)."),
                )
