"""Base class of loggers, which receive every row of log.csv."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import Any, ClassVar, Literal

from regard.parts import Options as PartOptions
from regard.parts.contract import base, optional, required
from regard.spec.document import parse_file

End = Literal["finished", "stopped", "failed"]


@base("logger", gives=("options", "run", "step"), maker="__new__")
class Logger(ABC):
    """A destination for the figures of one run.

    run    the folder of the run
    step   updates before this start: 0, or the step of the checkpoint from which the run is resumed; figures
           logged after it before the resumption are void
    """

    class Options(PartOptions):
        pass

    files: ClassVar[tuple[str, ...]] = ()
    """The files that it writes into the folder of the run, as names or patterns: `("figures.csv", "plots/*.png")`. They
    belong to the run: they move with it, and only they are removed when it is overwritten."""

    @classmethod
    def declared_wrong(cls) -> str | None:
        """Why the declarations of the class are not valid; None if they are. Asked when it is registered."""
        for entry in cls.files:
            folder = str(PurePosixPath(entry).parent)
            if not entry[:1].isalnum() or ".." in entry or "\\" in entry or set(folder) & set("*?["):
                return (
                    f"has {entry!r} in files, expected the name of a file in the folder of the run that begins with a "
                    'letter or digit, such as "figures.csv" or "plots/*.png"'
                )
        return None

    state: End = "failed"
    """When `close` is called: how the training ended."""

    def __init__(self, options: Any, run: Path, step: int) -> None:
        self.options, self.run = options, run

    @property
    def place(self) -> Path:
        """The folder that the user named. A run that replaces another is in a subfolder until its first checkpoint."""
        return self.run.parent if self.run.name.startswith(".") else self.run

    def settings(self) -> dict[str, Any]:
        """The spec of the run, flat: {"encoder.size": 256, "training.lr": 0.001, …}."""
        path = self.run / "spec.yaml"
        return dict(_flat(parse_file(path).data)) if path.is_file() else {}

    @abstractmethod
    @required("for every row of log.csv")
    def write(self, values: Mapping[str, float | int]) -> None:
        """Write a row of the log: `step`, and the figures by name, with dev.* from an evaluation."""

    @optional("when a run that replaces another is moved to its place")
    def move(self, run: Path) -> None:
        """Continue in another folder, to which all files have been moved."""
        self.run = run

    @optional("at the end of the training, also after an error")
    def close(self) -> None:
        """The training has ended; `state` says how: "finished", "stopped" by a signal, or "failed"."""
        return


def _flat(tree: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    if isinstance(tree, Mapping) and tree:
        for name, below in tree.items():
            yield from _flat(below, f"{path}.{name}" if path else str(name))
    else:
        yield path, tree
