"""Provenance: the parts of a model that are not regard's own, and the distribution each came from.

A saved model lists them, so that anyone without the package learns what to install. Loading compares these names with
the registered parts; it never imports anything that the file names.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import metadata
from typing import Any

from regard.errors import RegardError
from regard.parts.options import Options, Settings
from regard.parts.registry import KINDS, failure, names, origin, part

_NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?")
_VERSION = re.compile(r"[A-Za-z0-9.!+_-]+")


@dataclass(frozen=True)
class Provenance:
    """The origin of a part.

    defined        the registered class, "my_parts.cell.MyCell"
    distribution   the installed package that contains it; empty, like its version, if a script registered the part
    """

    kind: str
    name: str
    defined: str
    distribution: str = ""
    version: str = ""

    @classmethod
    def of(cls, kind: str, name: str, made: Any) -> Provenance:
        found = origin(made)
        return cls(kind, name, f"{made.__module__}.{made.__qualname__}", found.distribution, found.version)

    def __str__(self) -> str:
        package = f"{self.distribution} {self.version}" if self.distribution else "a script"
        return f"{self.kind} {self.name} ({package})"

    def to_dict(self) -> dict[str, str]:
        return {
            "kind": self.kind,
            "name": self.name,
            "defined": self.defined,
            "distribution": self.distribution,
            "version": self.version,
        }

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Provenance:
        """The inverse of `to_dict`. Invalid names and versions are dropped, because they become part of a command."""
        distribution, version = str(values.get("distribution", "")), str(values.get("version", ""))
        known = _NAME.fullmatch(distribution) is not None
        return cls(
            str(values["kind"]),
            str(values["name"]),
            str(values.get("defined", "")),
            distribution if known else "",
            version if known and _VERSION.fullmatch(version) else "",
        )


def used_parts(value: Any, metrics: Iterable[str] = ()) -> list[Provenance]:
    """The parts in some options that are not regard's own, in order; metrics are given by name."""
    found: dict[tuple[str, str], Any] = {
        (options.kind, options.type): options.part for options in _parts_in(value)
    }
    for name in metrics:
        wanted = name.rpartition(".")[2]  # `output.metric` → `metric`
        known = [part("metric", one) for one in names("metric")]
        found.update({("metric", one.Options.type): one for one in known if one.named(wanted) is not None})
    return [Provenance.of(kind, name, made) for (kind, name), made in found.items() if not origin(made).own]


def _parts_in(value: Any) -> Iterator[Options]:
    if isinstance(value, Settings):
        if isinstance(value, Options) and value.kind:
            yield value
        for name in type(value).model_fields:
            yield from _parts_in(getattr(value, name))
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from _parts_in(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _parts_in(item)


def missing_parts(parts: Sequence[Provenance]) -> list[Provenance]:
    """Those that are not registered."""
    return [one for one in parts if one.kind not in KINDS or part(one.kind, one.name) is None]


def check_installed(parts: Sequence[Provenance], *, where: str = "") -> None:
    """Refuse parts that are not registered, with their origin and the remedy."""
    missing = missing_parts(parts)
    if not missing:
        _note_versions(parts, where)
        return
    listed = ", ".join(map(str, missing))
    used = "a part that is" if len(missing) == 1 else "parts that are"
    raise RegardError(
        f"the model uses {used} not registered here: {listed}.",
        where=where,
        fix=" ".join(dict.fromkeys(map(_remedy, missing))),
    )


def _note_versions(parts: Sequence[Provenance], where: str) -> None:
    """Warn if a distribution has another version than the one that the model was saved with."""
    for one in {one.distribution: one for one in parts if one.distribution}.values():
        found = origin(part(one.kind, one.name))
        if found.distribution and one.version and found.version != one.version:
            place, installed = f"{where}: " if where else "", f"{found.distribution} {found.version}"
            told = f"{place}saved with {one.distribution} {one.version}; {installed} is installed."
            warnings.warn(told, stacklevel=3)


def _remedy(missing: Provenance) -> str:
    if not missing.distribution:
        defined = f" ({missing.defined})" if missing.defined else ""
        return f"Run the code that registers it{defined} before the model is loaded."
    try:
        installed = metadata.version(missing.distribution)
    except metadata.PackageNotFoundError:
        version = f"=={missing.version}" if missing.version else ""
        return f"Install it:  pip install '{missing.distribution}{version}'"
    if reason := failure(missing.distribution):
        return f"{missing.distribution} {installed} is installed, but could not be loaded: {reason}."
    return (
        f"{missing.distribution} {installed} is installed and does not register it; the model was saved with "
        f"{missing.version or 'another version'}."
    )
