"""Figures and pages as files; the ending of the name says which kind."""

from __future__ import annotations

import os
import tempfile
from os import PathLike
from pathlib import Path

from regard.errors import RegardError
from regard.inspect.scene import Scene

ENDINGS = (".svg", ".html", ".png", ".pdf")


def save(figure: Scene | str, path: str | PathLike[str]) -> Path:
    """Write a scene, or the text of a page, to .svg, .html, .png or .pdf.

    The file appears whole or not at all: it is written under another name beside it and then renamed.
    """
    target = Path(path)
    ending = ".html" if target.suffix.lower() == ".htm" else target.suffix.lower()
    if ending not in ENDINGS:
        known = ", ".join(ENDINGS)
        raise RegardError(
            f"a figure cannot be written as {ending or 'a file without an ending'}; known are {known}.",
            where=str(target),
            fix="Change the ending of the name.",
        )
    if isinstance(figure, str) and ending != ".html":
        raise RegardError(
            "a page can only be written as .html.", where=str(target), fix="Save one of its figures instead."
        )
    if not target.parent.is_dir():
        raise RegardError(
            "the folder to write to does not exist.", where=str(target.parent), fix="Make it first."
        )
    _replace(target, _content(figure, ending))
    return target


def _content(figure: Scene | str, ending: str) -> bytes:
    if isinstance(figure, str):
        return figure.encode("utf-8", errors="replace")
    if ending == ".svg":
        return figure.svg().encode("utf-8")
    if ending == ".html":
        from regard.inspect.page import Section, page

        return page(figure.title or "regard", [Section(figures=[figure])], heading=False).encode("utf-8")
    from regard.inspect.pyplot import pdf, png

    return png(figure) if ending == ".png" else pdf(figure)


def _replace(target: Path, content: bytes) -> None:
    handle, temporary = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        umask = os.umask(0)
        os.umask(umask)
        os.chmod(temporary, 0o666 & ~umask)  # mkstemp makes files only their owner can read
        os.replace(temporary, target)
    except BaseException:
        os.unlink(temporary)
        raise
