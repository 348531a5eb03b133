"""A configuration file of another tool → a spec as text, with what has no place in it as comments."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from regard.errors import RegardError
from regard.spec.foreign import joeynmt, yoyodyne
from regard.spec.spec import Spec

TOOLS = {"JoeyNMT": joeynmt, "yoyodyne": yoyodyne}


@dataclass(frozen=True)
class Converted:
    """A spec that was made of a configuration.

    tool   whose configuration it was
    spec   the spec, as data
    left   keys with their values that have no counterpart
    """

    tool: str
    spec: dict[str, Any]
    left: list[str]

    def text(self) -> str:
        """The spec as YAML, one line for each part, with what was left out as comments."""
        lines = [
            f"# Converted from a configuration of {self.tool}. `regard describe FILE` prints its equations."
        ]
        for key, value in self.spec.items():
            written = yaml.safe_dump(
                value, default_flow_style=True, sort_keys=False, allow_unicode=True, width=10_000
            )
            lines.append(f"{key + ':':<10} {written.removesuffix('...' + chr(10)).strip()}")
        if self.left:
            lines += [
                "# Left out, because nothing here corresponds to it:",
                *(f"#   {one}" for one in self.left),
            ]
        return "\n".join(lines) + "\n"


def convert(path: str | Path) -> Converted:
    """Convert a file. An error says what is wrong with it; the spec that is returned is valid."""
    file = Path(path)
    try:
        document = yaml.safe_load(file.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise RegardError(f"it cannot be read: {' '.join(str(error).split())}.", where=str(path)) from None
    if not isinstance(document, dict):
        raise RegardError("this is no configuration.", where=str(path), fix="It must have keys and values.")
    tool = next((name for name, one in TOOLS.items() if one.is_mine(document)), None)
    if tool is None:
        raise RegardError(
            f"this is a configuration of neither {' nor '.join(TOOLS)}.",
            where=str(path),
            fix="docs/migration.md says what becomes what.",
        )
    try:
        spec, left = TOOLS[tool].converted(document)
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise RegardError(
            f"a key of this configuration of {tool} has an unexpected value ({type(error).__name__}: {error}).",
            where=str(path),
        ) from None
    if not spec:
        raise RegardError(f"no part here corresponds to {left[0]}.", where=str(path))
    Spec(**spec)
    return Converted(tool, spec, left)
