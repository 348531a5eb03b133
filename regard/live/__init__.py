"""Figures that answer a hand.

Scenes and traces as JSON for a page or a notebook, and the script that draws them: one module for studio, report and
notebook, built from `web/` and shipped in `static/`.
"""

__all__: list[str] = []
