"""The registry: every part by its kind and name.

Our own parts are the modules in the folders of `KINDS`. A module with the name of a part is imported when the part is
first requested, the whole folder when all parts of a kind are; each module registers its part. A floor, a room of ours
that can be taken away, names its folders in a module `floor`. Installed packages are imported through the entry point
group `regard.parts`. Nothing else is ever imported because a spec or a model folder names it.
"""

from __future__ import annotations

import pkgutil
import re
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from importlib import import_module, metadata
from importlib.util import find_spec
from pathlib import Path
from typing import Any, TypeVar

from regard.errors import RegardError
from regard.parts.contract import check_class, has_options, misspelled
from regard.parts.definition import remember
from regard.version import __version__

KINDS = {
    "column": "regard.data.columns",
    "reader": "regard.data.readers",
    "world": "regard.worlds",
    "package": "regard.data.packages",
    "cell": "regard.nn.cells",
    "composer": "regard.nn.composers",
    "score": "regard.nn.scores",
    "selection": "regard.nn.selections",
    "estimate": "regard.nn.estimates",
    "store": "regard.nn.stores",
    "network": "regard.nn.encoders.image",
    "encoder": "regard.nn.encoders",
    "decoder": "regard.nn.decoders",
    "search": "regard.nn.search",
    "constraint": "regard.nn.constraints",
    "metric": "regard.metrics",
    "drawing": "regard.inspect.drawings",
    "notation": "regard.describe.notations",
    "optimizer": "regard.training.optimizers",
    "schedule": "regard.training.schedules",
    "curriculum": "regard.training.curricula",
    "logger": "regard.training.loggers",
    "path": "regard.fast.paths",
    "command": "regard.cli.commands",
}
"""Kinds of parts, and the packages with our own. A floor adds kinds of its own."""
GROUP = "regard.parts"

_FOLDERS = {kind: [package] for kind, package in KINDS.items()}
for _floor in sorted(Path(__file__).parents[1].glob("*/floor.py")):
    for _kind, _package in import_module(f"regard.{_floor.parent.name}.floor").FOLDERS.items():
        KINDS.setdefault(_kind, _package)
        _FOLDERS.setdefault(_kind, []).append(_package)

PARTS: dict[str, dict[str, Any]] = {kind: {} for kind in KINDS}
"""The parts that are registered by now, by kind and name."""
_loaded: set[str] = set()
_failed: dict[str, str] = {}

Registered = TypeVar("Registered", bound=type)


@dataclass(frozen=True)
class Origin:
    """The origin of a part.

    distribution, version   of the installed package that contains it; both empty if a script registered the part
    """

    distribution: str = ""
    version: str = ""

    @property
    def own(self) -> bool:
        """Whether the part is one of regard's."""
        return self.distribution == "regard"


def register(kind: str, name: str) -> Callable[[Registered], Registered]:
    """Register a class as the part `name` of a kind: `@register("selection", "sparsemax")`.

    A class that lacks a method of its kind, or has options that its constructor does not take, is refused
    (`regard.parts.contract`); a method whose name is a letter off from one of its kind is warned of.
    """
    if kind not in KINDS:
        raise RegardError(f"there is no kind of part {kind!r}.", fix=f"The kinds are {', '.join(KINDS)}.")

    if not isinstance(name, str) or not re.fullmatch(r"[\w-]+", name):
        raise RegardError(
            f"a {kind} cannot be named {name!r}, because specs write its name.",
            fix="Use letters, digits, - and _, as in my-part.",
        )

    def add(made: Registered) -> Registered:
        if not own_package(made):
            load_own(kind)  # ours come first, so that a taken name is refused here
        known = PARTS[kind].get(name)
        if known is not None and isinstance(made, type) and _place(known) != _place(made):
            raise RegardError(
                f"the {kind} {name!r} is defined twice: by {_place(known)} and by {_place(made)}.",
                fix="Register one of them under another name.",
            )
        if not own_package(made):  # ours are checked by the tests, which costs no time at import
            check_class(kind, name, made)
            for written, meant in misspelled(kind, made):
                warnings.warn(
                    f"the {kind} {name!r} ({_place(made)}) has a method {written}, which nothing calls, and does not "
                    f"write {meant}. If {meant} was meant, rename it.",
                    stacklevel=2,
                )
        _own_options(made, kind, name)
        PARTS[kind][name] = made
        return remember(made)

    return add


def _own_options(made: Any, kind: str, name: str) -> None:
    """Give every part its own options class, so that options know their part."""
    if not has_options(kind):
        return
    from regard.parts.options import Options

    if isinstance(made, type) and issubclass(made, Options):
        options: Any = made
    else:
        options = vars(made).get("Options")
        if options is None or _is_inherited(made, options):
            base = getattr(made, "Options", Options)
            body = {"__module__": made.__module__, "__qualname__": f"{made.__qualname__}.Options"}
            options = type("Options", (base,), body)
            made.Options = options
    options.kind, options.type, options.part = kind, name, made


