"""Remedies as data: a setting of the spec, an option of a call, a command; a front end says how they are written."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol


class Placeholder(str):
    """What a user replaces, written as it is: FILE, NAME."""

    __slots__ = ()


FILE, NAME, OPEN = Placeholder("FILE"), Placeholder("NAME"), Placeholder("…")
"""Placeholders for a file, a name, and anything."""
UNSET: Any = ...
"""No value: a setting or an option is only named."""
PLAIN = re.compile(
    r"(?![-+.\d]|(?:true|false|null|yes|no|on|off|~)$)[^\s\[\]{},:#&*!|>'\"%@`=][^\[\]{},:#'\"]*"
)
"""Texts that YAML reads as texts without quotes."""


class Front(Protocol):
    """How the users of one front end write a remedy.

    between   what stands between settings and options that are given together
    """

    between: str

    def setting(self, one: Setting) -> str: ...

    def option(self, one: Option) -> str: ...

    def command(self, one: ShellCommand) -> str: ...


class Remedy:
    """A part of a message that each front end words. `str` words it for Python."""

    def said(self, front: Front) -> str:
        raise NotImplementedError

    def __str__(self) -> str:
        return self.said(PYTHON)


@dataclass(frozen=True)
class Setting(Remedy):
    """A setting of the spec by its path, `encoder.size`, and its value: a change, or a suggestion of one.

    typed   the change as a user typed it, `key.path=value`; empty if it was not typed
    """

    path: str
    value: Any = UNSET
    typed: str = ""

    @property
    def steps(self) -> tuple[str, ...]:
        return tuple(self.path.split("."))

    def said(self, front: Front) -> str:
        return front.setting(self)

    __str__ = Remedy.__str__


@dataclass(frozen=True)
class Option(Remedy):
    """An option of the command, or an argument of the call, that the user has used or may use: `overwrite`, `by`."""

    name: str
    value: Any = UNSET

    def said(self, front: Front) -> str:
        return front.option(self)

    __str__ = Remedy.__str__


@dataclass(frozen=True)
class ShellCommand(Remedy):
    """A command of the shell: `regard generate RUN --prompt TEXT`.

    python   what a Python caller uses instead, `model.generate(prompt)`; empty: the command itself
    """

    name: str
    words: tuple[str, ...] = ()
    options: Mapping[str, Any] = field(default_factory=dict)
    python: str = ""

    def said(self, front: Front) -> str:
        return front.command(self)

    def shell(self) -> str:
        """The command as it is typed."""
        options = (word for name, value in self.options.items() for word in (f"--{name}", str(value)))
        return " ".join(("regard", self.name, *self.words, *options))

    __str__ = Remedy.__str__


class Together(Remedy):
    """Settings and options that are given together."""

    def __init__(self, *remedies: Setting | Option) -> None:
        self.remedies = remedies

    def said(self, front: Front) -> str:
        return front.between.join(one.said(front) for one in self.remedies)


class Message(Remedy):
    """Words with remedies among them."""

    def __init__(self, *pieces: Words) -> None:
        self.pieces = pieces

    def said(self, front: Front) -> str:
        return "".join(said(piece, front) for piece in self.pieces)

    def __bool__(self) -> bool:
        return any(self.pieces)

    def __contains__(self, words: str) -> bool:
        return words in str(self)

    def __repr__(self) -> str:
        return f"Text{self.pieces!r}"

    def __eq__(self, other: object) -> bool:
        return str(self) == str(other) if isinstance(other, Message | str) else NotImplemented

    def __hash__(self) -> int:
        return hash(str(self))


Words = str | Remedy
"""A text, or one with remedies."""


def said(words: Words, front: Front) -> str:
    """A text in the words of a front end."""
    return words if isinstance(words, str) else words.said(front)


def flow(value: Any) -> str:
    """A value as YAML in one line: `{type: csv, header: false}`."""
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{key}: {flow(one)}" for key, one in value.items()) + "}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(flow, value))}]"
    if isinstance(value, Placeholder) or (isinstance(value, str) and PLAIN.fullmatch(value)):
        return value
    return json.dumps(value, ensure_ascii=False, default=str)


class InPython:
    """Remedies as arguments of `regard.fit` and of a model's methods."""

    between = ", "
    direct = {
        "training.epochs": "epochs",
        "training.lr": "lr",
        "training.batch_rows": "batch",
        "training.seed": "seed",
        "training.start_from": "start_from",
        "data.dev": "dev",
        "data.test": "test",
    }
    """Settings that are direct arguments of `regard.fit`."""
    sections = (
        "inputs", "outputs", "encoder", "attention", "decoder", "search", "training", "metrics", "name",
    )  # fmt: skip
    """Sections of a spec that are arguments of `regard.fit`."""
    names = {"set": "overrides", "with": "ensemble", "of": "output"}
    """Arguments with another name than the option of the command line."""

    def setting(self, one: Setting) -> str:
        first, *steps = one.steps
        if one.typed:
            return f"overrides=[{one.typed!r}]"
        if one.path in self.direct:
            return self.option(Option(self.direct[one.path], one.value))
        if first not in self.sections:
            return f"overrides=[{f'{one.path}={flow(one.value)}'!r}]"
        value = "…" if one.value is UNSET else _literal(one.value)
        for step in reversed(steps):
            value = f"{{{step!r}: {value}}}"
        return f"{first}={value}"

    def option(self, one: Option) -> str:
        name = self.names.get(one.name, one.name)
        return name if one.value is UNSET else f"{name}={_literal(one.value)}"

    def command(self, one: ShellCommand) -> str:
        return one.python or one.shell()


def _literal(value: Any) -> str:
    return str(value) if isinstance(value, Placeholder) else repr(value)


PYTHON = InPython()
"""The front end of those who call regard from Python."""
