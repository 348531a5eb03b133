"""Access to the systems of the zoo by name."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from regard.errors import RegardError

if TYPE_CHECKING:
    from regard.spec import Spec
    from regard.spec.document import Change

FOLDER = Path(__file__).parent
TAKES = "Name a system of the zoo (`regard list`), a spec (my.yaml), a file of pairs or the folder of a run."


def names() -> list[str]:
    """All systems of the zoo, in alphabetical order."""
    return sorted(path.stem for path in FOLDER.glob("*.yaml"))


def text(name: str) -> str:
    """The YAML of a system, including comments."""
    if name not in names():
        near = difflib.get_close_matches(name, names(), n=1)
        hint = f"Did you mean {near[0]}?" if near else "`regard list` shows them all."
        raise RegardError(f"the zoo has no system {name!r}.", fix=hint)
    return (FOLDER / f"{name}.yaml").read_text(encoding="utf-8")


def find(name_or_path: str, overrides: Sequence[Change] = ()) -> Spec:
    """The spec of a zoo name, a YAML file, or the folder of a trained model.

    A zoo name takes precedence over a local folder of the same name; write `./NAME` for the folder.
    """
    from regard.spec import Spec
    from regard.spec.document import parse
    from regard.spec.spec import load_spec, nearest_run

    if name_or_path in names():
        return Spec.parse(parse(text(name_or_path), f"{name_or_path}.yaml"), overrides)
    path = Path(name_or_path)
    if path.is_dir() and (path / "spec.yaml").is_file():
        return load_spec(path, overrides)
    if path.suffix in (".yaml", ".yml"):
        if not path.is_file():
            raise RegardError(
                "no such file.",
                where=name_or_path,
                fix="`regard init NAME > my.yaml` writes one to start from.",
            )
        return Spec.load(path, overrides)
    if path.is_dir():
        raise RegardError(
            "this folder holds no trained model: spec.yaml is missing.",
            where=name_or_path,
            fix=TAKES,
        )
    if path.parent != Path():
        near = nearest_run(path)
        raise RegardError(
            "there is no such file or folder.",
            where=name_or_path,
            fix=TAKES if near is None else f"Did you mean {near}?",
        )
    return Spec.parse(parse(text(name_or_path), f"{name_or_path}.yaml"), overrides)
