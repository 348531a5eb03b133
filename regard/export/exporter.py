"""Exporters: the formats in which a trained model is written for other programs, as parts."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

from regard.parts.contract import base, required


@base("exporter", options=False, check="regard.export.checking:check_exporter")
class Exporter:
    """Base class of exporters. Its docstring says what it writes.

    needs   the packages that it imports; `extra` of regard installs them
    records  whether it writes what `torch.export` records of the model (`regard.export.graphs`)
    """

    needs: ClassVar[tuple[str, ...]] = ()
    extra: ClassVar[str] = ""
    records: ClassVar[bool] = False

    @classmethod
    @required("before anything is written")
    def refused(cls, model: Any, output: str) -> str:
        """Why the output of a model cannot be exported in this format, in a sentence; empty if it seems possible."""
        raise NotImplementedError

    @classmethod
    @required("into a new folder, which is kept if nothing fails")
    def write(cls, model: Any, output: str, folder: Path) -> list[str]:
        """Write the files, check that they compute what the model computes, and return lines for the README: what is
        there, and how it is run."""
        raise NotImplementedError
