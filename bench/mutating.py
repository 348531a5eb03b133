"""Break what a computation uses, one function at a time: its subject returns something wrong.

`reached` runs a computation and tells which functions of regard it called. `broken` replaces one of them by one whose
answer is wrong in a certain way:

severed    a constant: the same number everywhere (attention becomes uniform, states and rows become alike)
negated    the sign flipped, a truth value inverted, a text read backwards
permuted   the same numbers in other places; weights of a module in other places
shifted    a number, or each of them, one larger; a module with one weight too many

A computation that passes although its subject is broken does not show anything.
"""

from __future__ import annotations

import copy
import dataclasses
import functools
import importlib
import inspect
import sys
import types
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

WAYS = ("severed", "negated", "permuted", "shifted")
ROOMS = (
    "regard.course.lab.", "regard.data.columns.", "regard.describe.", "regard.metrics.", "regard.model.", "regard.nn.",
    "regard.notation.", "regard.questions.", "regard.structures.", "regard.training.", "regard.worlds.",
)  # fmt: skip
"""Where subjects live."""
HELD = ("regard.course.lab", "regard.course.lectures.checks", "regard.course.lectures.instruments")
HELD += ("regard.course.lectures.boards", "regard.nn", "regard.structures", "regard.worlds", "regard.model")
"""Whose caches must not hold an answer of another run."""
PLUMBING = (
    "regard.course.lab.lab",
    "regard.nn.path",
    "regard.structures.kernels.",
    "regard.training.machine",
)
"""What only brings values into another form, or chooses how to compute."""
DEEPEST = 5


@dataclass(frozen=True)
class Site:
    """A function that a computation called: its module, its name there, how deep below the check, how often."""

    module: str
    name: str
    depth: int
    calls: int = 1

    def __str__(self) -> str:
        return f"{self.module.removeprefix('regard.')}.{self.name}"


def reached(run: Callable[[], Any]) -> list[Site]:
    """Run a computation, and return the functions of regard that it called, the outermost first."""
    found: dict[tuple[str, str], list[int]] = {}
    stack: list[int] = []

    def note(frame: types.FrameType, event: str, _: Any) -> None:
        if event == "call":
            module = frame.f_globals.get("__name__", "")
            subject = module.startswith(ROOMS) and not module.startswith(PLUMBING)
            stack.append(1 if subject else 0)
            if subject and "<" not in frame.f_code.co_qualname:
                one = found.setdefault((module, frame.f_code.co_qualname), [10**6, 0])
                one[0] = min(one[0], sum(stack) - 1)
                one[1] += 1
        elif event == "return" and stack:
            stack.pop()

    forget()
    sys.setprofile(note)
    try:
        run()
    finally:
        sys.setprofile(None)
    sites = [Site(module, name, depth, calls) for (module, name), (depth, calls) in found.items()]
    return sorted(sites, key=lambda one: one.depth)


@contextmanager
def idle() -> Iterator[dict[str, int]]:
    """Let optimizers do nothing; yields how often one was called."""
    count = {"changed": 0}
    kinds = [torch.optim.Adam, torch.optim.AdamW, torch.optim.SGD]
    kept = [kind.step for kind in kinds]

    def step(self: Any, closure: Any = None) -> None:
        count["changed"] += 1

    forget()
    for kind in kinds:
        kind.step = step  # type: ignore[method-assign, assignment]
    try:
        yield count
    finally:
        for kind, one in zip(kinds, kept, strict=True):
            kind.step = one  # type: ignore[method-assign]
        forget()


def forget() -> None:
    """Clear the caches that could hold an answer of another run."""
    for name, module in list(sys.modules.items()):
        if name.startswith(HELD):
            for one in vars(module).values():
                if type(one) is functools._lru_cache_wrapper:
                    one.cache_clear()