def _is_inherited(made: type, options: type) -> bool:
    """Whether a class uses the options class of a base class without deriving its own."""
    return any(vars(base).get("Options") is options for base in made.__mro__[1:])


def own_package(made: Any) -> bool:
    """Whether a class is defined in regard."""
    return str(getattr(made, "__module__", "")).partition(".")[0] == "regard"


def _place(made: Any) -> str:
    return f"{made.__module__}.{made.__qualname__}"


def part(kind: str, name: str) -> Any:
    """The class registered as `name`, or None. Other packages are imported only if the name is not one of ours."""
    if name not in PARTS[kind]:
        _load_module(kind, name)
    if name not in PARTS[kind]:
        load_own(kind)
    if name not in PARTS[kind]:
        _load(kind)
    return PARTS[kind].get(name)


def names(kind: str) -> list[str]:
    """The names of all parts of a kind, sorted."""
    _load(kind)
    return sorted(PARTS[kind])


def registered() -> Iterator[tuple[str, str, Any]]:
    """The kind, name and class of every part that is registered by now; imports nothing."""
    for kind, parts in PARTS.items():
        for name, made in parts.items():
            yield kind, name, made


def origin(made: Any) -> Origin:
    """The distribution that contains a part."""
    return _origin(str(made.__module__).partition(".")[0])


@cache  # reads the metadata of all installed packages
def _origin(package: str) -> Origin:
    if package == "regard":
        return Origin("regard", __version__)
    if package == "__main__":
        return Origin()
    for entry in metadata.entry_points(group=GROUP):
        if entry.module.partition(".")[0] == package and entry.dist is not None:
            return Origin(entry.dist.name, entry.dist.version)
    found = metadata.packages_distributions().get(package)
    return Origin(found[0], metadata.version(found[0])) if found else Origin()


def failure(distribution: str) -> str:
    """Why the parts of an installed distribution could not be loaded; empty if they were."""
    return _failed.get(_canonical(distribution), "")


def _canonical(distribution: str) -> str:
    """The name normalized by PEP 503: my_parts and My.Parts are one distribution."""
    return re.sub(r"[-_.]+", "-", distribution).lower()


def _load(kind: str) -> None:
    """Import our own parts of a kind and, once, those of installed packages."""
    load_own(kind)
    load_installed()


def load_installed() -> None:
    """Import the parts of installed packages, once."""
    if GROUP in _loaded:
        return
    _loaded.add(GROUP)
    for entry in metadata.entry_points(group=GROUP):
        try:
            entry.load()
        except Exception as error:  # a broken package must not break other parts
            reason = f"{type(error).__name__}: {error}"
            if entry.dist is not None:
                _failed[_canonical(entry.dist.name)] = reason
            warnings.warn(f"The parts of {entry.value!r} could not be loaded: {reason}", stacklevel=2)


def load_own(kind: str) -> None:
    """Import our own parts of a kind. A floor that was taken away has none."""
    if kind in _loaded:
        return
    _loaded.add(kind)
    for module in _modules(kind):
        import_module(module)


def load_saying(kind: str, says: Callable[[str], bool]) -> None:
    """Import our own parts of a kind whose source says something; a module without its source is imported."""
    if kind in _loaded:
        return
    for module, text in _sources(kind).items():
        if text is None or says(text):
            import_module(module)


@cache
def _sources(kind: str) -> dict[str, str | None]:
    """The text of every module with parts of a kind, by its name."""
    found = {}
    for module in _modules(kind):
        spec = find_spec(module)
        file = None if spec is None or spec.origin is None else Path(spec.origin)
        found[module] = (
            file.read_text(encoding="utf-8") if file is not None and file.suffix == ".py" else None
        )
    return found


def _modules(kind: str) -> Iterator[str]:
    """The names of all modules in the folders of a kind."""
    for package in _FOLDERS[kind]:
        if _is_here(package):
            for module in pkgutil.iter_modules(import_module(package).__path__):
                yield f"{package}.{module.name}"


def _load_module(kind: str, name: str) -> None:
    """Import the module of ours that has the name of a part, which is usually enough."""
    module = name.replace("-", "_")
    for package in _FOLDERS[kind] if module.isidentifier() else ():
        if _is_here(package) and find_spec(f"{package}.{module}") is not None:
            import_module(f"{package}.{module}")


def _is_here(package: str) -> bool:
    """Whether the room of a package was not taken away."""
    return find_spec(".".join(package.split(".")[:2])) is not None
