"""The script and the style sheet that draw live figures, built from `web/` and shipped with the package."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

from regard.inspect.page import LiveModule

EXPORTS = re.compile(r"export\s*\{[^{}]*\};?\s*\Z")
STATIC = Path(__file__).parent / "static"


def bundle() -> Path:
    """The ES module that draws live figures, studio, reports and notebooks."""
    return STATIC / "regard.js"


@cache
def live_module() -> LiveModule:
    """The module and its style sheet as they stand in a page of their own, such as a report.

    There it is a plain script, which runs before the page is painted; nobody imports what it exports.
    """
    script = EXPORTS.sub("", bundle().read_text(encoding="utf-8"))
    return LiveModule(f"(()=>{{{script}}})();", stylesheet().read_text(encoding="utf-8"))


def stylesheet() -> Path:
    """The style sheet of the module's pages."""
    return STATIC / "regard.css"