@contextmanager
def broken(site: Site, way: str) -> Iterator[dict[str, int]]:
    """Let a function answer wrongly; yields how often its answer was changed."""
    count = {"changed": 0}
    module = importlib.import_module(site.module)
    *path, last = site.name.split(".")
    holder: Any = functools.reduce(getattr, path, module)
    original = inspect.getattr_static(holder, last)
    if inspect.isclass(original):
        raise TypeError("a class")

    def wrong(value: Any) -> Any:
        changed = corrupted(value, way)
        count["changed"] += changed is not value or isinstance(value, torch.nn.Module)
        return changed

    replaced = _made(original, way, count) if last == "__init__" else _replaced(original, wrong)
    places = [(holder, last)] if path else _importers(original, last)
    for place, name in places:
        _put(place, name, replaced)
    forget()
    try:
        yield count
    finally:
        for place, name in places:
            _put(place, name, original)
        forget()


def _replaced(original: Any, wrong: Callable[[Any], Any]) -> Any:
    if isinstance(original, property):
        return property(lambda self: wrong(original.fget(self)))
    if isinstance(original, functools.cached_property):
        return property(lambda self: wrong(original.func(self)))
    if isinstance(original, staticmethod | classmethod):
        return type(original)(_replaced(original.__func__, wrong))
    if not callable(original):
        raise TypeError("not a function")

    @functools.wraps(original)
    def answer(*arguments: Any, **options: Any) -> Any:
        return wrong(original(*arguments, **options))

    return answer


def _made(original: Any, way: str, count: dict[str, int]) -> Any:
    """A constructor of a module whose own weights are changed, or that has one weight too many."""

    @functools.wraps(original)
    def make(self: Any, *arguments: Any, **options: Any) -> None:
        original(self, *arguments, **options)
        if isinstance(self, torch.nn.Module):
            count["changed"] += 1
            if way == "shifted":
                self.register_parameter("one_too_many", torch.nn.Parameter(torch.zeros(1)))
            else:
                _other_weights(self, way)

    return make


def _importers(original: Any, name: str) -> list[tuple[Any, str]]:
    """Every module of regard that has the function, and the names of the checks."""
    from regard.course.lectures.checks import _names

    holders = [one for title, one in sys.modules.items() if title.startswith("regard")] + [_names()]
    found = []
    for holder in holders:
        names = holder if isinstance(holder, dict) else vars(holder)
        found += [(holder, key) for key, value in list(names.items()) if value is original]
    return found


def _put(holder: Any, name: str, value: Any) -> None:
    if isinstance(holder, dict):
        holder[name] = value
    else:
        setattr(holder, name, value)


def corrupted(value: Any, way: str, depth: int = 0) -> Any:
    """A value made wrong; the value itself where there is nothing to change."""
    if isinstance(value, torch.nn.Module) or isinstance(getattr(value, "network", None), torch.nn.Module):
        return _other_weights(value, way)
    if isinstance(value, bool | np.bool_):
        return not value
    if isinstance(value, int | float | np.number):
        return _number(value, way)
    if isinstance(value, Tensor):
        return _tensor(value, way)
    if isinstance(value, np.ndarray):
        return _array(value, way)
    if isinstance(value, str):
        return value if depth else _text(value, way)
    if depth >= DEEPEST:
        return value
    if isinstance(value, list | tuple) and type(value) in (list, tuple):
        return _several(value, way, depth)
    if isinstance(value, Mapping) and type(value) is dict:
        return _named(value, way, depth)
    if (
        dataclasses.is_dataclass(value)
        or hasattr(value, "_asdict")
        or type(value).__module__.startswith("regard")
    ):
        return _fields(value, way, depth)
    return value


def _number(value: Any, way: str) -> Any:
    if way == "negated":
        return -value if value else value - 1
    if way == "severed":
        return type(value)(1 if abs(value) < 0.5 else 0)
    return value + 1 if way == "shifted" else value * 2 + 3


def _tensor(value: Tensor, way: str) -> Tensor:
    if not value.numel():
        return value
    if value.dtype == torch.bool:
        return value
    if not value.dtype.is_floating_point:
        return _whole(value, way)
    if way == "negated":
        return -value
    if way == "shifted":
        return value + 1
    if value.numel() == 1:
        return 0 * value if way == "severed" else 2 * value + 0.1
    if way == "severed":
        finite = torch.where(torch.isfinite(value), value, 0 * value.detach())
        rows = value.shape[-1] > 1
        return finite.mean(-1, keepdim=True).expand_as(value) if rows else finite.mean().expand_as(value)
    return (
        torch.roll(value.flatten(), 1).view_as(value)
        if value.ndim < 2
        else torch.roll(value, 1, _long(value.shape))
    )


