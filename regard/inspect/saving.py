"""Write figures and pages to files, in the format of the extension."""

from __future__ import annotations

from os import PathLike
from pathlib import Path

from regard.errors import RegardError
from regard.inspect.scene import Scene
from regard.storage.files import write_bytes

ENDINGS = (".svg", ".html", ".png", ".pdf")


def save(figure: Scene | str, path: str | PathLike[str]) -> Path:
    """Write a scene, or the text of a page, to .svg, .html, .png or .pdf, atomically."""
    target = Path(path)
    ending = check_target(target)
    if isinstance(figure, str) and ending != ".html":
        raise RegardError(
            "a page can only be written as .html.", where=str(target), fix="Save one of its figures instead."
        )
    write_bytes(target, _content(figure, ending))
    return target


def check_target(target: Path) -> str:
    """The format of a file by its extension; a RegardError if it is unknown or the folder does not exist."""
    ending = ".html" if target.suffix.lower() == ".htm" else target.suffix.lower()
    if ending not in ENDINGS:
        known = ", ".join(ENDINGS)
        raise RegardError(
            f"a figure cannot be written as {ending or 'a file without an extension'}; supported are {known}.",
            where=str(target),
            fix="Change the file extension.",
        )
    if not target.parent.is_dir():
        raise RegardError(
            "the folder to write to does not exist.", where=str(target.parent), fix="Make it first."
        )
    return ending


def _content(figure: Scene | str, ending: str) -> bytes:
    if isinstance(figure, str):
        return figure.encode("utf-8", errors="replace")
    if ending == ".svg":
        return figure.svg().encode("utf-8")
    if ending == ".html":
        from regard.inspect.page import page
        from regard.inspect.section import PageSection

        return page(figure.title or "regard", [PageSection(figures=[figure])], heading=False).encode("utf-8")
    from regard.inspect.pyplot import pdf, png

    return png(figure) if ending == ".png" else pdf(figure)
