"""The script and the style sheet that draw live figures, built from `web/` and shipped with the package."""

from __future__ import annotations

from pathlib import Path

STATIC = Path(__file__).parent / "static"


def bundle() -> Path:
    """The ES module that draws live figures, studio, reports and notebooks."""
    return STATIC / "regard.js"


def stylesheet() -> Path:
    """The style sheet of the module's pages."""
    return STATIC / "regard.css"