def _whole(value: Tensor, way: str) -> Tensor:
    if way == "severed":
        return value.flatten()[:1].expand(value.shape).clone() if value.ndim else value
    if way == "permuted" and value.numel() > 1:
        return torch.roll(value, 1, _long(value.shape))
    return value if way == "negated" else value + 1


def _long(shape: Any) -> int:
    """The last axis that has more than one place."""
    return max((axis for axis, size in enumerate(shape) if size > 1), default=0)


def _array(value: Any, way: str) -> Any:
    if not value.size or value.dtype.kind not in "fiu":
        return value
    if way == "negated":
        return -value
    if way == "shifted":
        return value + 1
    if way == "severed":
        return np.full_like(value, value.mean()) if value.size > 1 else value * 0
    return np.roll(value, 1, _long(value.shape)) if value.size > 1 else value * 2 + 1


def _text(value: str, way: str) -> str:
    words = value.split()
    if way == "negated":
        return " ".join(reversed(words)) if len(words) > 1 else value[::-1]
    if way == "permuted":
        return " ".join([*words[1:], *words[:1]]) if len(words) > 1 else value[1:] + value[:1]
    return "" if way == "severed" else f"{value} {value}"


def _several(value: Any, way: str, depth: int) -> Any:
    items = list(value)
    if not items:
        return value
    if way == "permuted" and len(items) > 1 and all(type(one) is type(items[0]) for one in items):
        return type(value)([*items[1:], items[0]])
    if way == "severed" and len(items) > 1 and all(isinstance(one, float | int) for one in items):
        return type(value)([sum(items) / len(items)] * len(items))
    if way == "severed" and len(items) > 1 and all(isinstance(one, Mapping | str) for one in items):
        return type(value)([items[0]] * len(items))
    texts = all(isinstance(one, str) for one in items)  # a text among numbers is the name of a row
    changed = [corrupted(one, way, 0 if texts else depth + 1) for one in items]
    return type(value)(changed) if any(a is not b for a, b in zip(changed, items, strict=True)) else value


def _named(value: dict[Any, Any], way: str, depth: int) -> Any:
    items = list(value.values())
    if way == "permuted" and len(items) > 1 and all(type(one) is type(items[0]) for one in items):
        return dict(zip(value, [*items[1:], items[0]], strict=True))
    texts = all(isinstance(one, str) for one in items)
    changed = {key: corrupted(one, way, 0 if texts else depth + 1) for key, one in value.items()}
    return changed if any(changed[key] is not one for key, one in value.items()) else value


def _fields(value: Any, way: str, depth: int) -> Any:
    """A copy of an object with its numbers changed."""
    if hasattr(value, "_asdict"):
        changed = {key: corrupted(one, way, depth + 1) for key, one in value._asdict().items()}
        return type(value)(**changed)
    try:
        names = vars(value)
    except TypeError:
        names = {one.name: getattr(value, one.name) for one in dataclasses.fields(value)}
    changed = {
        name: corrupted(one, way, depth + 1) for name, one in names.items() if not isinstance(one, str)
    }
    changed = {name: one for name, one in changed.items() if one is not names[name]}
    if not changed:
        return value
    made = copy.copy(value)
    for name, one in changed.items():
        with suppress(AttributeError):
            object.__setattr__(made, name, one)
    return made


def _other_weights(value: Any, way: str) -> Any:
    """The same object; its weights are changed in place."""
    module = value if isinstance(value, torch.nn.Module) else value.network
    changed = False
    with torch.no_grad():
        for weight in module.parameters():
            if weight.is_meta or not weight.numel():
                continue
            weight.copy_(_tensor(weight.detach().clone(), way))
            changed = True
    return copy.copy(value) if changed and not isinstance(value, torch.nn.Module) else value
